"""The arena plan: what lives at the same time does not overlap."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tfnb.codegen.memory import ALIGN, PADDING, Block, plan_arena


@st.composite
def block_lists(draw):
    out = []
    for k in range(draw(st.integers(0, 25))):
        first = draw(st.integers(0, 20))
        dying = tuple(b.key for b in out if b.last == first and draw(st.booleans()))
        nbytes = draw(st.sampled_from([0, 4, 100, 128, 1000, 5000]))
        out.append(Block(k, nbytes, first, first + draw(st.integers(0, 6)), dying))
    return out


@settings(max_examples=300, deadline=None)
@given(block_lists())
def test_no_overlap(blocks):
    offsets, total = plan_arena(blocks)
    for a in blocks:
        assert offsets[a.key] % ALIGN == 0
        assert offsets[a.key] + a.nbytes + PADDING <= total
        for b in blocks:
            if a.key == b.key or a.first > b.last or b.first > a.last:
                continue
            if any(y.key in x.reuse and y.first < x.first == y.last for x, y in ((a, b), (b, a))):
                continue
            low, high = sorted((a, b), key=lambda x: offsets[x.key])
            assert (
                offsets[low.key] + low.nbytes <= offsets[high.key]
                or low.nbytes == high.nbytes == 0
                or (low.nbytes == 0)
            )


def test_memory_is_used_again():
    chain = [Block(k, 1000, k, k + 1) for k in range(10)]
    assert plan_arena(chain)[1] == 2 * plan_arena(chain[:1])[1]


def test_a_dying_operand_is_written_over():
    one = plan_arena([Block("a", 1000, 0, 1)])[1]
    offsets, total = plan_arena([Block("a", 1000, 0, 1), Block("b", 1000, 1, 2, ("a",))])
    assert offsets["a"] == offsets["b"] and total == one


def test_two_results_of_one_step_do_not_write_over_the_same_operand():
    operand = Block("a", 1000, 0, 1)
    unread, read = Block("b", 1000, 1, 1, ("a",)), Block("c", 1000, 1, 2, ("a",))
    offsets, _ = plan_arena([operand, unread, read])
    assert offsets["b"] != offsets["c"]
