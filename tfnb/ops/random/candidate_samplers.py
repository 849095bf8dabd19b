"""Candidate sampling: a few classes are drawn instead of using all of them (OSDI'16, sections 4.2 and 6.4).

A sampler returns classes and their expected counts, which sampled losses need. Classes are drawn by inverting the
distribution at counter-based random numbers. Invariant: the expected counts belong to the draw with which they are
returned."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tfnb.caches import remembered
from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir.default import graph_of
from tfnb.ir.opdef import NOT_DIFFERENTIABLE, HostCall, Infer, OpDef
from tfnb.ir.record import record
from tfnb.ir.scalar.host_philox import philox_4x32
from tfnb.ir.shapes import with_rank
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.random.functions import seeds_for
from tfnb.types import Shape, int64

__all__ = [
    "API",
    "LOG_UNIFORM_CANDIDATE_SAMPLER",
    "OPS",
    "SAMPLER_DOC",
    "SamplerAttrs",
    "infer_sampler",
    "sampler_function",
    "sampler_kernel",
]

_CALLS = 16  # so many calls of a sampler draw their numbers together
_MOST_TOGETHER = 1 << 11  # draws of a call, if it makes them together with others
_MOST_KEPT = 1 << 17  # classes of the largest distribution of which the probabilities are kept

Draw = Callable[[np.ndarray], np.ndarray]  # numbers in [0, 1) -> classes
Chance = Callable[[np.ndarray], np.ndarray]  # classes -> their probabilities
BySize = Callable[[int], tuple[Draw, Chance]]  # the number of classes -> a distribution


@record
class SamplerAttrs:
    """`num_true`: classes per example; `num_sampled`: draws from [0, `range_max`), without repetition if `unique`."""

    num_true: int = 1
    num_sampled: int = 1
    unique: bool = True
    range_max: int = 1
    seed: int = 0
    seed2: int = 0

    def __post_init__(self) -> None:
        if min(self.num_true, self.num_sampled, self.range_max) < 1:
            raise InvalidArgumentError(
                f"num_true {self.num_true}, num_sampled {self.num_sampled}, range_max {self.range_max}: "
                "each must be at least 1"
            )
        if self.unique and self.num_sampled > self.range_max:
            raise InvalidArgumentError(f"cannot draw {self.num_sampled} different classes from {self.range_max}")


@record
class FixedSamplerAttrs(SamplerAttrs):
    """In addition the weights of the classes: `unigrams`, or the last column of `vocab_file`; see the op."""

    vocab_file: str = ""
    distortion: float = 1.0
    num_reserved_ids: int = 0
    num_shards: int = 1
    shard: int = 0
    unigrams: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        SamplerAttrs.__post_init__(self)
        object.__setattr__(self, "unigrams", tuple(float(u) for u in self.unigrams))
        if bool(self.vocab_file) == bool(self.unigrams):
            raise InvalidArgumentError("give either vocab_file or unigrams")


@record
class HitAttrs:
    """`num_true`: the number of true classes per example."""

    num_true: int = 1
    seed: int = 0
    seed2: int = 0


def _log_uniform(n: int) -> tuple[Draw, Chance]:
    width = np.log1p(n)
    return (
        lambda u: np.minimum(np.expm1(u * width).astype(np.int64), n - 1),
        lambda k: _log_of_next(k) / width,
    )


def _log_of_next(k: np.ndarray) -> np.ndarray:
    """log((k + 2) / (k + 1)): infinite for -1, and not a number below, as for classes that a program does not mean."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.log(k + 2.0) - np.log(k + 1.0))


def _uniform(n: int) -> tuple[Draw, Chance]:
    return lambda u: (u * n).astype(np.int64), lambda k: np.full(k.shape, 1.0 / n)


def _fixed(call: HostCall) -> tuple[Draw, Chance]:
    a = call.attrs
    weights = a.unigrams or _weights_in(a.vocab_file)
    all_weights = np.concatenate([np.zeros(a.num_reserved_ids), np.asarray(weights, np.float64) ** a.distortion])
    shard_weights = np.where(np.arange(all_weights.size) % a.num_shards == a.shard, all_weights, 0.0)
    if shard_weights.size != a.range_max or shard_weights.sum() <= 0:
        raise InvalidArgumentError(
            f"{call.op.type}: {shard_weights.size} weights (of sum {shard_weights.sum()}) for range_max {a.range_max}",
            call.op,
        )
    ends = np.cumsum(shard_weights)

    def chance(k: np.ndarray) -> np.ndarray:
        there = (k >= 0) & (k < shard_weights.size)
        return np.asarray(np.where(there, shard_weights[np.where(there, k, 0)], 0.0) / ends[-1])

    return lambda u: np.searchsorted(ends, u * ends[-1], side="right"), chance


