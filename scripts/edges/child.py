"""Computes functions on blocks of numbers inside a process of its own: tfnb, a real TensorFlow, PyTorch or NumPy.

    PYTHON child.py tfnb|tensorflow|torch|numpy FILE

A request is a line of JSON: function, dtype, number of elements, where in FILE the operands lie and where the result
goes. The answer is a line of JSON with the size of an element of the result. Both processes map FILE into memory. Runs
on Python 3.7. Invariant: nothing is unpickled, and numbers travel as bits, so that no NaN and no subnormal number
changes on the way.

The gradient of NAME is the function "gradient:NAME". "chain:NAME" is NAME between a product by 1 and a change of sign,
which tfnb compiles into one kernel.
"""

import json
import os
import sys
from typing import Any, Callable, Dict, Tuple  # noqa: UP035  # Python 3.7

import numpy as np

BITS = {"float32": np.uint32, "float64": np.uint64, "float16": np.uint16, "bfloat16": np.uint16}
Function = Callable[..., Any]


def found(root: Any, path: str) -> Any:
    """Returns the attribute `path` of `root`, a name with dots."""
    for part in path.split("."):
        root = getattr(root, part)
    return root


class Graphs:
    """tfnb or TensorFlow 1.x: one graph and session for each function and dtype."""

    def __init__(self, tf: Any, takes_bfloat16: bool) -> None:
        self.tf, self.takes_bfloat16 = tf, takes_bfloat16
        self.made: Dict[Tuple[str, str, int], Any] = {}  # noqa: UP006

    def function(self, name: str) -> Function:
        for path in (name, "math." + name, "nn." + name):
            try:
                return found(self.tf, path)
            except AttributeError:
                continue
        raise AttributeError(name)

    def graph(self, name: str, dtype: str, operands: int) -> Any:
        key = (name, dtype, operands)
        if key not in self.made:
            tf = self.tf
            kind = getattr(tf, dtype)
            with tf.Graph().as_default() as graph:
                if dtype == "bfloat16" and not self.takes_bfloat16:
                    feeds = [tf.placeholder(tf.uint16, [None]) for _ in range(operands)]
                    xs = [tf.bitcast(x, kind) for x in feeds]
                else:
                    feeds = [tf.placeholder(kind, [None]) for _ in range(operands)]
                    xs = list(feeds)
                form, _, function = name.rpartition(":")
                if form == "chain":
                    feeds.append(tf.placeholder(kind, []))
                    y = -self.function(function)(*(x * feeds[-1] for x in xs))
                else:
                    y = self.function(function)(*xs)
                if form == "gradient":
                    y = tf.gradients(y, xs[0])[0]
                if dtype == "bfloat16" and not self.takes_bfloat16 and y.dtype != tf.bool:
                    y = tf.bitcast(y, tf.uint16)
            self.made[key] = (tf.Session(graph=graph), feeds, y)
        return self.made[key]

    def __call__(self, name: str, dtype: str, bits: "list[np.ndarray]") -> np.ndarray:
        session, feeds, y = self.graph(name, dtype, len(bits))
        if dtype != "bfloat16":
            given = [b.view(dtype) for b in bits]
        else:
            given = [b.view(self.tf.bfloat16.as_numpy_dtype) for b in bits] if self.takes_bfloat16 else bits
        if name.startswith("chain:"):
            given = [*given, 1.0]
        return np.asarray(session.run(y, dict(zip(feeds, given))))  # noqa: B905  # Python 3.7


