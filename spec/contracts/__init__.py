"""What each lifecycle means, in logic: CrossHair confirms every contract over all paths (PROOF-2)."""
