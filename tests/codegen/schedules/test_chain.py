"""The launches of a chain's parts: neighbours with one work-item are one launch, and the order stays."""

from __future__ import annotations

from tfnb.codegen.program import Copy, Launch, Slot
from tfnb.codegen.schedules.chain import joined, selection
from tfnb.ir.kernelcall import I32

_PARTS = 4


_WHOLE = Launch(0, "chain", ())


def _part(number: int, groups: int = 1) -> Launch:
    """The launch of a part with a pointer and a number."""
    args: list[Slot | I32] = [I32(selection([number]))]
    for k in range(_PARTS):
        args += [Slot("arena", k), I32(k + 5)] if k == number else [Slot("none"), I32(0)]
    return Launch(0, "chain", tuple(args), (groups, 1, 1), nodes=(number,))


def test_neighbours_with_one_work_item_are_one_launch() -> None:
    three = joined(_WHOLE, _part(0), _part(2))
    assert three is not None
    both = joined(_WHOLE, three, _part(3))
    assert both is not None
    nothing = (Slot("none"), I32(0))
    first = (Slot("arena", 0), I32(5))
    assert both.args == (I32(0b1101), *first, *nothing, Slot("arena", 2), I32(7), Slot("arena", 3), I32(8))
    assert both.nodes == (0, 2, 3)


def test_a_part_with_several_work_groups_stays_alone() -> None:
    assert joined(_WHOLE, _part(0), _part(1, groups=3)) is None
    assert joined(_WHOLE, _part(0, groups=3), _part(1)) is None


def test_other_kernels_and_copies_stay_alone() -> None:
    library = Launch(1, "product", (Slot("arena", 0), I32(3)))
    numbered = Launch(1, "fill", (I32(1), Slot("arena", 1)))
    copy = Copy(Slot("arena", 0), Slot("output", 0), 4)
    for before, step in [(_part(0), library), (library, _part(1)), (library, library), (numbered, numbered)]:
        assert joined(_WHOLE, before, step) is None
    assert joined(_WHOLE, copy, _part(0)) is None
    assert joined(_WHOLE, _part(0), copy) is None
