"""Exercises of 15_old_programs: the era of a text, a function in the names of 1.x, names in a checkpoint."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from types import CodeType, ModuleType

import numpy as np

from tfnb.ir.scopes import Names
from tfnb.lessons.case import Case, Finding, Kind
from tfnb.lessons.graph_function import GraphFunction
from tfnb.lessons.plain_function import PlainFunction

__all__ = ["EXERCISES"]


def _programs(last: dict[str, str]) -> dict[str, str]:
    """Returns the era of each text, of the lines that need one."""
    return {f"import tensorflow as tf\n\n{lines}\n": era for era, lines in last.items()}


# Lines that run in an era, but in none after it.
_LAST = _programs(
    {
        "0.12": "start = tf.Variable(tf.zeros_initializer([3]))",
        "0.6": "cell = tf.nn.rnn_cell.BasicLSTMCell(4)\nstate = tf.zeros([2, cell.state_size])",
        "1.15": "parts = tf.unpack(tf.pack([tf.mul(2.0, 3.0), tf.neg(1.0)]))",
        "1.5": "image = tf.placeholder(tf.uint8, [4, 4, 3])\n"
        "lighter = tf.image.adjust_gamma(image, 0.5) + tf.constant(0.5)",
    }
)
_HIDDEN = _programs(
    {
        "0.6": "cell = tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.GRUCell(8)] * 2)\n"
        "output, state = cell(tf.zeros([2, 8]), tf.zeros([2, 16]))",
        "0.12": "cell = tf.nn.rnn_cell.GRUCell(8, 8)\noutput, state = cell(tf.zeros([2, 8]), tf.zeros([2, 8]))",
    }
)


def _take_modules() -> dict[str, ModuleType]:
    """Removes the modules of TensorFlow from those that are imported, and returns them."""
    names = [name for name in sys.modules if name.partition(".")[0] == "tensorflow"]
    return {name: sys.modules.pop(name) for name in names}


@dataclass(frozen=True)
class _LeavesNothing:
    """A test as `test` that does not allow a function to leave nodes or modules; what it leaves is taken away."""

    test: PlainFunction

    def __call__(self, answer: object) -> Finding:
        finders, modules, case_matters = sys.meta_path[:], _take_modules(), Names.case_matters
        try:
            found = self.test(answer)
        finally:
            left = _take_modules()
            sys.meta_path[:], Names.case_matters = finders, case_matters
            sys.modules.update(modules)
        if found.kind is Kind.FORBIDDEN:
            return Finding(Kind.FORBIDDEN, "the nodes of the programs stay in the graph of whoever calls the function")
        if found.kind is Kind.RIGHT and left:
            return Finding(Kind.FORBIDDEN, "afterwards `import tensorflow` means another module than before")
        return found


def _era_of(text: str) -> str:
    return {**_LAST, **_HIDDEN}[text]


_ERA = (
    "Look at `meaning` above: what does it do before an expression, and what in any case after it?",
    "Begin with the last era. Each try needs a graph of its own, and an era that is taken back however it ends.",
    "A loop over the four names: tf.install; within try, and within `with` a new tf.Graph, exec and return; except "
    "Exception goes on; finally calls tf.uninstall.",
)


def _weighted(scores: np.ndarray, marks: np.ndarray) -> np.ndarray:
    return np.logaddexp(0, scores) * (1 - marks) + 4 * np.logaddexp(0, -scores) * marks


def _losses(scores: np.ndarray, marks: np.ndarray) -> np.ndarray:
    a, b = np.split(scores.astype(np.float64), 2, axis=1)
    return np.stack([_weighted(part, marks) for part in (a, b, (a + b) / 2)]).astype(np.float32)


def _scores(n: int, k: int, seed: int) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 2 * k)).astype(np.float32), rng.integers(0, 2, (n, k)).astype(np.float32)


_NAMES_OF_0 = {"batch_matmul", "mul", "neg", "pack", "select", "sub", "unpack"}


def _names(code: CodeType) -> set[str]:
    """Returns the names of globals and attributes that a function uses, also in the functions within it."""
    inner = [_names(constant) for constant in code.co_consts if isinstance(constant, CodeType)]
    return set(code.co_names).union(*inner)


@dataclass(frozen=True)
class _Ported:
    """A test as `test` that does not allow names which 1.0 has taken away; orders of arguments it cannot see."""

    test: GraphFunction

    def __call__(self, answer: object) -> Finding:
        found = self.test(answer)
        code = getattr(answer, "__code__", None)
        old = sorted(_NAMES_OF_0 & _names(code)) if isinstance(code, CodeType) else []
        if found.kind is Kind.RIGHT and old:
            return Finding(
                Kind.FORBIDDEN, f"{', '.join(f'tf.{name}' for name in old)} belong{'s' * (len(old) == 1)} to 0.x"
            )
        return found


_PORT = (
    "Look at the table of eras: one line of this function means something else in 1.x, and no error says so.",
    "Two names are gone in 1.x, and tf.split takes the value first; but the loss has changed what its first two "
    "arguments are.",
    "Give the arguments of the loss by keyword: the marks are its targets, and a part of the scores is its logits.",
)


def _renamed(name: str) -> str:
    if "RNN/" not in name:
        return name
    name = re.sub(r"Linear/(Matrix|Bias)$", lambda found: {"Matrix": "kernel", "Bias": "bias"}[found[1]], name)
    for then, now in _PARTS.items():
        name = name.replace(then, now)
    return name


_PARTS = {
    "MultiRNNCell/": "multi_rnn_cell/",
    "RNN/": "rnn/",
    "/Cell": "/cell_",
    "BasicLSTMCell/": "basic_lstm_cell/",
    "GRUCell/": "gru_cell/",
    "Gates/": "gates/",
    "Candidate/": "candidate/",
}
_VARIABLES = (
    "net/RNN/BasicLSTMCell/Linear/Matrix",
    "RNN/BasicLSTMCell/Linear/Bias",
    "RNN/GRUCell/Gates/Linear/Matrix",
    "Reader/RNN/GRUCell/Candidate/Linear/Bias",
    "RNN/MultiRNNCell/Cell0/BasicLSTMCell/Linear/Matrix",
    "RNN/MultiRNNCell/Cell1/GRUCell/Gates/Linear/Bias",
    "net/w",
    "Softmax/Matrix",
)
_OTHERS = ("Decoder/RNN/MultiRNNCell/Cell2/BasicLSTMCell/Linear/Bias", "RNN/GRUCell/Candidate/Linear/Matrix", "Cells/v")
_RENAME = (
    "Look at the names above, part by part between the slashes: which parts changed, and how are theirs written now?",
    "A part of a cell is written with small letters and underscores now, a number too; `Linear` is gone, and the last "
    "part says what the variable is for. The scopes around the cell stay, capitals included.",
    "Leave a name without `RNN` as it is; else replace each of the known parts, the longer ones before those that they "
    "contain, and the last two parts together.",
)

EXERCISES: tuple[tuple[str, tuple[Case, ...]], ...] = (
    (
        "which era?",
        (
            Case(
                "four programs",
                _LeavesNothing(PlainFunction([(text,) for text in _LAST], _era_of)),
                _ERA,
                points=2,
                success_message="A program that runs need not mean what it says: that an error decides is good luck.",
            ),
            Case(
                "two others", _LeavesNothing(PlainFunction([(text,) for text in _HIDDEN], _era_of)), _ERA, hidden=True
            ),
        ),
    ),
    (
        "what the paper computed",
        (
            Case(
                "losses of two batches",
                _Ported(GraphFunction([_scores(3, 2, 1), _scores(5, 2, 2)], _losses)),
                _PORT,
                points=2,
                success_message="With keywords, the line means the same in every era.",
            ),
            Case("other sizes", _Ported(GraphFunction([_scores(4, 3, 3)], _losses)), _PORT, hidden=True),
        ),
    ),
    (
        "names in a checkpoint",
        (
            Case(
                "eight variables",
                PlainFunction([(name,) for name in _VARIABLES], _renamed),
                _RENAME,
                points=2,
                success_message="A dictionary of such names and of the port's variables is what tf.train.Saver takes.",
            ),
            Case("others", PlainFunction([(name,) for name in _OTHERS], _renamed), _RENAME, hidden=True),
        ),
    ),
)
