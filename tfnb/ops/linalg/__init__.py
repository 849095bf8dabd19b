"""Matrix products, factorisations, inverses and functions of matrices, and their diagonals and bands."""

FAMILIES = (
    "band_part",
    "bands_tridiagonal",
    "decompositions",
    "diag",
    "diag_band",
    "einsum",
    "inverse_solve",
    "matmul",
    "matrix_functions",
    "tensordot",
)

# Families that few programs use: their files are imported when one of the ops is used.
LATER_FAMILIES = {"einsum_op": "Einsum", "nearest_neighbors": "NearestNeighbors"}