class Torch:
    """PyTorch's eager functions."""

    def __init__(self) -> None:
        import torch

        self.torch = torch
        f = torch.nn.functional
        self.special: Dict[str, Function] = {  # noqa: UP006
            "leaky_relu": lambda x: f.leaky_relu(x, 0.2),
            "log_sigmoid": f.logsigmoid,
            "is_nan": torch.isnan,
            "is_inf": torch.isinf,
            "is_finite": torch.isfinite,
            "rint": torch.round,
            "neg": torch.negative,
            "less": torch.lt,
            "mod": torch.remainder,
            "truncatemod": torch.fmod,
            "floordiv": lambda x, y: torch.div(x, y, rounding_mode="floor"),
            "squared_difference": lambda x, y: torch.square(x - y),
            "realdiv": torch.div,
            "bessel_i0e": torch.special.i0e,
            "bessel_i1e": torch.special.i1e,
            "ndtri": torch.special.ndtri,
        }

    def function(self, name: str) -> Function:
        if name in self.special:
            return self.special[name]
        for root in (self.torch, self.torch.special, self.torch.nn.functional):
            if hasattr(root, name):
                return getattr(root, name)
        raise AttributeError(name)

    def __call__(self, name: str, dtype: str, bits: "list[np.ndarray]") -> np.ndarray:
        torch = self.torch
        words = {2: torch.int16, 4: torch.int32, 8: torch.int64}[bits[0].itemsize]
        signed = {2: np.int16, 4: np.int32, 8: np.int64}[bits[0].itemsize]
        xs = [torch.from_numpy(b.view(signed)).view(getattr(torch, dtype)) for b in bits]
        form, _, function = name.rpartition(":")
        if form == "gradient":
            xs[0].requires_grad_(True)
            y = torch.autograd.grad(self.function(function)(*xs).sum(), xs[0])[0]
        else:
            y = self.function(function)(*xs)
        return y.numpy() if y.dtype == torch.bool else y.view(words).numpy()


class NumPy:
    """NumPy's functions, and SciPy's where NumPy has none, on the dtype itself."""

    def __init__(self) -> None:
        from scipy import special

        self.special = special
        self.names: Dict[str, Function] = {  # noqa: UP006
            "neg": np.negative,
            "abs": np.absolute,
            "asin": np.arcsin,
            "acos": np.arccos,
            "atan": np.arctan,
            "atan2": np.arctan2,
            "asinh": np.arcsinh,
            "acosh": np.arccosh,
            "atanh": np.arctanh,
            "is_nan": np.isnan,
            "is_inf": np.isinf,
            "is_finite": np.isfinite,
            "round": np.rint,
            "pow": np.power,
            "realdiv": np.divide,
            "sub": np.subtract,
            "mul": np.multiply,
            "truncatemod": np.fmod,
            "floordiv": np.floor_divide,
            "squared_difference": lambda x, y: np.square(x - y),
            "sigmoid": special.expit,
            "lgamma": special.gammaln,
            "digamma": special.psi,
            "bessel_i0e": special.i0e,
            "bessel_i1e": special.i1e,
            "log_sigmoid": special.log_expit,
            "softplus": lambda x: np.logaddexp(x, x.dtype.type(0)),
            "relu": lambda x: np.maximum(x, x.dtype.type(0)),
        }

    def function(self, name: str) -> Function:
        if name in self.names:
            return self.names[name]
        for root in (np, self.special):
            if hasattr(root, name):
                return getattr(root, name)
        raise AttributeError(name)

    def __call__(self, name: str, dtype: str, bits: "list[np.ndarray]") -> np.ndarray:
        with np.errstate(all="ignore"):
            y = np.asarray(self.function(name)(*(b.view(dtype) for b in bits)))
        if y.dtype != np.bool_ and y.dtype != np.dtype(dtype):
            raise TypeError(f"{name} of {dtype} is {y.dtype}")
        return y


def computer(library: str) -> Any:
    """Returns the library's function of (name, dtype, operands as bits)."""
    if library == "tfnb":
        import tfnb

        return Graphs(tfnb, takes_bfloat16=True)
    if library == "tensorflow":
        os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
        import tensorflow as tf

        return Graphs(tf if tf.__version__.startswith(("0.", "1.")) else tf.compat.v1, takes_bfloat16=False)
    return Torch() if library == "torch" else NumPy()


def main() -> None:
    """Answers requests until there are no more."""
    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no answer
    memory = np.memmap(sys.argv[2], np.uint8, "r+")
    compute = computer(sys.argv[1])
    while True:
        line = requests.readline()
        if not line:
            return
        request = json.loads(line.decode())
        kind, n = np.dtype(BITS[request["dtype"]]), request["n"]
        operands = [np.asarray(memory[at : at + n * kind.itemsize]).view(kind) for at in request["operands"]]
        try:
            result = np.ascontiguousarray(compute(request["function"], request["dtype"], operands))
            memory[request["result"] : request["result"] + result.nbytes] = result.view(np.uint8).ravel()
            head = {"size": result.itemsize}
        except Exception as e:  # whatever the library raises is its answer
            head = {"error": "{}: {}".format(type(e).__name__, str(e).split("\n")[0][:200])}
        answers.write(json.dumps(head).encode() + b"\n")
        answers.flush()


if __name__ == "__main__":
    main()
