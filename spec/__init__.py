"""What is promised about every lifecycle, and how it is proven."""
