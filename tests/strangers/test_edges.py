"""Numbers at every edge: NaN of every bit pattern, infinities, zeros, subnormal and largest numbers, and errors in ulp.

A sample of what `make edges` measures on all bit patterns (scripts/edges). References are NumPy's and SciPy's in a wider
type. Invariant: what holds for a long vector holds for its odd tail, for one element, and where the host folds.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import tfnb as tf
from tfnb.ops import CATALOG
from tfnb.types import FLOATS

sys.path.append(str(Path(__file__).parents[2] / "scripts" / "edges"))

from accuracy_page import read_page, write_page
from functions import LEFT_OUT, ONE, TWO, exact, public, reference
from gradients import SLOPES
from measure import FORMATS, Found, compare, summary
from native import Comparison, native
from patterns import edge_values, sample

pytestmark = pytest.mark.opencl

TYPES = ["float32", "float16", "bfloat16", "float64"]
WIDTHS = ["float32", "float64"]  # the types of vectors: those of 16 bits are computed as float32
MOST = 2.0  # units in the last place


def values_of(bits: np.ndarray, dtype: str) -> np.ndarray:
    return bits.view(getattr(tf, dtype).as_numpy_dtype)


def bits_of(y: object, dtype: str) -> np.ndarray:
    """The bits of an array of this type; those of bools are bools."""
    found = np.asarray(y)
    return found if found.dtype == np.bool_ else found.view(FORMATS[dtype].word)


def doubles(bits: np.ndarray, dtype: str) -> np.ndarray:
    return bits.astype(np.float64) if bits.dtype == np.bool_ else FORMATS[dtype].values(bits)


def same(left: np.ndarray, right: np.ndarray, dtype: str) -> np.ndarray:
    """Where the numbers have the same bits, but for subnormal ones, which are zeros, and patterns of NaN."""
    a, b = doubles(left, dtype), doubles(right, dtype)
    if dtype != "float16":  # it is computed as float32, where its subnormal numbers are normal ones
        a, b = (np.where(np.abs(v) < FORMATS[dtype].tiny, np.copysign(0, v), v) for v in (a, b))
    return (a == b) & (np.signbit(a) == np.signbit(b)) | np.isnan(a) & np.isnan(b)


def computed(names: list[str], dtype: str, operands: list[np.ndarray], fold: bool = False) -> list[np.ndarray]:
    """The bits of functions in one step; `fold`: of constants, which the host computes."""
    with tf.Graph().as_default(), tf.Session() as session:
        kind = getattr(tf, dtype)
        given = [values_of(bits, dtype) for bits in operands]
        xs = [tf.constant(x) if fold else tf.placeholder(kind, [None]) for x in given]
        fetches = [public(tf, name)(*xs) for name in names]
        found = session.run(fetches, {} if fold else dict(zip(xs, given, strict=True)))
    return [bits_of(y, dtype) for y in found]


class Functions:
    """All functions of one number in one graph: alone, between a product by 1 and a change of sign, and their gradients."""

    def __init__(self, dtype: str) -> None:
        self.dtype, self.form = dtype, FORMATS[dtype]
        self.names = [n for n in ONE if not (n.startswith("bessel") and self.form.digits < 23)]
        self.chained = [n for n in self.names if not n.startswith(("is_", "bessel"))]  # the host computes the latter
        self.slopes = [n for n in SLOPES if n != "digamma" or self.form.digits > 10]  # polygamma takes no others
        with tf.Graph().as_default() as graph:
            kind = getattr(tf, dtype)
            self.x, self.one = tf.placeholder(kind, [None]), tf.placeholder(kind, [])
            alone = {name: public(tf, name)(self.x) for name in self.names}
            self.fetches = {
                "alone": list(alone.values()),
                "chained": [-public(tf, name)(self.x * self.one) for name in self.chained],
                "gradients": [tf.gradients(alone[name], self.x)[0] for name in self.slopes],
            }
        self.session = tf.Session(graph=graph)

    def run(self, form: str, bits: np.ndarray) -> list[np.ndarray]:
        feeds = {self.x: values_of(bits, self.dtype), self.one: 1}
        return [bits_of(y, self.dtype) for y in self.session.run(self.fetches[form], feeds)]


@pytest.fixture(scope="module", params=TYPES)
def functions(request: pytest.FixtureRequest) -> Iterator[Functions]:
    found = Functions(request.param)
    yield found
    found.session.close()


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


def test_one_input(functions: Functions) -> None:
    form, dtype = functions.form, functions.dtype
    bits = sample(form, 4000)
    for name, got in zip(functions.names, functions.run("alone", bits), strict=True):
        found = Found()
        compare(found, got, exact(name, form, [bits]))
        assert not found.faults, (name, summary(found, form))
        if not (dtype == "float64" and name in LOOSE_REFERENCE):
            assert found.worst <= MOST, (name, summary(found, form))


@pytest.mark.parametrize("dtype", WIDTHS)
def test_figures_by_c_are_those_by_numpy(dtype: str) -> None:
    """Of results that are right, or off by some units, NaN, or zeros of the wrong sign."""
    form = FORMATS[dtype]
    if native(form) is None:
        pytest.skip("there is no gcc")
    one = sample(form, 2000)
    edges = edge_values(form)[::5]
    for names, bits in ((ONE, [one]), (TWO, [np.repeat(edges, len(edges)), np.tile(edges, len(edges))])):
        for name in names:
            if dtype == "float64" and name in LOOSE_REFERENCE:
                continue
            with np.errstate(all="ignore"):
                got = np.asarray(exact(name, form, bits).values).astype(dtype).view(form.word)
            got[::7] += form.word(3)
            got[::11] = NANS[dtype][0]
            got[::13] = 1 << (8 * got.itemsize - 1)
            by_numpy, by_c = Found(), Comparison(name, form, reference(name, form))
            compare(by_numpy, got, exact(name, form, bits))
            by_c.add(bits, [got], [])
            found = by_c.found
            assert found.worst == pytest.approx(by_numpy.worst, rel=1e-6), name
            assert (found.faults, found.zeroed, found.kept) == (by_numpy.faults, by_numpy.zeroed, by_numpy.kept), name


def test_the_page_of_accuracy_is_read_back(tmp_path: Path) -> None:
    """A run replaces the figures that it measured, and keeps those of peers and of other functions."""
    page, ours = tmp_path / "accuracy.md", {"worst": 1.25, "marks": "NS", "count": 4294987296, "stride": 1}
    theirs = {"worst": 2.5e45, "marks": "", "count": 1000, "stride": 17}
    rows = {("float32", "exp"): {"tfnb": ours, "numpy": theirs}, ("float64", "gradient:tanh"): {"tfnb": dict(ours)}}
    write_page(page, rows, "1.15.5")
    text = page.read_text()
    assert read_page(page) == rows
    assert "| exp | 1.25 NS | - | 2.5e+45 | - | 4,294,987,296 (1) | 1,000 (17) |" in text
    write_page(page, read_page(page), "")
    assert page.read_text() == text


# SciPy computes these with doubles too, so its own error is in the difference.
LOOSE_REFERENCE = ("erf", "erfc", "erfinv", "ndtri", "tan", "lgamma", "digamma", "bessel_i0e", "bessel_i1e")


def test_erfinv_just_above_its_first_polynomial() -> None:
    """Where the logarithm that it takes is small, each rounding on the way counts."""
    form = FORMATS["float32"]
    bits = np.arange(0x3F52C000 - 10000, 0x3F52C000 + 10000, dtype=np.uint32)
    (got,), found = computed(["erfinv"], "float32", [bits]), Found()
    compare(found, got, exact("erfinv", form, [bits]))
    assert found.worst <= MOST, summary(found, form)


# Their gradients compare a number with 0, and so have a value at NaN, as in TensorFlow.
COMPARES = ("relu", "relu6", "leaky_relu", "elu", "selu")
# Gradients that lose no digits: the others take 1 - y^2 or the like of a rounded y, as in TensorFlow (docs/accuracy.md).
CLOSE = """abs square reciprocal sqrt exp expm1 log log1p sin cos sinh cosh log_sigmoid softplus softsign relu relu6
leaky_relu""".split()


@pytest.mark.parametrize("functions", WIDTHS, indirect=True)
def test_gradients(functions: Functions) -> None:
    """NaN stays NaN, a number stays one, and most are as good as a few products of rounded numbers can be."""
    bits = sample(functions.form, 1000)
    for name, got in zip(functions.slopes, functions.run("gradients", bits), strict=True):
        found = Found()
        compare(found, got, exact(f"gradient:{name}", functions.form, [bits]))
        if name in COMPARES:
            found.faults.pop("NaN lost", None)
        assert not found.faults, (name, summary(found, functions.form))
        if name in CLOSE:
            assert found.worst <= 4, (name, summary(found, functions.form))


@pytest.mark.parametrize("functions", WIDTHS, indirect=True)
def test_a_function_in_a_fused_chain_has_the_same_bits(functions: Functions) -> None:
    bits = sample(functions.form, 1000)
    alone = dict(zip(functions.names, functions.run("alone", bits), strict=True))
    for name, got in zip(functions.chained, functions.run("chained", bits), strict=True):
        turned = got ^ functions.form.word(1 << (8 * got.itemsize - 1))
        equal = same(alone[name], turned, functions.dtype)
        assert equal.all(), (name, [hex(b) for b in bits[~equal][:3]])


@pytest.mark.parametrize("functions", WIDTHS, indirect=True)
def test_an_element_has_the_same_bits_in_every_vector_and_tail(functions: Functions) -> None:
    """Of all lengths up to 67, at other places of the vector each, and alone."""
    bits = sample(functions.form, 600)
    np.random.default_rng(0).shuffle(bits)
    wanted = functions.run("alone", bits)
    parts = [(3 * n, n) for n in range(1, 68)] + [(k, 1) for k in range(0, len(bits), 17)]
    for start, n in parts:
        for name, want, got in zip(
            functions.names, wanted, functions.run("alone", bits[start : start + n]), strict=True
        ):
            equal = same(want[start : start + n], got, functions.dtype)
            assert equal.all(), (name, n, [hex(b) for b in bits[start : start + n][~equal][:3]])


@pytest.mark.parametrize("dtype", TYPES)
def test_two_inputs(dtype: str) -> None:
    form = FORMATS[dtype]
    edges = edge_values(form)[:: 3 if form.digits > 10 else 1]
    left, right = np.repeat(edges, len(edges)), np.tile(edges, len(edges))
    whole = computed(list(TWO), dtype, [left, right])
    for name, got in zip(TWO, whole, strict=True):
        found = Found()
        compare(found, got, exact(name, form, [left, right]))
        assert not found.faults, (name, summary(found, form))
        assert found.worst <= (2.6 if name == "squared_difference" else MOST), (name, summary(found, form))


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
        assert np.isnan(values).all()
    for values in (*places[1], *places[2]):
        assert np.isnan(values).all()


def test_a_nan_that_a_kernel_made() -> None:
    """The device's own NaN, between fused functions: those of log and rsqrt have other bits than NumPy's."""
    with tf.Graph().as_default(), tf.Session() as session:
        x, fed = tf.placeholder(tf.float32, [None]), tf.placeholder(tf.float32, [None])
        made = [tf.log(x), tf.rsqrt(x), tf.sqrt(x), tf.log1p(3 * x), tf.asin(x), tf.acosh(x), tf.pow(x, 0.5), x + fed]
        after = [f(y) for y in made for f in (tf.exp, tf.sigmoid, tf.tanh, tf.erf, tf.sinh, tf.nn.softplus, tf.nn.elu)]
        slopes = tf.gradients(tf.exp(tf.log(x)), x) + tf.gradients(tf.sigmoid(tf.rsqrt(x)), x)
        for nan in NANS["float32"]:
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


# Angles with their sine, cosine and tangent, by mpmath with 3,000 bits: next to multiples of pi / 2, the largest double.
ANGLES = [
    ("0x1.6ac5b262ca1ffp+849", "0x1.0000000000000p+0", "-0x1.14ae72e6ba22fp-61", "-0x1.d9ba9a7975636p+60"),
    ("0x1.0f0cf064dd592p+73", "-0x1.b453ab76bf397p-1", "0x1.0be2cef01c8f4p-1", "-0x1.a0f79c1b6b257p+0"),
    ("0x1.e847fffffffffp+18", "0x1.6c32c3d7cd760p-3", "-0x1.f7d6d81d05c2bp-1", "-0x1.7218e7486bf11p-3"),
    ("0x1.e848066666666p+18", "0x1.425b9328899cbp-4", "-0x1.fe69741908cf4p-1", "-0x1.435c55bbf5875p-4"),
    ("0x1.fffffffffffffp+1023", "0x1.452fc98b34e97p-8", "-0x1.fffe62ecfab75p-1", "-0x1.4530cfe729484p-8"),
    ("0x1.1475cc9eedf00p+4", "-0x1.0000000000000p+0", "-0x1.6111d218effa2p-49", "0x1.733c4e8ef9c51p+48"),
    ("0x1.921fb54442d18p+53", "-0x1.0c48c19a4f5adp-1", "0x1.b415039807876p-1", "-0x1.3afd73140ce5ep-1"),
    ("-0x1.f28e559aa9268p+1", "0x1.5e43059f8bdc5p-1", "-0x1.7571bfab3f921p-1", "-0x1.e0375d8604800p-1"),
    ("-0x1.4023af2817090p+399", "-0x1.5f95825fa8235p-1", "0x1.743324cd69ff3p-1", "-0x1.e3a40ed20ad1bp-1"),
    ("0x1.667971fd593dcp+17", "0x1.62685541dbe43p-1", "0x1.7183217b35ef2p-1", "0x1.eb121fec5d586p-1"),
    ("0x1.f048edf154e00p+5", "-0x1.6df18c720fb60p-1", "0x1.661759e905b36p-1", "-0x1.059d17eb61915p+0"),
    ("0x1.2909615c57132p+992", "0x1.7481104558dcfp-1", "-0x1.5f42f2ebe82cdp-1", "-0x1.0f7b4eac5d193p+0"),
    ("0x1.e67bf8201687ep+902", "0x1.67c6d62c144c8p-1", "0x1.6c495e305bf20p-1", "0x1.f9a9524bf44bdp-1"),
    ("0x1.39e43d122b004p+4", "0x1.63ee442589637p-1", "0x1.700b96826076dp-1", "0x1.ef25a5f55d6c7p-1"),
    ("0x1.710d14eda51ecp+940", "0x1.680ab5a95f9cfp-1", "-0x1.6c06494f4501bp-1", "-0x1.fa65f780bfc32p-1"),
    ("0x1.56e1fc2f8f359p-997", "0x1.56e1fc2f8f359p-997", "0x1.0000000000000p+0", "0x1.56e1fc2f8f359p-997"),
]


def test_doubles_of_all_sizes_as_angles() -> None:
    angles, *wanted = (np.array([float.fromhex(text) for text in texts]) for texts in zip(*ANGLES, strict=True))
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float64, [None])
        found = session.run([tf.sin(x), tf.cos(x), tf.tan(x)], {x: angles})
    for got, want in zip(found, wanted, strict=True):
        assert (np.abs(got - want) <= np.spacing(np.abs(want))).all()


FOLDED = """add sub mul realdiv pow maximum minimum squared_difference less greater_equal equal floordiv mod truncatemod""".split()


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_the_host_computes_what_a_device_does(dtype: str) -> None:
    """Of constants, which are folded: subnormal numbers count as zero there as well, and edges are the same."""
    form = FORMATS[dtype]
    edges = edge_values(form)[::7]
    left, right = np.repeat(edges, len(edges)), np.tile(edges, len(edges))
    one = ["exp", "log", "sqrt", "rsqrt", "reciprocal", "sign", "tanh", "sigmoid", "square", "is_finite"]
    for names, operands in ((one, [sample(form, 200)]), (FOLDED, [left, right])):
        found = zip(names, computed(names, dtype, operands, fold=True), computed(names, dtype, operands), strict=True)
        for name, by_host, by_device in found:
            host, device = doubles(by_host, dtype), doubles(by_device, dtype)
            with np.errstate(all="ignore"):
                unit = np.abs(np.ldexp(device, -form.digits)) * 4 + form.tiny
                equal = (host == device) | (np.isnan(host) & np.isnan(device)) | (np.abs(host - device) <= unit)
            assert equal.all(), (name, [[hex(b) for b in o[~equal][:3]] for o in operands], host[~equal])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_powers_of_constants(dtype: str) -> None:
    values = np.array([-np.inf, -0.0, 0.0, np.inf, np.nan, -2.0, 4.0], dtype)
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(dtype, [None])
        fetches = []
        for exponent in (0.5, -1.0, 2.0, 0.0, 3.0):
            fetches.append([tf.pow(x, exponent), tf.pow(tf.constant(values), exponent), tf.pow(x[0], exponent)])
            fetches[-1].append(tf.pow(tf.constant(values[0]), exponent))
        for of_fed, folded, first, folded_first in session.run(fetches, {x: values}):
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
