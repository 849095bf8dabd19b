"""The layered layout: layers follow the edges, boxes stay apart, cycles end."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tfnb.notebook.graph.layered_layout import GAP_X, layered


@st.composite
def graphs(draw):
    n = draw(st.integers(1, 14))
    box = st.tuples(st.integers(10, 120), st.integers(10, 60))
    sizes = draw(st.lists(box, min_size=n, max_size=n))
    pair = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1))
    return sizes, draw(st.lists(pair, max_size=30))


@settings(max_examples=200, deadline=None)
@given(graphs())
def test_boxes_stay_apart_inside_the_frame(graph):
    sizes, edges = graph
    layout = layered(sizes, edges)
    boxes = [(x, y, x + w, y + h) for (x, y), (w, h) in zip(layout.corners, sizes, strict=True)]
    width, height = layout.size
    for x0, y0, x1, y1 in boxes:
        assert -0.01 <= x0 <= x1 <= width + 0.01
        assert -0.01 <= y0 <= y1 <= height + 0.01
    for i, a in enumerate(boxes):
        for b in boxes[i + 1 :]:
            apart_x = a[2] + GAP_X - 0.01 <= b[0] or b[2] + GAP_X - 0.01 <= a[0]
            assert apart_x or a[3] <= b[1] or b[3] <= a[1]
    assert set(layout.routes) == {(a, b) for a, b in edges if a != b}


@settings(max_examples=100, deadline=None)
@given(graphs())
def test_without_cycles_every_edge_goes_down(graph):
    sizes, edges = graph
    forward = [(a, b) for a, b in edges if a < b]
    layout = layered(sizes, forward)
    for a, b in forward:
        assert layout.corners[a][1] + sizes[a][1] <= layout.corners[b][1]
        points = layout.routes[a, b]
        assert [y for _, y in points] == sorted(y for _, y in points)


def test_a_chain_is_straight_and_a_source_sits_by_its_reader():
    layout = layered([(50, 20)] * 5, [(0, 1), (1, 2), (2, 3), (4, 3)])
    centers = [x + 25 for x, _ in layout.corners]
    assert max(centers[:3]) - min(centers[:3]) < 40
    assert layout.corners[4][1] == layout.corners[2][1]


def test_a_cycle_is_drawn_once_upwards():
    layout = layered([(50, 20)] * 3, [(0, 1), (1, 2), (2, 1)])
    (_, start), *_, (_, end) = layout.routes[2, 1]
    assert start > end
    assert layout.corners[0][1] < layout.corners[1][1] < layout.corners[2][1]


def test_few_crossings_remain():
    # Two chains whose boxes come interleaved in reverse order.
    layout = layered([(50, 20)] * 6, [(0, 3), (3, 4), (1, 2), (2, 5)])
    assert (layout.corners[0][0] < layout.corners[1][0]) == (layout.corners[3][0] < layout.corners[2][0])


def test_nothing_and_much():
    assert layered([], []).size == (0.0, 0.0)
    n = 300
    layout = layered([(60, 30)] * n, [(i, j) for i in range(n) for j in (i + 1, i + 7) if j < n])
    assert len({y for _, y in layout.corners}) == n  # a layer for each; it comes back at all
