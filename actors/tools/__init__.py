"""Tools: what a model may ask for, what it may touch, and the workers that do it (OP-1..OP-8a)."""
