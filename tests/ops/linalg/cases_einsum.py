"""Cases of the op `Einsum`: products, sums, diagonals, axes that are broadcast."""

from __future__ import annotations

import numpy as np
from cases import Case, arr


def case(equation: str, *inputs: np.ndarray, **options: object) -> Case:
    return Case("Einsum", (list(inputs),), {"equation": equation}, **options)


CASES = [
    case("ij,jk->ik", arr(2, 3), arr(3, 4)),
    case("bij,bjk->bik", arr(2, 2, 3), arr(2, 3, 4)),
    case("abc,cd->abd", arr(2, 3, 2), arr(2, 4)),
    case("abc,bd->ad", arr(2, 3, 4), arr(3, 5)),
    case("...ij,jk->...ik", arr(3, 2, 3), arr(3, 2), grad=False),  # its gradient needs known ranks
    case("...i,...i->...", arr(1, 3), arr(4, 3), grad=False),
    case("i,j->ij", arr(2), arr(3)),
    case("ij->ji", arr(2, 3)),
    case("ij->", arr(2, 3)),
    case("ij->j", arr(0, 3)),
    case("ii->i", arr(3, 3), grad=False),
    case("iij,j->i", arr(2, 2, 3), arr(3), grad=False),
]
