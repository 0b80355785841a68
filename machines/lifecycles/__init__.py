"""Lifecycles as transition tables: one interpreter, one module per machine, one way to step a unit."""
