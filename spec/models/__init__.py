"""Composed models: the production tables together, with crashes, orphans and people (PROOF-1)."""
