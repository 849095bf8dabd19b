"""Products, factors, inverses and functions of matrices, and their diagonals and bands."""
