"""From a fact to what a machine sees: the only place where ids and digests are compared (MACH-5b)."""
