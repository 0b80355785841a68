"""Takeover: owners die, freeze and come back while workers act and a person decides (OWN-1, OWN-2)."""
