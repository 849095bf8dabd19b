"""Matrix products, factorisations, inverses and functions of matrices, and their diagonals and bands."""

FAMILIES = (
    "band_part",
    "decompositions",
    "diag",
    "diag_band",
    "einsum",
    "inverse_solve",
    "later_linalg",
    "matmul",
    "matrix_functions",
    "tensordot",
)
