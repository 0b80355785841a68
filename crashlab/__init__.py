"""What survives: deaths at every boundary, races and faults, and the reports about them."""
