"""Who owns a state root, and whether whoever owned it before is gone (OWN-1, OWN-2, OWN-5)."""
