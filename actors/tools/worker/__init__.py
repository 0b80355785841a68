"""A worker: a process that runs one call at a time and never outlives its host (OWN-2, OP-8)."""
