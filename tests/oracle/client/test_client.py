"""Client library against TensorFlow: losses, gradients, conditionals, embedding lookups, names of scopes."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tfnb as tf

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    tensorflow = pytest.importorskip("tensorflow")
tf1 = tensorflow.compat.v1


def both(build: Callable[[Any], Any], feeds: list[dict[str, Any]], rtol: float = 2e-5) -> None:
    """Runs what `build(tf)` gives (a dict of fetches) for each feed (by placeholder name), and compares."""

    def run(t: Any) -> list[dict[str, Any]]:
        graph = t.Graph()
        with graph.as_default():
            fetches = build(t)
            init = t.global_variables_initializer()
        with t.Session(graph=graph) as session:
            session.run(init)
            return [session.run(fetches, {f"{k}:0": v for k, v in feed.items()}) for feed in feeds]

    for ours, theirs in zip(run(tf), run(tf1), strict=True):
        assert ours.keys() == theirs.keys()
        for k in ours:
            np.testing.assert_allclose(ours[k], theirs[k], rtol=rtol, atol=rtol, err_msg=k)


WEIGHTS = {
    "one": 1.0,
    "scalar": 0.3,
    "rows": np.array([[0.5], [0.0], [2.0], [1.0]], "f"),
    "zero": 0.0,
}


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("reduction", tf.losses.Reduction.all())
def test_losses(weights: str, reduction: str) -> None:
    rng = np.random.default_rng(0)
    labels, predictions = rng.integers(0, 2, (4, 3)), rng.uniform(0.05, 0.95, (4, 3)).astype("f")
    onehot, classes = np.eye(3, dtype="f")[[0, 2, 1, 1]], np.array([0, 2, 1, 1])
    w = WEIGHTS[weights]
    row = w if isinstance(w, float) else w[:, 0]

    def build(t: Any) -> Any:
        losses, p = t.losses, t.placeholder(np.float32, [4, 3], name="p")
        rest = {"reduction": reduction}
        found = {
            "mse": losses.mean_squared_error(labels, p, w, **rest),
            "absolute": losses.absolute_difference(labels, p, w, **rest),
            "huber": losses.huber_loss(labels, p * 5, w, delta=0.7, **rest),
            "log": losses.log_loss(labels, p, w, **rest),
            "hinge": losses.hinge_loss(labels, p - 0.3, w, **rest),
            "sigmoid": losses.sigmoid_cross_entropy(labels, p * 3, w, label_smoothing=0.1, **rest),
            "softmax": losses.softmax_cross_entropy(onehot, p * 3, row, label_smoothing=0.1, **rest),
            "sparse": losses.sparse_softmax_cross_entropy(classes, p * 3, row, **rest),
            "cosine": losses.cosine_distance(onehot, p, axis=1, weights=w, **rest),
        }
        grads = {f"grad of {k}": t.gradients(v, p)[0] for k, v in found.items()}
        # a weight of constant zero may leave no gradient at all
        grads = {k: t.zeros_like(p) if g is None else g for k, g in grads.items()}
        if reduction != "none":
            found["total"] = losses.get_total_loss()
        assert [x.dtype for x in losses.get_losses()] == [t.float32] * 9
        return found | grads

    both(build, [{"p": predictions}])


def test_gradients_through_cond() -> None:
    a = np.array([[1.0, -2.0, 3.0], [0.5, 1.5, -1.0]], "f")

    def build(t: Any) -> Any:
        x = t.placeholder(np.float32, [2, 3], name="x")
        p, q = (t.placeholder(bool, [], name=n) for n in "pq")
        v = t.Variable([1.0, 2.0, 3.0])
        outside = x * v
        y = t.cond(
            p,
            lambda: t.reduce_sum(outside * x),
            lambda: t.cond(q, lambda: t.reduce_sum(t.tanh(x) * v), lambda: t.reduce_sum(outside) * 2.0),
        )
        two = t.cond(p, lambda: (x * 2.0, v), lambda: (x + 1.0, v * v))
        z = t.reduce_sum(two[0] * t.reduce_sum(two[1])) + y
        return {
            "y": y,
            "dx": t.gradients(y, x)[0],
            "dv": t.gradients(y, v)[0],
            "dz": t.gradients(z, x)[0],
            "dzv": t.gradients(z, v)[0],
            "second": t.gradients(t.reduce_sum(t.gradients(y, x)[0] ** 2), x)[0],
        }

    both(build, [{"x": a, "p": p, "q": q} for p in (True, False) for q in (True, False)])


def test_sparse_chained_and_inner_gradients_of_conditionals() -> None:
    def build(t: Any) -> Any:
        p, x = t.placeholder(bool, [], name="p"), t.placeholder(np.float32, [None, 3], name="x")
        table = t.Variable(np.arange(12, dtype=np.float32).reshape(4, 3))
        w, u = t.Variable(np.ones((3, 2), np.float32)), t.Variable(2.0)
        y = t.cond(
            p,
            lambda: t.reduce_sum(t.gather(table, [1, 1, 2]) * x[0]),
            lambda: t.reduce_sum(t.matmul(x, w)) * u,
        )
        grads = [t.convert_to_tensor(g) for g in t.gradients(y, [table, w, u, x])]
        h = x
        for k in range(3):
            h = _tanh_or_square(t, p if k % 2 else t.logical_not(p), h)
        twice = t.cond(p, lambda: x * u, lambda: x)
        return {
            **{f"gradient {k}": g for k, g in enumerate(grads)},
            "inside": t.cond(p, lambda: t.gradients(t.reduce_sum(t.square(x)), x)[0], lambda: x),
            "chain": t.gradients(t.reduce_sum(h), x)[0],
            "twice": t.gradients(t.reduce_sum(twice * twice + x * twice), x)[0],
        }

    feeds = [{"p": p, "x": [[1.0, 2.0, 3.0], [4.0, 5.0, -6.0]]} for p in (True, False)]
    both(build, feeds)


def _tanh_or_square(t: Any, p: Any, h: Any) -> Any:
    return t.cond(p, lambda: t.tanh(h), lambda: h * h)


def test_training_inside_a_branch() -> None:
    def weights(t: Any) -> list[Any]:
        graph = t.Graph()
        with graph.as_default():
            p = t.placeholder(bool, [])
            w = t.Variable([1.0, 2.0])
            opt = t.train.MomentumOptimizer(0.1, 0.9)
            train = t.cond(p, lambda: opt.minimize(t.reduce_sum(w * w)), lambda: t.no_op())
            init = t.global_variables_initializer()
        with t.Session(graph=graph) as session:
            session.run(init)
            found = []
            for b in (True, False, True):
                session.run(train, {p: b})
                found.append(session.run(w))
            return found

    np.testing.assert_allclose(weights(tf), weights(tf1), rtol=1e-6)


def test_gradients_options() -> None:
    a = np.random.default_rng(1).normal(size=(3, 4)).astype("f")

    def build(t: Any) -> Any:
        x = t.placeholder(np.float32, [3, 4], name="x")
        w = t.Variable(np.arange(8, dtype=np.float32).reshape(4, 2))
        h = t.tanh(x)
        y = t.matmul(h, w)
        unrelated = t.Variable(1.0)
        assert t.gradients(y, [unrelated]) == [None]
        assert t.gradients(y, [x], stop_gradients=[h]) == [None]
        seed = t.constant(np.ones((3, 2), "f") * 0.5)
        vector = t.reduce_sum(t.square(x[0]) * x[0])
        return {
            "seed": t.gradients(y, x, grad_ys=seed)[0],
            "two ys": t.gradients([y, h], x)[0],
            "inside": t.gradients(y, h)[0],
            "itself": t.gradients(y, y)[0],
            "stopped": t.gradients(y + t.stop_gradient(h[:, :2]), x)[0],
            "part": t.gradients(t.reduce_sum(h * x), x, stop_gradients=[h])[0],
            "second": t.gradients(t.gradients(vector, x)[0], x)[0],
            "used twice": t.gradients(t.reduce_sum(x * x * x) + t.reduce_sum(t.exp(x)), x)[0],
        }

    both(build, [{"x": a}])


def test_hessians() -> None:
    def build(t: Any) -> Any:
        x = t.placeholder(np.float32, [3], name="x")
        return {"h": t.hessians(t.reduce_sum(x**3) * t.reduce_sum(x), x)[0]}

    both(build, [{"x": np.array([1.0, -2.0, 0.5], "f")}])


@pytest.mark.parametrize("strategy", ["mod", "div"])
@pytest.mark.parametrize("shards", [1, 3])
def test_embedding_lookup(strategy: str, shards: int) -> None:
    table = np.random.default_rng(4).normal(size=(8, 2)).astype("f")
    blocks = np.array_split(table, shards) if strategy == "div" else [table[k::shards] for k in range(shards)]

    def build(t: Any) -> Any:
        ids = t.placeholder(np.int64, [2, 3], name="ids")
        params = [t.Variable(b) for b in blocks]
        found = t.nn.embedding_lookup(params, ids, partition_strategy=strategy)
        clipped = t.nn.embedding_lookup(params, ids, partition_strategy=strategy, max_norm=0.5)
        grads = t.gradients(t.reduce_sum(found**2), params)
        return {"found": found, "clipped": clipped} | {f"grad {k}": t.convert_to_tensor(g) for k, g in enumerate(grads)}

    both(build, [{"ids": [[0, 7, 3], [3, 1, 6]]}])


def test_custom_gradients() -> None:
    @tf.RegisterGradient("ClientOracleTwice")
    def _(op: Any, dy: Any) -> Any:
        return dy * 2.0

    @tf1.RegisterGradient("ClientOracleTwice")
    def _(op: Any, dy: Any) -> Any:
        return dy * 2.0

    def build(t: Any) -> Any:
        x = t.placeholder(np.float32, [2], name="x")
        with t.get_default_graph().gradient_override_map({"Square": "ClientOracleTwice"}):
            y = t.square(x)
        return {"dx": t.gradients(y + t.square(x), x)[0]}

    both(build, [{"x": [3.0, -1.0]}])


def test_case() -> None:
    def build(t: Any) -> Any:
        k = t.placeholder(np.int32, [], name="k")
        pairs = [(t.equal(k, 0), lambda: t.constant(10)), (k < 3, lambda: k * 2)]
        return {"case": t.case(pairs, default=lambda: t.constant(-1))}

    both(build, [{"k": k} for k in range(5)])


def _scopes(t: Any) -> list[str]:
    """Names of variables, and of an operation, made under many kinds of scopes."""
    got: list[str] = []

    def var(name: str = "w", **kw: Any) -> None:
        got.append(t.get_variable(name, [2], **kw).name)

    with t.variable_scope("a") as a:
        var()
        got.append(t.add(1, 2, name="op").name)
        with t.variable_scope("b"):
            var()
        with t.variable_scope(None, "block"):
            var()
        with t.variable_scope(None, "block"):
            var()
    with t.variable_scope("a", reuse=True):
        var()
        with t.variable_scope(None, "block"):
            var()
    with t.variable_scope(a, reuse=True):
        got.append(t.add(1, 2, name="op").name)
        var()
    with t.variable_scope("c"), t.variable_scope(a):
        var("inside")
        got.append(t.add(1, 2, name="op").name)
    with t.variable_scope("a", reuse=t.AUTO_REUSE):
        var()
        var("new")
        with t.variable_scope("b"):
            var()
            var("new")
    with t.name_scope("n"), t.variable_scope("a2"):
        var()
        got.append(t.Variable(1.0, name="plain").name)
        got.append(t.add(1, 2, name="op").name)
    with t.variable_scope(None, "block"):
        var()
    with t.variable_scope(None, "block"):
        var()
    with t.variable_scope("d", regularizer=lambda w: t.reduce_sum(w) * 0.1, initializer=t.ones_initializer()):
        var("x", regularizer=None)
        var("y")
    got += [x.name.rpartition("/")[0] for x in t.get_collection(t.GraphKeys.REGULARIZATION_LOSSES)]
    got += [v.name for v in t.trainable_variables()] + [v.name for v in t.global_variables("a/b")]
    return got


def test_names_under_scopes() -> None:
    with tf.Graph().as_default():
        ours = _scopes(tf)
    with tf1.Graph().as_default():
        theirs = _scopes(tf1)
    assert ours == theirs


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["a", "A", "a_1", "A_1", "a_2", "b/", "B/"]), st.booleans()), max_size=12))
def test_unique_names(asked: list[tuple[str, bool]]) -> None:
    def names(t: Any) -> list[str]:
        graph, found = t.Graph(), []
        with graph.as_default():
            for name, marked in asked:
                if name.endswith("/"):
                    with t.name_scope(name[:-1]):
                        found.append(t.constant(0, name="a").name)
                elif marked:
                    found.append(t.constant(0, name=name).name)
                else:
                    found.append(graph.unique_name(name, mark_as_used=False))
        return found

    assert names(tf) == names(tf1)
