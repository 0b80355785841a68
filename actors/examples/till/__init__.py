"""A till: what a customer has to pay, in whole cents."""
