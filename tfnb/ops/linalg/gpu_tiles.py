"""The division of a matrix product among the groups of a GPU (`kernels_cl/lib/gpu_tile.clh`).

A group computes a tile of 64 x 64 or 128 x 128 elements. Where there are fewer tiles than compute units, parts of the
depth are added up separately. Invariant: the division depends on sizes and the device alone, so the bits of a product
do too.
"""

from __future__ import annotations

from typing import Any

from tfnb.ir.kernelcall import I32, Arg, KernelCall, Out, Temp
from tfnb.ir.record import record
from tfnb.sizes import derived, same

__all__ = ["GROUP", "Tiles", "tile_sum"]

GROUP = (256, 1, 1)  # the work-items of a group
FILE = "linalg/matmul_gpu.cl"
LEAST_DEPTH = 256  # of a part of the depth
MOST_PARTIAL = 1 << 24  # elements of all partial sums
GROUPS_OF_A_UNIT = 2


@record
class Tiles:
    """The tiles of `batch` products of m x k and k x n elements: an item of a group adds up `side` x `side` elements,
    and `splits` groups share the depth of a tile."""

    side: int
    splits: Any
    count: Any

    @staticmethod
    def of(batch: int, m: int, n: int, k: int, units: int) -> Tiles:
        is_large = derived(_is_large, batch, m, n, units, lower=0)
        side = 4 if same(is_large, 0) else 8
        splits = 1 if side == 8 else derived(_splits, batch, m, n, k, units, lower=1)
        return Tiles(side, splits, batch * splits * _ceil(m, 16 * side) * _ceil(n, 16 * side))

    def call(self, file: str, entry: str, args: tuple[Arg, ...], defines: tuple[tuple[str, str], ...]) -> KernelCall:
        """Returns the launch of a kernel that computes the tiles."""
        return KernelCall(file, entry, args, (self.count, 1, 1), GROUP, (*defines, ("TILE", str(self.side))))

    def partial(self, batch: int, m: int, n: int, itemsize: int) -> Temp:
        """Returns the memory for the partial sums."""
        return Temp("partial_products", batch * self.splits * m * n * itemsize + 256)


def tile_sum(
    tiles: Tiles,
    sizes: tuple[int, int, int],
    pointers: tuple[Arg, Arg],
    defines: tuple[tuple[str, str], ...],
    flags: int = 0,
    act: int = 0,
) -> KernelCall:
    """Returns the launch that adds the partial sums of `sizes` (batch, rows, columns), with bias and activation."""
    batch, m, n = sizes
    partial, bias = pointers
    args = (partial, bias, Out(0), I32(m), I32(n), I32(flags), I32(act), I32(tiles.splits))
    groups = (derived(_sum_groups, m, n, lower=1), batch, 1)
    return KernelCall(FILE, "matmul_tiles_sum", args, groups, GROUP, (*defines, ("TILE", str(tiles.side))))


def _ceil(a: int, b: int) -> int:
    return -(-a // b)


def _is_large(batch: int, m: int, n: int, units: int) -> int:
    """Returns 1 if there are tiles of 128 x 128 elements for all compute units, else 0."""
    return int(batch * _ceil(m, 128) * _ceil(n, 128) >= units)


def _splits(batch: int, m: int, n: int, k: int, units: int) -> int:
    """Returns the number of parts of the depth with which tiles of 64 x 64 elements give work to all units."""
    tiles = batch * _ceil(m, 64) * _ceil(n, 64)
    wanted = min(GROUPS_OF_A_UNIT * units // max(tiles, 1), k // LEAST_DEPTH, MOST_PARTIAL // max(batch * m * n, 1))
    return max(1, wanted)


def _sum_groups(m: int, n: int) -> int:
    return min(_ceil(m * n, GROUP[0]), 1024)
