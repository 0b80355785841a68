"""What each lifecycle means, in logic; CrossHair confirms it over all paths (PROOF-2)."""
