"""Continuation: claims, seals, starts and repairs over successive owners (CONT-3)."""
