"""What the store costs, measured beside raw SQLite on the same disk (DESIGN 15)."""
