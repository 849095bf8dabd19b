"""tensorflow.python.data.util.nest: a list is a leaf there, and so is the value of a sparse tensor."""

from __future__ import annotations

from collections import OrderedDict, namedtuple

import numpy as np
import pytest

import tfnb as tf
from tfnb.v1.programs.hook import tensorflow_of

Point = namedtuple("Point", "x y")
SPARSE = tf.SparseTensorValue([[0]], [1], [1])
STRUCTURE = ([1, 2], Point(3, SPARSE), {"b": (4,), "a": "text"})


@pytest.fixture
def nest():
    return tensorflow_of("1.5").python.data.util.nest


def test_leaves(nest):
    assert nest.flatten(STRUCTURE) == [[1, 2], 3, SPARSE, "text", 4]
    assert nest.flatten([1, [2]]) == [[1, [2]]] and nest.flatten(SPARSE) == [SPARSE]
    assert [nest.is_sequence(x) for x in ((1,), {"a": 1}, [1], SPARSE, "ab", np.ones(2))] == [True, True] + [False] * 4


def test_leaves_are_packed_in_the_same_form(nest):
    packed = nest.pack_sequence_as(STRUCTURE, nest.flatten(STRUCTURE))
    assert packed == STRUCTURE and type(packed[1]) is Point
    ordered = nest.pack_sequence_as(OrderedDict([("b", 0), ("a", 0)]), [1, 2])
    assert ordered == OrderedDict([("b", 2), ("a", 1)])
    assert nest.map_structure(lambda a, b: (a, b), ([1], 2), ("x", [3])) == (([1], "x"), (2, [3]))


def test_structures_of_another_form_are_refused(nest):
    nest.assert_same_structure(([1], 2), (3, [4, 5]))
    nest.assert_same_structure(((1, 2), 3), {"a": (1, 2), "b": 3}, check_types=False)
    with pytest.raises(TypeError, match="same sequence type"):
        nest.assert_same_structure(((1, 2), 3), {"a": (1, 2), "b": 3})
    with pytest.raises(ValueError, match="number of elements"):
        nest.assert_same_structure((1, 2), [1, 2])
    with pytest.raises(TypeError, match="callable"):
        nest.map_structure("none", (1,))
