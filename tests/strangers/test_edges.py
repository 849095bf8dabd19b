"""Numbers at every edge: NaN of every bit pattern, infinities, zeros, subnormal and largest numbers, and errors in ulp.

A sample of what `make edges` measures on all bit patterns (scripts/edges). References are NumPy's and SciPy's in a wider
type. Invariant: what holds for a long vector holds for its odd tail, for one element, and where the host folds.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import tfnb as tf
from tfnb.ops import CATALOG
from tfnb.types import FLOATS

sys.path.append(str(Path(__file__).parents[2] / "scripts" / "edges"))

from functions import LEFT_OUT, ONE, TWO, exact, public
from measure import FORMATS, Found, compare, summary
from patterns import edge_values, sample

pytestmark = pytest.mark.opencl

TYPES = ["float32", "float16", "bfloat16", "float64"]
MOST = 2.0  # units in the last place
# What is measured to be worse, on all patterns (docs/accuracy.md): the peers are worse too, but for erfc.
MORE = {"erfc": 3.2, "ndtri": 4.0, "erfinv": 2.5}
NEAR_A_ROOT = ("lgamma", "digamma")  # a small value is the difference of large ones, here as in the peers


def values_of(bits: np.ndarray, dtype: str) -> np.ndarray:
    return bits.view(getattr(tf, dtype).as_numpy_dtype)


def doubles(y: object) -> np.ndarray:
    """The numbers as float64; a signalling NaN becomes a quiet one."""
    with np.errstate(invalid="ignore"):
        return np.asarray(y).astype(np.float64)


def computed(names: list[str], dtype: str, operands: list[np.ndarray], fold: bool = False) -> list[np.ndarray]:
    """The results of functions in one step, as float64; `fold`: of constants, which the host computes."""
    with tf.Graph().as_default(), tf.Session() as session:
        kind = getattr(tf, dtype)
        given = [values_of(bits, dtype) for bits in operands]
        xs = [tf.constant(x) if fold else tf.placeholder(kind, [None]) for x in given]
        fetches = [public(tf, name)(*xs) for name in names]
        found = session.run(fetches, {} if fold else dict(zip(xs, given, strict=True)))
    return [doubles(y) for y in found]


def test_every_elementwise_op_is_measured() -> None:
    """Those with one or two inputs over floats, by the names of their public functions."""
    found = set()
    for op in CATALOG.values():
        if op.scalar is None or op.writes or len(op.input_args) > 2 or not set(FLOATS) & set(op.types.get("T", ())):
            continue
        names = {name.rsplit(".", 1)[-1] for name in str(op.api).split()} | {op.name, op.name.lower()}
        if not names & (ONE.keys() | TWO.keys() | LEFT_OUT.keys()):
            found.add(op.name)
    assert not found


@pytest.mark.parametrize("dtype", TYPES)
def test_one_input(dtype: str) -> None:
    form = FORMATS[dtype]
    bits = sample(form, 4000)
    names = [n for n in ONE if not (n.startswith("bessel") and form.digits < 23)]
    for name, got in zip(names, computed(names, dtype, [bits]), strict=True):
        found = Found()
        compare(found, [bits], got, *exact(name, form, [bits]), form)
        assert not found.faults, (name, summary(found, form))
        if name not in NEAR_A_ROOT and not (dtype == "float64" and name in LOOSE_REFERENCE):
            assert found.worst <= MORE.get(name, MOST), (name, summary(found, form))


# SciPy computes these with doubles too, so its own error is in the difference.
LOOSE_REFERENCE = ("erf", "erfc", "erfinv", "ndtri", "tan", "bessel_i0e", "bessel_i1e")


@pytest.mark.parametrize("dtype", TYPES)
def test_two_inputs(dtype: str) -> None:
    form = FORMATS[dtype]
    edges = edge_values(form)[:: 3 if form.digits > 10 else 1]
    left, right = np.repeat(edges, len(edges)), np.tile(edges, len(edges))
    for name, got in zip(TWO, computed(list(TWO), dtype, [left, right]), strict=True):
        found = Found()
        compare(found, [left, right], got, *exact(name, form, [left, right]), form)
        assert not found.faults, (name, summary(found, form))
        assert found.worst <= (2.6 if name == "squared_difference" else MOST), (name, summary(found, form))


@pytest.mark.parametrize("n", [1, 5, 16, 17, 1003])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_lanes_and_tails_agree(n: int, dtype: str) -> None:
    """An element has the same value alone, in a vector and in what is left of one."""
    form = FORMATS[dtype]
    bits = sample(form, 2000)
    names = ["exp", "sigmoid", "log", "tanh", "sin", "erf", "sinh", "sqrt", "rsqrt"]
    wanted = computed(names, dtype, [bits])
    rng = np.random.default_rng(n)
    at = rng.integers(0, len(bits), n)
    for name, want, got in zip(names, wanted, computed(names, dtype, [bits[at]]), strict=True):
        with np.errstate(invalid="ignore"):
            unit = doubles(np.spacing(np.abs(want[at]).astype(dtype)))
            same = (got == want[at]) | (np.abs(got - want[at]) <= 2 * unit) | (np.isnan(got) & np.isnan(want[at]))
        assert same.all(), (name, [hex(b) for b in bits[at][~same][:3]])


NANS = {
    "float32": [0x7FC00000, 0xFFC00000, 0x7FFFFFFF, 0xFFFFFFFF, 0x7FC00001, 0x7F800001, 0x7FA12345, 0xFFABCDEF],
    "float64": [0x7FF8 << 48, 0xFFF8 << 48, (1 << 63) - 1, (1 << 64) - 1, (0x7FF8 << 48) + 1, (0x7FF0 << 48) + 1],
    "float16": [0x7E00, 0xFE00, 0x7FFF, 0x7C01, 0xFFFF],
    "bfloat16": [0x7FC0, 0xFFC0, 0x7FFF, 0x7F81, 0xFFFF],
}


@pytest.mark.parametrize("dtype", TYPES)
def test_a_nan_reaches_every_result(dtype: str) -> None:
    """Of every bit pattern, at every place of a row: softmax, reductions, losses and their gradients."""
    form = FORMATS[dtype]
    patterns = np.array(NANS[dtype], form.word)
    width = 19
    rows = np.zeros((width * len(patterns), width), form.word)
    one = np.ones(1, getattr(tf, dtype).as_numpy_dtype).view(form.word)[0]
    rows[:] = one
    for k in range(len(rows)):
        rows[k, k % width] = patterns[k // width]
    given = values_of(rows, dtype)
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(getattr(tf, dtype), [None, width])
        whole = [tf.nn.softmax(x), tf.nn.log_softmax(x), tf.gradients(tf.reduce_logsumexp(x, 1), x)[0]]
        rowwise = [f(x, 1) for f in (tf.reduce_sum, tf.reduce_mean, tf.reduce_prod, tf.reduce_max, tf.reduce_min)]
        rowwise += [tf.reduce_logsumexp(x, 1), tf.nn.softmax_cross_entropy_with_logits(labels=x * 0 + 1, logits=x)]
        columns = [f(x[:width], 0) for f in (tf.reduce_sum, tf.reduce_max, tf.reduce_min)]
        places = session.run([whole, rowwise, columns, tf.argmax(x, 1)], {x: given})
    for values in places[0]:
        assert np.isnan(doubles(values)).all()
    for values in (*places[1], *places[2]):
        assert np.isnan(doubles(values)).all()


@pytest.mark.parametrize("nan", NANS["float32"])
def test_a_nan_that_a_kernel_made(nan: int) -> None:
    """The device's own NaN, between fused functions: those of log and rsqrt have other bits than NumPy's."""
    with tf.Graph().as_default(), tf.Session() as session:
        x, fed = tf.placeholder(tf.float32, [None]), tf.placeholder(tf.float32, [None])
        made = [tf.log(x), tf.rsqrt(x), tf.sqrt(x), tf.log1p(3 * x), tf.asin(x), tf.acosh(x), tf.pow(x, 0.5), x + fed]
        after = [f(y) for y in made for f in (tf.exp, tf.sigmoid, tf.tanh, tf.erf, tf.sinh, tf.nn.softplus, tf.nn.elu)]
        slopes = tf.gradients(tf.exp(tf.log(x)), x) + tf.gradients(tf.sigmoid(tf.rsqrt(x)), x)
        given = np.full(21, nan, np.uint32).view(np.float32)
        for found in session.run(after + slopes, {x: np.full(21, -2.0), fed: given}):
            assert np.isnan(found).all()
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(tf.check_numerics(tf.exp(tf.log(x)), "a NaN"), {x: [-2.0]})


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_probabilities_of_subnormal_weights(dtype: str) -> None:
    """The root of a subnormal number is 0, not a number of its own."""
    least = np.finfo(dtype).tiny / 1000
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(dtype, [None])
        p = tf.pow(x, 0.5)
        found = session.run([p / tf.reduce_sum(p), tf.pow(x, -1.0), tf.gradients(p, x)[0]], {x: [least, 0.5, 0.5]})
    np.testing.assert_allclose(found[0], [0, 0.5, 0.5])
    assert found[1][0] == np.inf and found[1][1] == 2
    assert found[2][0] in (0, np.inf)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_angles_of_points_of_all_sizes(dtype: str) -> None:
    info = np.finfo(dtype)
    a = np.ldexp(np.ones(1, dtype), np.arange(info.minexp, info.maxexp)).astype(dtype)
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(dtype, [None])
        found = session.run([tf.atan2(x, x), tf.atan2(x, -x), tf.atan2(-x, x * 0), tf.atan2(x, x / a)], {x: a})
    np.testing.assert_allclose(found[0], np.pi / 4, rtol=1e-6)
    np.testing.assert_allclose(found[1], 3 * np.pi / 4, rtol=1e-6)
    np.testing.assert_allclose(found[2], -np.pi / 2, rtol=1e-6)
    np.testing.assert_allclose(found[3], np.arctan2(a, np.ones_like(a)), rtol=1e-6)


FOLDED = """add sub mul realdiv pow maximum minimum squared_difference less greater_equal equal floordiv mod truncatemod""".split()


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_the_host_computes_what_a_device_does(dtype: str) -> None:
    """Of constants, which are folded: subnormal numbers count as zero there as well, and edges are the same."""
    form = FORMATS[dtype]
    edges = edge_values(form)[::7]
    left, right = np.repeat(edges, len(edges)), np.tile(edges, len(edges))
    one = ["exp", "log", "sqrt", "rsqrt", "reciprocal", "sign", "tanh", "sigmoid", "square", "is_finite"]
    for names, operands in ((one, [sample(form, 200)]), (FOLDED, [left, right])):
        for name, host, device in zip(
            names, computed(names, dtype, operands, fold=True), computed(names, dtype, operands), strict=True
        ):
            with np.errstate(all="ignore"):
                unit = np.abs(np.ldexp(device, -form.digits)) * 4 + form.tiny
                same = (host == device) | (np.isnan(host) & np.isnan(device)) | (np.abs(host - device) <= unit)
            assert same.all(), (name, [[hex(b) for b in o[~same][:3]] for o in operands], host[~same], device[~same])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_powers_of_constants(dtype: str) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        for exponent in (0.5, -1.0, 2.0, 0.0, 3.0):
            values = np.array([-np.inf, -0.0, 0.0, np.inf, np.nan, -2.0, 4.0], dtype)
            x = tf.placeholder(dtype, [None])
            fetches = [tf.pow(x, exponent), tf.pow(tf.constant(values), exponent), tf.pow(x[0], exponent)]
            fetches += [tf.pow(tf.constant(values[0]), exponent)]
            of_fed, folded, first, folded_first = session.run(fetches, {x: values})
            np.testing.assert_array_equal(of_fed, folded)
            np.testing.assert_array_equal(np.signbit(of_fed[:4]), np.signbit(folded[:4]))
            assert first == folded_first == of_fed[0]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_loop_ends_where_numbers_become_subnormal(dtype: str) -> None:
    """A loop over scalars, which the host runs, takes as many turns as one on a device."""
    with tf.Graph().as_default(), tf.Session() as session:
        start = tf.placeholder(dtype, None)
        loop = tf.while_loop(lambda i, v: tf.reduce_max(v) > 0, lambda i, v: (i + 1, v * 0.5), [0, start])
        turns = [session.run(loop[0], {start: given}) for given in (1.0, [1.0], np.ones(40))]
    assert turns == [1 - np.finfo(dtype).minexp] * 3