def _weights_in(file: str) -> list[float]:
    lines = Path(file).read_text(encoding="utf-8").splitlines()
    return [float(line.rpartition(",")[2]) for line in lines if line.strip()]


def _drawn(draw: Draw, key: np.ndarray, first: int, n: int) -> np.ndarray:
    """Draws first, first + 1, ... of a call."""
    return draw(_stream(key[0], key[1], key[2], first, n))


def _drawn_by_size(distribution: BySize, classes: int, key: np.ndarray, first: int, n: int) -> np.ndarray:
    if first or n > _MOST_TOGETHER:
        return _drawn(distribution(classes)[0], key, first, n)
    number = int(key[2])
    together = _calls_together(distribution, classes, int(key[0]), int(key[1]), number // _CALLS * _CALLS, n)
    return together[number % _CALLS]


@remembered("draws of candidate samplers", 16)
def _calls_together(distribution: BySize, classes: int, key0: int, key1: int, number: int, n: int) -> np.ndarray:
    """The first `n` draws of `_CALLS` calls from `number` on.

    For so few draws the calls of NumPy take longer than their work, so steps that follow each other share them.
    """
    numbers = number + np.arange(_CALLS, dtype=np.uint64)  # the number of a call has 32 bits
    return distribution(classes)[0](_stream(np.uint32(key0), np.uint32(key1), numbers.astype(np.uint32)[:, None], 0, n))


def _stream(key0: np.ndarray, key1: np.ndarray, number: np.ndarray, first: int, n: int) -> np.ndarray:
    """Numbers first, first + 1, ... of the random stream of a call, in [0, 1)."""
    words = philox_4x32(key0, key1, np.arange(first, first + n, dtype=np.uint32), number)
    return np.asarray(((words[0] >> 5) * 67108864.0 + (words[1] >> 6)) * 2.0**-53)


def _distinct(drawn: Callable[[int, int], np.ndarray], wanted: int) -> tuple[np.ndarray, int]:
    """The first `wanted` distinct classes of the draws, and the number of draws needed to obtain them."""
    candidates = drawn(0, 2 * wanted)
    while True:
        classes = candidates.tolist()
        different = list(dict.fromkeys(classes))  # in the order in which they are drawn first
        if len(different) >= wanted:
            return np.array(different[:wanted], np.int64), classes.index(different[wanted - 1]) + 1
        if candidates.size >= 1 << 28:
            raise InvalidArgumentError(f"fewer than {wanted} different classes have a chance to be drawn")
        candidates = np.concatenate([candidates, drawn(candidates.size, candidates.size)])


def _log_of_absence(p: np.ndarray) -> np.ndarray:
    """The logarithm of the probability that a draw is another class than one of the probability p."""
    with np.errstate(divide="ignore", invalid="ignore"):  # a class that all draws are is never absent
        return np.asarray(np.log1p(-p))


def _absence_of(chance: Chance) -> Chance:
    return lambda k: _log_of_absence(chance(k))


@remembered("probabilities of candidate samplers", 8)
def _logs_of_absence(distribution: BySize, n: int) -> np.ndarray:
    """That of each of `n` classes: a few logarithms take longer than to look them up."""
    return _log_of_absence(distribution(n)[1](np.arange(n)))


def sampler_kernel(distribution: Callable[[HostCall], tuple[Draw, Chance]]) -> Callable[..., Any]:
    """Returns the host kernel of a sampler.

    distribution: maps a call to (the function that draws classes, the function that returns their probabilities).
    """

    def kernel(call: HostCall, true_classes: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        draw, chance = distribution(call)
        key = call.rng()  # type: ignore[misc]
        return _sample(call, true_classes, partial(_drawn, draw, key), chance, _absence_of(chance))

    return kernel


def _kernel_by_size(distribution: BySize) -> Callable[..., Any]:
    """Returns the host kernel of a sampler whose distribution depends on the number of classes alone."""

    def kernel(call: HostCall, true_classes: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        n = call.attrs.range_max
        chance = distribution(n)[1]
        kept = n <= _MOST_KEPT and classes_exist(true_classes, n)
        absence = _logs_of_absence(distribution, n).__getitem__ if kept else _absence_of(chance)
        drawn = partial(_drawn_by_size, distribution, n, call.rng())  # type: ignore[misc]
        return _sample(call, true_classes, drawn, chance, absence)

    return kernel


def classes_exist(true_classes: np.ndarray, n: int) -> bool:
    """Whether all classes are in [0, n)."""
    numbers = true_classes.view(np.uint64)  # as unsigned numbers the negative ones are the largest of all
    return not numbers.size or bool(np.maximum.reduce(numbers, None) < n)


def _sample(
    call: HostCall,
    true_classes: np.ndarray,
    drawn: Callable[[int, int], np.ndarray],
    chance: Chance,
    log_of_absence: Chance,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns the outputs of a sampler. `drawn(first, n)` are draws of the call."""
    a = call.attrs
    n = true_classes.size
    if a.unique:
        sampled, tries = _distinct(drawn, a.num_sampled)
        count = -np.expm1(tries * log_of_absence(np.concatenate([true_classes.reshape(-1), sampled])))
    else:
        sampled = drawn(0, a.num_sampled).astype(np.int64)
        count = chance(np.concatenate([true_classes.reshape(-1), sampled])) * a.num_sampled
    expected_count = np.asarray(count, np.float32)
    return sampled, expected_count[:n].reshape(true_classes.shape), expected_count[n:]


def infer_sampler(c: Infer) -> tuple[Shape, ...]:
    """Returns the static output shapes of a sampler. Raises `ShapeError` when num_true does not match true_classes."""
    a = c.attrs
    classes = with_rank(c, 0, 2).as_list()
    if classes[1] not in (None, a.num_true):
        raise ShapeError(f"{c.op_name}: true_classes has shape {c.shapes[0]}, num_true is {a.num_true}")
    return Shape((a.num_sampled,)), Shape((classes[0], a.num_true)), Shape((a.num_sampled,))


SAMPLER_DOC = """

true_classes: int64, shape (batch, num_true). sampled_candidates: int64, shape (num_sampled,).
true_expected_count: float32, shape (batch, num_true); sampled_expected_count: float32, shape (num_sampled,):
the expected count of each class among the samples; with `unique`, the probability that it is among them.
A class outside [0, range_max) has the count that the formula of the probabilities gives.
Errors: more distinct classes are requested than exist."""


def _sampler(
    name: str, kernel: Callable[..., Any], doc: str, attrs: type = SamplerAttrs
) -> OpDef[tuple[Tensor, Tensor, Tensor]]:
    return OpDef(
        name,
        "true_classes: int64",
        "sampled_candidates: int64, true_expected_count: float32, sampled_expected_count: float32",
        doc + SAMPLER_DOC,
        attrs=attrs,
        infer=infer_sampler,
        host=kernel,
        grad=NOT_DIFFERENTIABLE,
        stateful=True,
    )


LOG_UNIFORM_CANDIDATE_SAMPLER = _sampler(
    "LogUniformCandidateSampler",
    _kernel_by_size(_log_uniform),
    "Draws class k with probability log((k + 2) / (k + 1)) / log(range_max + 1): for classes sorted by frequency.",
)
UNIFORM_CANDIDATE_SAMPLER = _sampler(
    "UniformCandidateSampler", _kernel_by_size(_uniform), "Draws all classes with equal probability."
)
FIXED_UNIGRAM_CANDIDATE_SAMPLER = _sampler(
    "FixedUnigramCandidateSampler",
    sampler_kernel(_fixed),
    "Draws classes in proportion to given weights, each to the power `distortion`.\n\n"
    "The first num_reserved_ids classes have no weight and are not in the list. With `num_shards` > 1, only classes k"
    " with k % num_shards == shard are drawn.",
    FixedSamplerAttrs,
)


def _hits(call: HostCall, true_classes: np.ndarray, sampled: np.ndarray) -> tuple[np.ndarray, ...]:
    order = np.argsort(sampled, kind="stable")  # of equal classes, the one sampled last comes last
    flat = true_classes.reshape(-1)
    nearest = np.searchsorted(sampled, flat, side="right", sorter=order) - 1
    if sampled.size:
        hits = np.flatnonzero((sampled[order][nearest] == flat) & (nearest >= 0))
    else:
        hits = np.zeros(0, np.int64)
    example, place = hits // max(1, true_classes.shape[1]), order[nearest[hits]]
    lowest = np.full(example.shape, np.finfo(np.float32).min, np.float32)
    return example.astype(np.int32), place.astype(np.int64), lowest


def _infer_hits(c: Infer) -> tuple[Shape, ...]:
    if with_rank(c, 0, 2).as_list()[1] not in (None, c.attrs.num_true):
        raise ShapeError(f"{c.op_name}: true_classes has shape {c.shapes[0]}, num_true is {c.attrs.num_true}")
    with_rank(c, 1, 1)
    return (Shape((None,)),) * 3


COMPUTE_ACCIDENTAL_HITS: OpDef[tuple[Tensor, Tensor, Tensor]] = OpDef(
    "ComputeAccidentalHits",
    "true_classes: int64, sampled_candidates: int64",
    "indices: int32, ids: int64, weights: float32",
    """Finds sampled classes that are true classes of an example.

    true_classes: shape (batch, num_true). sampled_candidates: shape (num_sampled,). indices, ids: the example, and the
    position in sampled_candidates (the last one if a class was sampled more than once), of each hit. weights: the
    lowest float32, to be added to the hit's logit. Runs on the host.""",
    attrs=HitAttrs,
    infer=_infer_hits,
    host=_hits,
    grad=NOT_DIFFERENTIABLE,
    dynamic=True,
)


def sampler_function(op: OpDef, name: str) -> Callable[..., Any]:
    """Makes the public function of a sampler with the attributes of `SamplerAttrs`."""

    def call(
        true_classes: Tensor,
        num_true: int,
        num_sampled: int,
        unique: bool,
        range_max: int,
        seed: int | None = None,
        name: str | None = None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        graph = graph_of((true_classes,))
        return op(
            graph.to_tensor(true_classes, int64),
            num_true=int(num_true),
            num_sampled=int(num_sampled),
            unique=bool(unique),
            range_max=int(range_max),
            name=name,
            **seeds_for(graph, seed),
        )

    call.__name__ = call.__qualname__ = name
    call.__doc__ = op.doc
    return call


def fixed_unigram_candidate_sampler(
    true_classes: TensorLike,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    vocab_file: str = "",
    distortion: float = 1.0,
    num_reserved_ids: int = 0,
    num_shards: int = 1,
    shard: int = 0,
    unigrams: Sequence[float] = (),
    seed: int | None = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Draws classes in proportion to `unigrams` or to the last column of the CSV file `vocab_file`.

    See the op FixedUnigramCandidateSampler. Raises `InvalidArgumentError` unless exactly one of the two is given.
    """
    graph = graph_of((true_classes,))
    return FIXED_UNIGRAM_CANDIDATE_SAMPLER(
        graph.to_tensor(true_classes, int64),
        num_true=int(num_true),
        num_sampled=int(num_sampled),
        unique=bool(unique),
        range_max=int(range_max),
        vocab_file=vocab_file,
        distortion=float(distortion),
        num_reserved_ids=int(num_reserved_ids),
        num_shards=int(num_shards),
        shard=int(shard),
        unigrams=tuple(unigrams),
        name=name,
        **seeds_for(graph, seed),
    )


def compute_accidental_hits(
    true_classes: TensorLike,
    sampled_candidates: TensorLike,
    num_true: int,
    seed: int | None = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Finds sampled classes that are true classes of an example, and returns [indices, ids, weights], three vectors.

    true_classes: int64 (batch, num_true). sampled_candidates: an int64 vector. A hit means that the sample at position
    `ids[i]` is a true class of example `indices[i]`; `weights[i]` is the lowest float32. See the op
    ComputeAccidentalHits; `seed` has no effect.
    """
    return COMPUTE_ACCIDENTAL_HITS(true_classes, sampled_candidates, num_true=num_true, name=name)


OPS: tuple[OpDef, ...] = (
    LOG_UNIFORM_CANDIDATE_SAMPLER,
    UNIFORM_CANDIDATE_SAMPLER,
    FIXED_UNIGRAM_CANDIDATE_SAMPLER,
    COMPUTE_ACCIDENTAL_HITS,
)
API: dict[str, Any] = {
    "nn.log_uniform_candidate_sampler": sampler_function(
        LOG_UNIFORM_CANDIDATE_SAMPLER, "log_uniform_candidate_sampler"
    ),
    "nn.uniform_candidate_sampler": sampler_function(UNIFORM_CANDIDATE_SAMPLER, "uniform_candidate_sampler"),
    "nn.fixed_unigram_candidate_sampler": fixed_unigram_candidate_sampler,
    "nn.compute_accidental_hits": compute_accidental_hits,
}
