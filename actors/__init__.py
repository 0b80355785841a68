"""What runs, on trio: the runtime, tools and their workers, and the command line (DESIGN 2a)."""
