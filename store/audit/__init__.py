"""What verification and rebuilding share: one walk over a whole log, at a constant memory."""
