"""The pure core: facts, lifecycles, recovery, projections; no clock, no I/O, no randomness."""
