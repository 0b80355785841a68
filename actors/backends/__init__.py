"""Backends: what answers model requests; they know nothing of ledgers, stores, tools (RUN-1)."""
