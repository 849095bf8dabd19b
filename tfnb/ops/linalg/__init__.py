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

# Families that few programs use: their files are imported when one of the ops is used.
LATER_FAMILIES = {"einsum_op": "Einsum"}
