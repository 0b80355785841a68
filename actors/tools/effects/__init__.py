"""Effects that can be recognised after a crash (OP-6)."""
