"""The pure core: facts, lifecycles, recovery and projections; no clock, no I/O, no randomness (DESIGN 2a)."""
