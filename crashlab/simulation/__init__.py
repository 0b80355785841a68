"""The runtime under a seeded scheduler and a virtual clock: one seed is one history (CRASH-6)."""
