"""The tools that come with the runtime; each is declared the way a user's own tool is."""
