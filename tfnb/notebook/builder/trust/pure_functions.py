"""The functions of NumPy and of Python's own modules that the builder may call: they compute, and do nothing else.

Each is listed by its name, since a package also has functions that read files, execute texts and start compilers.
Invariant: a function is known by its identity, so another one that only has the name of a listed one is not called.
"""

from __future__ import annotations

import builtins
import collections
import functools
import itertools
import math
import typing
from collections.abc import Iterable, Iterator
from functools import cache
from types import ModuleType

import numpy as np

__all__ = ["HARMLESS", "MODULES", "is_pure"]

HARMLESS = frozenset(
    "abs all any bool bytes callable complex dict divmod enumerate filter float frozenset int isinstance issubclass "
    "iter len list map max min next pow range reversed round set slice sorted str sum tuple zip".split()
)
"""Functions of Python that need no import."""

MODULES = frozenset("numpy tfnb tensorflow math __future__ functools itertools collections typing".split())
"""The modules that a text may import which nobody has run."""

_NUMPY = """
abs absolute add all allclose amax amin any append apply_along_axis arange arccos arccosh arcsin arcsinh arctan
arctan2 arctanh argmax argmin argpartition argsort argwhere around array array_equal array_equiv array_split asarray
ascontiguousarray asfortranarray atleast_1d atleast_2d atleast_3d average bartlett bincount bitwise_and bitwise_or
bitwise_xor blackman broadcast_arrays broadcast_shapes broadcast_to cbrt ceil choose clip column_stack compress
concatenate conj conjugate convolve copy copysign corrcoef correlate cos cosh count_nonzero cov cross cumprod cumsum
deg2rad degrees delete diag diag_indices diagflat diagonal diff digitize divide divmod dot dsplit dstack ediff1d
einsum empty empty_like equal exp exp2 expand_dims expm1 extract eye fabs finfo flatnonzero flip fliplr flipud
float_power floor floor_divide fmax fmin fmod fromfunction full full_like gcd geomspace gradient greater greater_equal
hamming hanning histogram histogram2d hsplit hstack hypot identity iinfo imag indices inner insert interp intersect1d
invert isclose iscomplexobj isfinite isin isinf isnan isneginf isposinf isrealobj isscalar issubdtype kaiser kron lcm
ldexp left_shift less less_equal lexsort linspace log log10 log1p log2 logaddexp logaddexp2 logical_and logical_not
logical_or logical_xor logspace matmul max maximum mean median meshgrid mgrid min minimum mod modf moveaxis multiply
nan_to_num nanargmax nanargmin nanmax nanmean nanmin nanstd nansum nanvar ndarray ndim negative nextafter nonzero
not_equal ogrid ones ones_like outer pad partition percentile piecewise poly1d polyfit polyval positive power prod ptp
put_along_axis quantile rad2deg radians ravel ravel_multi_index real reciprocal remainder repeat reshape resize
result_type right_shift rint roll rollaxis rot90 round s_ searchsorted select setdiff1d setxor1d shape sign signbit
sin sinc sinh size sort split sqrt square squeeze stack std subtract sum swapaxes take take_along_axis tan tanh
tensordot tile trace transpose trapezoid tri tril tril_indices triu triu_indices true_divide trunc union1d unique
unravel_index unwrap vander var vdot vectorize vsplit vstack where zeros zeros_like bool_ bytes_ complex128 complex64
dtype float16 float32 float64 generic int16 int32 int64 int8 intc intp longlong object_ str_ uint16 uint32 uint64
uint8 uintc uintp
"""
_NUMPY_PARTS = {
    "random": "Generator RandomState beta binomial chisquare choice default_rng dirichlet exponential gamma geometric "
    "gumbel laplace logistic lognormal multinomial multivariate_normal normal permutation poisson rand randint randn "
    "random random_sample ranf sample seed shuffle standard_normal triangular uniform",
    "linalg": "cholesky cond det eig eigh eigvals eigvalsh inv lstsq matrix_power matrix_rank multi_dot norm pinv qr "
    "slogdet solve svd",
    "fft": "fft fft2 fftfreq fftn fftshift hfft ifft ifft2 ifftn ifftshift ihfft irfft irfft2 rfft rfft2 rfftfreq",
}
_PYTHON = {
    # Neither what never ends (count, cycle) nor what writes code (namedtuple).
    functools: "partial reduce wraps",
    itertools: "accumulate chain combinations combinations_with_replacement compress dropwhile filterfalse groupby "
    "islice pairwise permutations product starmap takewhile zip_longest",
    collections: "Counter OrderedDict defaultdict deque",
    typing: "Any Callable Iterable List NamedTuple Optional Sequence Tuple Union cast",
}


def _members(module: ModuleType, names: Iterable[str]) -> Iterator[int]:
    for name in names:
        value = getattr(module, name, None)  # some have come, or gone, with a version of NumPy
        if value is not None:
            yield id(value)


@cache
def _identities() -> frozenset[int]:
    """The identities of the functions; modules keep these alive."""
    found = [*_members(builtins, HARMLESS), *_members(np, _NUMPY.split())]
    found += _members(math, (name for name in vars(math) if not name.startswith("_")))
    for part, names in _NUMPY_PARTS.items():
        found += _members(getattr(np, part), names.split())
    for module, names in _PYTHON.items():
        found += _members(module, names.split())
    return frozenset(found)


def is_pure(function: object) -> bool:
    """Returns whether it is one of the listed functions itself."""
    return id(function) in _identities()
