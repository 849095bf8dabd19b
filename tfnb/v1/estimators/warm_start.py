"""Models that begin with the values of another model's checkpoint, also where its vocabulary was another one.

Invariant: warm starting changes initial values only; a checkpoint of the model itself has precedence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tfnb.client.graph.collection_keys import GraphKeys
from tfnb.client.graph.default_graph import get_collection
from tfnb.client.platform.gfile import GFile
from tfnb.client.variables.variable import Variable
from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ops.array.constants import constant, zeros
from tfnb.ops.array.where_partition import where
from tfnb.train.saving.checkpoint_reader import init_from_checkpoint, load_variable

__all__ = ["VocabInfo", "WarmStartSettings", "warm_start"]


class VocabInfo(NamedTuple):
    """The vocabularies of a variable now and in the checkpoint, files with one word on each line.

    new_vocab_size, old_vocab_size: how many lines count; -1 for all of the old. num_oov_buckets: how many rows follow
    the words. backup_initializer: gives the rows of new words, by default zeros. axis: 0 when words are rows, 1 when
    they are columns.
    """

    new_vocab: str
    new_vocab_size: int
    num_oov_buckets: int
    old_vocab: str
    old_vocab_size: int = -1
    backup_initializer: Callable[..., Any] | None = None
    axis: int = 0


class WarmStartSettings(NamedTuple):
    """Where a model begins.

    ckpt_to_initialize_from: a checkpoint, or a folder of them. vars_to_warm_start: a regular expression for the names
    of variables that are trained, a list of expressions for those of all variables, or None for those with a vocabulary
    only. var_name_to_vocab_info: a dict of a variable's name to a `VocabInfo`. var_name_to_prev_var_name: a dict of
    names to those in the checkpoint.
    """

    ckpt_to_initialize_from: str
    vars_to_warm_start: Any = ".*"
    var_name_to_vocab_info: Mapping[str, VocabInfo] | None = None
    var_name_to_prev_var_name: Mapping[str, str] | None = None


def warm_start(
    ckpt_to_initialize_from: str,
    vars_to_warm_start: str | Sequence[Any] | None = ".*",
    var_name_to_vocab_info: Mapping[str, VocabInfo] | None = None,
    var_name_to_prev_var_name: Mapping[str, str] | None = None,
) -> None:
    """Makes values of a checkpoint the initial values of the graph's variables; see `WarmStartSettings`.

    Raises `InvalidArgumentError` for names that no variable has, `NotFoundError` for those that the checkpoint lacks,
    and `ShapeError` when shapes differ.
    """
    vocabularies, earlier = dict(var_name_to_vocab_info or {}), dict(var_name_to_prev_var_name or {})
    chosen = _chosen(vars_to_warm_start)
    named = {v.op.name: v for v in get_collection(GraphKeys.GLOBAL_VARIABLES)}
    unknown = [n for n in (*vocabularies, *earlier) if n not in named]
    if unknown:
        raise InvalidArgumentError(f"warm_start: no variables are called {unknown}")
    for name in {**dict.fromkeys(v.op.name for v in chosen), **dict.fromkeys(vocabularies)}:
        stored = earlier.get(name, name)
        if name in vocabularies:
            _begin_with_words(ckpt_to_initialize_from, stored, named[name], vocabularies[name])
        else:
            init_from_checkpoint(ckpt_to_initialize_from, {stored: named[name]})


def _chosen(wanted: str | Sequence[Any] | None) -> list[Any]:
    if wanted is None:
        return []
    if isinstance(wanted, str):
        return get_collection(GraphKeys.TRAINABLE_VARIABLES, scope=wanted)
    variables = [w for w in wanted if not isinstance(w, str)]
    for pattern in (w for w in wanted if isinstance(w, str)):
        variables += get_collection(GraphKeys.GLOBAL_VARIABLES, scope=pattern)
    return list(dict.fromkeys(variables))


def _words(path: str, count: int) -> list[bytes]:
    with GFile(path, "rb") as file:
        lines = [line.rstrip(b"\r\n") for line in file.read().splitlines()]
    return lines if count < 0 else lines[:count]


def _begin_with_words(checkpoint: str, stored: str, variable: Variable, info: VocabInfo) -> None:
    """Gives each word's row, or column, its value in the checkpoint."""
    old = load_variable(checkpoint, stored)
    places = {word: i for i, word in enumerate(_words(info.old_vocab, info.old_vocab_size))}
    words = _words(info.new_vocab, info.new_vocab_size)
    shape = variable.shape.as_list()
    size = len(words) + info.num_oov_buckets
    if shape[info.axis] != size:
        raise ShapeError(
            f"warm_start: {variable.op.name} has the shape {shape}; the vocabulary needs {size} at axis {info.axis}"
        )
    rows = np.array([places.get(word, -1) for word in words] + [-1] * info.num_oov_buckets)
    taken = np.take(old, np.maximum(rows, 0), info.axis)
    known = (rows >= 0).reshape([-1 if i == info.axis else 1 for i in range(old.ndim)])
    if list(taken.shape) != shape:
        raise ShapeError(
            f"warm_start: {variable.op.name} has the shape {shape}, the checkpoint gives {list(taken.shape)}"
        )
    with variable.graph.as_default():
        new = (
            zeros(shape, variable.dtype)
            if info.backup_initializer is None
            else info.backup_initializer(shape, dtype=variable.dtype)
        )
        variable.begin_with(where(constant(np.broadcast_to(known, taken.shape).copy()), constant(taken), new))
