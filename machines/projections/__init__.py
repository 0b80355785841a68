"""Pure folds from facts to views, each with an upper bound and one loss vocabulary (PROJ-1)."""
