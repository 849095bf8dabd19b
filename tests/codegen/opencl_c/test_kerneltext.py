"""Arguments of generated kernels: sizes stand for what they are, not for their numbers."""

from __future__ import annotations

import numpy as np
import pytest
from runner import compile_graph

import tfnb as tf
from tfnb.codegen.fusion.nest import Loop
from tfnb.codegen.opencl_c.kerneltext import KernelText


def kernels(build, *shapes):
    """The text of what `build` makes of inputs of these shapes."""
    with tf.Graph().as_default() as graph:
        inputs = [tf.placeholder(tf.float32, s) for s in shapes]
        fetches = build(*inputs)
    return (
        compile_graph(graph, {t: np.zeros(t.shape.as_list(), np.float32) for t in inputs}, [fetches]).modules[0].source
    )


def test_a_role_is_one_argument():
    kernel = KernelText()
    assert kernel.size(40, "n_rows") == "n_rows"
    assert kernel.size(40, "n_rows") == "n_rows"
    assert kernel.size(40, "n_tasks") == "n_tasks"
    assert list(kernel.sizes) == [("n_rows", 40), ("n_tasks", 40)]


def test_a_role_with_several_numbers_has_several_arguments():
    kernel = KernelText()
    assert [kernel.size(n, "n_limit") for n in (5, 6, 5)] == ["n_limit", "n_limit_2", "n_limit"]
    assert [kernel.size(7, "n_cut", ("cut", k)) for k in (0, 1, 0)] == ["n_cut", "n_cut_2", "n_cut"]


def test_extents_are_named_as_their_loops():
    assert KernelText().extent(Loop("i3", 10, False)) == "n3"


def test_what_is_structure_stands_in_the_text():
    kernel = KernelText()
    assert [kernel.size(n, "n_rows") for n in (-1, 0, 1)] == ["(-1)", "0", "1"]
    assert KernelText(wide=True).size(2**40, "n_rows") == f"{2**40}L"
    assert not kernel.sizes


@pytest.mark.parametrize(
    ("build", "one", "other"),
    [
        (lambda a: tf.reduce_sum(tf.square(a), 1), [(50, 40)], [(40, 40)]),
        (lambda a, b: tf.nn.relu(a + b), [(50, 40), (40,)], [(40, 40), (40,)]),
        (lambda a: tf.transpose(a) * 2.0, [(50, 40)], [(40, 40)]),
        (lambda a, b: tf.concat([a, b], 1), [(50, 40), (50, 24)], [(24, 24), (24, 24)]),
        (lambda a: tf.reduce_sum(a), [(1 << 20,)], [(1 << 19,)]),
        (lambda a: tf.reduce_sum(a, 0), [(5000, 40)], [(5000, 48)]),
    ],
)
def test_sizes_that_are_equal_by_chance_make_no_other_text(build, one, other):
    assert kernels(build, *one) == kernels(build, *other)
