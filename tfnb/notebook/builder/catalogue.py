"""The palette: every public function that adds to a graph, found by name, by alias and by what it means.

Invariant: a function stands in it once, under its usual name; its other names, and the op's own name, find it too.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from tfnb import ops as all_ops
from tfnb.caches import remembered
from tfnb.client.api import API as CLIENT
from tfnb.client.namespace import Lazy
from tfnb.notebook.builder.building import library
from tfnb.notebook.builder.safety import may_call
from tfnb.notebook.builder.signatures import opdef_of
from tfnb.notebook.protocol.builder import PaletteEntry
from tfnb.ops.catalog import families_of, later_families_of
from tfnb.train.api import API as TRAIN

__all__ = ["Entry", "entries", "entry_of", "search", "shown"]

# The places of a function from the usual to the unusual one; names elsewhere only help to find it.
_PLACES = (
    *("", "nn", "layers", "losses", "train", "math", "linalg", "image", "strings", "sparse", "random", "metrics"),
    *("nn.rnn_cell", "summary", "signal", "spectral", "sets", "bitwise", "manip", "io", "debugging", "quantization"),
    *("initializers", "data", "distributions", "contrib.layers", "contrib.rnn", "contrib.legacy_seq2seq", "raw_ops"),
)
# What people start with and use most; these come first where nothing else decides.
_USUAL = (
    "placeholder layers.dense layers.conv2d layers.max_pooling2d layers.flatten nn.relu matmul add reshape Variable "
    "reduce_mean nn.softmax nn.dropout losses.softmax_cross_entropy losses.sparse_softmax_cross_entropy "
    "nn.sparse_softmax_cross_entropy_with_logits nn.softmax_cross_entropy_with_logits train.AdamOptimizer "
    "train.GradientDescentOptimizer constant multiply subtract reduce_sum argmax equal cast concat transpose tanh "
    "sigmoid layers.batch_normalization get_variable one_hot expand_dims square exp log sqrt stack split squeeze "
    "gather gradients identity zeros ones random_normal nn.conv2d nn.max_pool nn.bias_add add_n divide maximum minimum"
).split()
# Words that mean about the same; each line is one meaning.
_MEANINGS = """
multiply product times mul
matrix matrices matmul
add sum plus total
subtract minus difference
divide quotient ratio
average mean
dense linear fully connected layer perceptron
convolution conv filter
concatenate concat join append together
stack pack
split divide unstack cut pieces
pick gather select choose take lookup
flatten reshape
random noise sample
loss cost error objective
minimize train optimizer optimise optimize sgd descent learning
variable weight weights parameter parameters
placeholder input feed
normalize normalization norm standardize
convert cast type dtype
maximum max largest biggest greatest
minimum min smallest least
power pow exponent
root sqrt
absolute abs magnitude
drop dropout
pool pooling downsample
recurrent rnn lstm gru
probability softmax
index position
compare equal same
turn transpose swap
constant fixed literal
gradient derivative backprop
count number
repeat tile copy
zero zeros
one ones
image picture
text string
"""


_SCOPES = frozenset(
    "variable_scope name_scope device colocate_with container op_scope variable_op_scope get_variable_scope "
    "control_dependencies arg_scope get_default_graph get_collection get_collection_ref add_to_collection "
    "set_random_seed add_to_collections get_seed VariableScope Graph Operation Tensor "
    "TensorShape Dimension DType as_dtype".split()
)


@dataclass(frozen=True)
class Entry:
    """One function of the palette. `words` are those of its names and of its description."""

    call: str
    title: str
    doc: str
    group: str
    function: Callable[..., Any]
    key: str
    path: str
    aliases: frozenset[str]
    names: frozenset[str]
    words: frozenset[str]
    text: str
    rank: int


@cache
def entries() -> tuple[Entry, ...]:
    """Returns all functions of the palette, the usual ones first."""
    names: dict[object, list[str]] = {}
    functions: dict[object, Callable[..., Any]] = {}
    for name, value in {**all_ops.API, **CLIENT, **TRAIN}.items():
        function = value.load() if isinstance(value, Lazy) and name.startswith("raw_ops.") else value
        if isinstance(function, Lazy):
            function = _looked_up(name)
        if not _is_builder(function) or name.rpartition(".")[2] in _SCOPES:
            continue
        # The public names of an op each have a function; in the palette they are one entry.
        opdef = None if name.startswith("raw_ops.") else opdef_of(function)
        key = id(function) if opdef is None else opdef.name
        names.setdefault(key, []).append(name)
        if key not in functions or name in _USUAL:
            functions[key] = function
    found_entries = [_entry(functions[k], sorted(names[k], key=_order)) for k in names]
    return tuple(sorted((e for e in found_entries if e is not None), key=lambda e: (e.rank, len(e.call), e.call)))


@cache
def _by_call() -> dict[str, Entry]:
    return {e.call: e for e in entries()}


def entry_of(call: str) -> Entry | None:
    """Returns the entry of a call such as "tf.matmul", or None."""
    return _by_call().get(call)


def _looked_up(name: str) -> Any:
    value: Any = library()
    for part in name.split("."):
        value = getattr(value, part, None)
    return value


def _is_builder(function: object) -> bool:
    if not callable(function) or not (inspect.isfunction(function) or inspect.isclass(function)):
        return False
    return may_call(function) and (function.__module__ or "").startswith(("tfnb.ops", "tfnb.client", "tfnb.train"))


def _order(name: str) -> tuple[int, int, str]:
    place = name.rpartition(".")[0]
    return _PLACES.index(place) if place in _PLACES else 99, len(name), name


def _entry(function: Callable[..., Any], names: list[str]) -> Entry | None:
    own = getattr(function, "__name__", "")
    name = min(names, key=lambda n: (_order(n)[0], n.rpartition(".")[2] != own, _order(n)))
    place, _, title = name.rpartition(".")
    if place not in _PLACES:
        return None
    doc = first_sentence(inspect.getdoc(function) or "")
    module = function.__module__.split(".")
    group = place or _folders().get(getattr(opdef_of(function), "name", ""), module[2] if len(module) > 2 else "")
    title_words = {w for n in names for w in _words(n.rpartition(".")[2])}
    name_stems = frozenset(map(_stem, title_words))
    doc_stems = frozenset(map(_stem, _words(doc))) | frozenset(map(_stem, _words(place)))
    rank = _USUAL.index(name) if name in _USUAL else 200 + 100 * _order(name)[0]
    return Entry(
        f"tf.{name}",
        title,
        doc,
        group,
        function,
        _key(title),
        _key(name),
        frozenset(_key(n.rpartition(".")[2]) for n in names if n != name) | _short_key(title),
        name_stems,
        doc_stems,
        f" {' '.join(sorted(name_stems))} | {' '.join(sorted(doc_stems))}",
        rank,
    )


@cache
def _folders() -> dict[str, str]:
    """The folder of each op."""
    families = ((f, (*families_of(f), *later_families_of(f))) for f in all_ops.FOLDERS)
    folders = ((f.__name__.rpartition(".")[2], family) for f, found in families for family in found)
    return {op.name: folder for folder, family in folders for op in family.OPS}


def first_sentence(doc: str) -> str:
    """Returns the first sentence of a docstring."""
    m = re.match(r"(.+?[.:;])(?:\s|$)", re.sub(r"\s+", " ", doc.split("\n\n")[0]).strip() + " ")
    return m.group(1)[:300] if m else doc[:300]


def _key(text: str) -> str:
    return re.sub(r"[\W_]+", "", text).lower()


def _short_key(title: str) -> frozenset[str]:
    """What a reduction is called in NumPy: `mean` for `reduce_mean`."""
    return frozenset((_key(title.removeprefix("reduce_")),)) if title.startswith("reduce_") else frozenset()


def _words(text: str) -> list[str]:
    parts = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", text)
    return [w.lower() for w in re.findall(r"[A-Za-z]+|\d+", parts)]


@remembered("stems of words", 20_000)
def _stem(word: str) -> str:
    """A word without its ending, so that "matrices" finds "matrix"."""
    word = word.lower()
    for ending, instead in (
        ("ices", "ix"),
        ("ies", "y"),
        ("ations", "at"),
        ("ation", "at"),
        ("izes", "iz"),
        ("ize", "iz"),
    ):
        if word.endswith(ending) and len(word) > len(ending) + 2:
            return word[: -len(ending)] + instead
    for ending in ("ing", "es", "ed", "e", "s"):
        if word.endswith(ending) and len(word) > len(ending) + 2 and not word.endswith("ss"):
            return word[: -len(ending)]
    return word


@cache
def _meanings() -> dict[str, frozenset[str]]:
    meanings: dict[str, frozenset[str]] = {}
    for line in _MEANINGS.strip().splitlines():
        group = frozenset(map(_stem, line.split()))
        for word in group:
            meanings[word] = meanings.get(word, frozenset()) | group
    return meanings


def search(query: str) -> list[Entry]:
    """Returns the entries that fit a query, the best first; all of them for an empty query."""
    key = _key(query.removeprefix("tf."))
    if not key:
        return list(entries())
    short = _key(query.rpartition(".")[2])
    stems = [_stem(w) for w in _words(query)]
    alike = [_meanings().get(s, frozenset((s,))) for s in stems]
    scored = []
    for e in entries():
        score = _score(e, key, short, stems, alike)
        if score:
            score += 1 if e.title == query else 20 if e.rank < 200 and score < 80 else 0
            scored.append((-score, e.rank, len(e.title), e.call, e))
    scored.sort(key=lambda s: s[:4])
    return [s[4] for s in scored]


def _score(e: Entry, key: str, short: str, stems: Sequence[str], alike: Sequence[frozenset[str]]) -> float:
    if e.key == key or e.path == key or (e.key == short and e.key != key and key.endswith(short)):
        if e.group == "raw_ops":
            return 98
        if e.group == "metrics":  # the mean that people look for is tf.reduce_mean
            return 97
        return 96 if e.group.startswith("contrib") or (e.group == "layers" and e.title[0].isupper()) else 100
    if key in e.aliases:
        return 99 if e.rank < 200 else 95
    if e.key.startswith(key):
        behind = 15 if e.group == "raw_ops" else 25 if e.group.startswith("contrib") else 0
        return 80 - min(len(e.key) - len(key), 20) * 0.5 - behind
    if e.aliases and any(a.startswith(key) for a in e.aliases):
        return 60
    raw = (e.group == "raw_ops") * 12
    if stems and _is_covered(e, stems, alike):
        names, _, words = e.text.partition("|")
        name_hits = sum(f" {s}" in names for s in stems)
        doc_hits = sum(f" {s}" in words for s in stems)
        like_hits = sum(bool(a & e.names) for a in alike) + 0.5 * sum(bool(a & e.words) for a in alike)
        return 30 + (12 * name_hits + 4 * doc_hits + 10 * like_hits) / len(stems) - raw - 0.3 * len(e.names)
    if key in e.key and len(key) > 1:
        return 30 - raw
    return 10 - raw / 6 if _is_subsequence(key, e.key) and len(key) > 2 else 0


def _is_covered(e: Entry, stems: Sequence[str], alike: Sequence[frozenset[str]]) -> bool:
    """Has each word of a query, or one that means the same, a word of the entry?"""
    for stem, group in zip(stems, alike, strict=True):
        if f" {stem}" not in e.text and group.isdisjoint(e.names) and group.isdisjoint(e.words):
            return False
    return True


def _is_subsequence(key: str, name: str) -> bool:
    if not name.startswith(key[:1]):
        return False
    letters = iter(name)
    return all(c in letters for c in key)


def shown(entry: Entry, port: str = "", parameters: Mapping[str, str] | None = None) -> PaletteEntry:
    """Returns an entry as it is sent, with the parameters that the new call is given."""
    return {
        "call": entry.call,
        "title": entry.title,
        "doc": entry.doc,
        "group": entry.group,
        "port": port,
        "parameters": dict(parameters or {}),
    }
