"""`tf.data.Options`: what a program allows and advises for the computation of a data set.

All of them are about speed, or allow another order of the elements. The elements and their order are the same with and
without them (docs/hints.md). Invariant: an object has the options of TensorFlow 1.15 and no others, each None or of its
type.
"""

from __future__ import annotations

from typing import Any, ClassVar, TypeVar

from tfnb.errors import DTypeError, InvalidArgumentError

__all__ = [
    "DistributeOptions",
    "MapVectorizationOptions",
    "OptimizationOptions",
    "Options",
    "ThreadingOptions",
]


class UnknownOptionError(InvalidArgumentError, AttributeError):
    """There is no option of this name."""


P = TypeVar("P", bound="_Options")


class _Options:
    """Values by name, of which each must have its type."""

    kinds: ClassVar[dict[str, type]] = {}  # name -> type
    defaults: ClassVar[dict[str, Any]] = {}  # name -> value, where it isn't None

    def __init__(self) -> None:
        for name, kind in self.kinds.items():
            self.__dict__[name] = kind() if issubclass(kind, _Options) else self.defaults.get(name)

    def __setattr__(self, name: str, value: object) -> None:
        if name not in self.kinds:
            raise UnknownOptionError(f"Cannot set the property {name} on {type(self).__name__}.")
        if not isinstance(value, self.kinds[name]):
            raise DTypeError(
                f'Property "{name}" must be of type {self.kinds[name]}, got: {value!r} (type: {type(value)})'
            )
        self.__dict__[name] = value

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        given = [f"{name}={value!r}" for name, value in vars(self).items() if value is not None]
        return f"{type(self).__name__}({', '.join(given)})"

    def _merged(self: P, other: P) -> P:
        merged = type(self)()
        for name in self.kinds:
            ours, theirs = getattr(self, name), getattr(other, name)
            value: object
            if isinstance(ours, _Options):
                value = ours._merged(theirs)
            elif ours in (None, self.defaults.get(name)) or ours == theirs:
                value = theirs
            elif theirs in (None, self.defaults.get(name)):
                value = ours
            else:
                raise InvalidArgumentError(f"Cannot merge incompatible values ({ours} and {theirs}) of option: {name}")
            merged.__dict__[name] = value
        return merged


class DistributeOptions(_Options):
    """How a data set is divided over replicas: `auto_shard`, by default True, and `num_devices`.

    A strategy's data sets are divided by `Dataset.shard` here, so neither has an effect.
    """

    kinds: ClassVar[dict[str, type]] = {"auto_shard": bool, "num_devices": int}
    defaults: ClassVar[dict[str, Any]] = {"auto_shard": True}


class MapVectorizationOptions(_Options):
    """Whether functions of `map` are computed for whole batches: `enabled` and `use_choose_fastest`."""

    kinds: ClassVar[dict[str, type]] = {"enabled": bool, "use_choose_fastest": bool}


class OptimizationOptions(_Options):
    """Which rewrites of TensorFlow's input pipelines are allowed; the elements are the same with each of them."""

    kinds: ClassVar[dict[str, type]] = {
        "apply_default_optimizations": bool,
        "autotune": bool,
        "autotune_algorithm": int,
        "autotune_buffers": bool,
        "autotune_cpu_budget": int,
        "filter_fusion": bool,
        "filter_with_random_uniform_fusion": bool,
        "hoist_random_uniform": bool,
        "map_and_batch_fusion": bool,
        "map_and_filter_fusion": bool,
        "map_fusion": bool,
        "map_parallelization": bool,
        "map_vectorization": MapVectorizationOptions,
        "noop_elimination": bool,
        "parallel_batch": bool,
        "shuffle_and_repeat_fusion": bool,
    }


class ThreadingOptions(_Options):
    """How many threads compute a data set: `max_intra_op_parallelism` and `private_threadpool_size`."""

    kinds: ClassVar[dict[str, type]] = {"max_intra_op_parallelism": int, "private_threadpool_size": int}


class Options(_Options):
    """What `tf.data.Dataset.with_options` takes.

    experimental_deterministic: False allows another order of the elements. experimental_distribute,
    experimental_optimization, experimental_threading: objects of their classes. experimental_slack: whether the
    accelerator's idle time is used. experimental_stateful_whitelist: kinds of operations that may be in functions.
    Raises `UnknownOptionError`, which is an AttributeError, for another name, and `DTypeError` for another type.
    """

    kinds: ClassVar[dict[str, type]] = {
        "experimental_deterministic": bool,
        "experimental_distribute": DistributeOptions,
        "experimental_optimization": OptimizationOptions,
        "experimental_slack": bool,
        "experimental_stateful_whitelist": list,
        "experimental_threading": ThreadingOptions,
    }

    def merge(self, options: Options) -> Options:
        """Returns the options of both. Raises `InvalidArgumentError` where two that were set differ."""
        return self._merged(options)
