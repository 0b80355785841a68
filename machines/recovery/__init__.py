"""What may be concluded after a crash: decision tables, and nothing that guesses (MACH-3)."""
