"""What runs, on trio: the runtime, its tools and their workers, and the command line (DESIGN 2a)."""
