"""A small project with a failing test, and the script of a model that repairs it."""
