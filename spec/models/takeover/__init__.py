"""Takeover: owners die and come back while workers act and a person decides (OWN-2)."""
