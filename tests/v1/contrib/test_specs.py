"""Networks and parameters as texts."""

from __future__ import annotations

import random

import numpy as np
import pytest

import tfnb as tf
from tfnb import errors

specs = tf.contrib.specs


@pytest.fixture(autouse=True)
def _graph():
    with tf.Graph().as_default():
        yield


def test_a_network_of_a_text():
    x = tf.constant(np.ones((2, 8, 8, 3)), tf.float32)
    y = specs.create_net("net = Cr(4, [3, 3]) ** 2 | Mp([2, 2]) | Flat | Fm(n)", x, {"n": 5})
    assert y.shape.as_list() == [2, 5]
    assert len(tf.trainable_variables()) == 6
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        np.testing.assert_allclose(session.run(y).sum(1), 1, rtol=1e-5)
    with pytest.raises(errors.InvalidArgumentError, match="net"):
        specs.create_net("other = Flat", x)
    with pytest.raises(errors.InvalidArgumentError, match="import"):
        specs.create_net("import os", x)


def test_functions_are_composed():
    x = tf.constant([1.0, 4.0])
    root, twice = specs.Function(tf.sqrt), specs.Callable(lambda v: v * 2)
    results = [
        (root | twice).funcall(x),
        (root + twice).funcall(x),
        (root * twice).funcall(x),
        (twice**0).funcall(x),
        specs.Conc(0, specs.Idx(), root).funcall(x),
        specs.Fun(tf.add)(10.0).funcall(x),
        specs.External("math", "floor").funcall(2.5),
        specs.Import("f = lambda v: v + 1").funcall(x),
    ]
    with tf.Session() as session:
        found = session.run([r for r in results if isinstance(r, tf.Tensor)])
    expected = [[2, 4], [3, 10], [2, 16], [1, 4], [1, 4, 1, 2], [11, 14], [2, 5]]
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b)
    assert results[6] == 2
    assert specs.get_positional([None, 2], {"_0": 1, "a": 3}) == ([1, 2], {"a": 3})
    with pytest.raises(errors.InvalidArgumentError, match="callable"):
        specs.Function(3)


def test_variables_are_shared():
    shared = specs.Shared(specs.Fl(2))
    x = tf.ones([1, 2])
    (shared | shared).funcall(x)
    assert len(tf.trainable_variables()) == 2
    specs.Var("v", [3]).funcall(None)
    assert tf.trainable_variables()[-1].op.name == "v"


def test_random_parameters():
    random.seed(1)
    found = specs.eval_params("n = Li(5, 500); d = Ui(1, 3); r = Lf(0.1, 10); z = Nt(0, 1, 0.5); p = floor(2 * pi)")
    assert 5 <= found["n"] <= 500
    assert found["d"] in (1, 2, 3)
    assert 0.1 <= found["r"] <= 10
    assert abs(found["z"]) <= 0.5
    assert found["p"] == 6
    assert specs.floor(specs.e) == 2


def test_networks_are_described(capsys):
    assert specs.tf_spec_structure("net = Fs(64)", input_shape=(None, 100)) == "_ var dot var biasadd sig"
    specs.tf_spec_summary("net = Fs(64) | Fl(3)", input_shape=(None, 10))
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [line[0] for line in lines] == ["0", str(10 * 64 + 64), str(64 * 3 + 3)]
    y = specs.create_net("net = Sig", tf.constant([1.0], name="one"))
    told = []
    specs.tf_print(y, printer=told.append)
    assert told == [f"{y.op.name} Sigmoid [1]", "  one Const [1]"]
    assert specs.tf_num_params(y) == 0


def test_names_for_a_block():
    with specs.LocalImport({"borrowed_name": 7}):
        assert borrowed_name == 7  # noqa: F821
    assert "borrowed_name" not in globals()
