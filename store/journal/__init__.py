"""The journal: every durable step is one unit, by the writer that owns its shape (STORE-5)."""
