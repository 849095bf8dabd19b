"""The short names of layers and operations in texts of networks: Cr is a convolution with relu, Fm a softmax layer.

Invariant: the second letter of C and F is the activation: s, t, r, m (softmax), l (none), x (the layer's own).
"""

from __future__ import annotations

from typing import Any

from tfnb.client.variables.scope import VariableScope, get_variable, variable_scope
from tfnb.errors import InvalidArgumentError
from tfnb.ops import API as OPS
from tfnb.v1.contrib.layers.stacks import API as STACKS
from tfnb.v1.contrib.layers.standard_layers import API as LAYERS
from tfnb.v1.contrib.specs import functions
from tfnb.v1.contrib.specs.functions import Callable, Composable, Function

__all__ = ["Conc", "Idx", "Shared", "Var"]

External, Import, debug, Fun = functions.External, functions.Import, functions.debug, Function


def _layer(name: str, **options: object) -> Function:
    key = f"contrib.layers.{name}"
    return Function(LAYERS.get(key) or STACKS[key], **options)


def _op(name: str) -> Function:
    return Function(OPS[name])


class Idx(Composable):
    """The identity."""

    def funcall(self, x: object) -> Any:
        """Returns `x`."""
        return x


class Conc(Composable):
    """Joins the values of functions `args` along the dimension `dim`."""

    def __init__(self, dim: int, *args: Composable) -> None:
        self.dim, self.funs = dim, args

    def funcall(self, x: object) -> Any:
        """Returns the joined values of the functions of `x`."""
        return OPS["concat"]([f.funcall(x) for f in self.funs], self.dim)


Print, Id = _op("Print"), _op("identity")
Cx, Cl = _layer("conv2d"), _layer("conv2d", activation_fn=None)
Cs, Ct = _layer("conv2d", activation_fn=OPS["nn.sigmoid"]), _layer("conv2d", activation_fn=OPS["nn.tanh"])
Cr, Cm = _layer("conv2d", activation_fn=OPS["nn.relu"]), _layer("conv2d", activation_fn=OPS["nn.softmax"])
Fx, Fl = _layer("fully_connected"), _layer("fully_connected", activation_fn=None)
Fs = _layer("fully_connected", activation_fn=OPS["nn.sigmoid"])
Ft = _layer("fully_connected", activation_fn=OPS["nn.tanh"])
Fr = _layer("fully_connected", activation_fn=OPS["nn.relu"])
Fm = _layer("fully_connected", activation_fn=OPS["nn.softmax"])
Mp, Ap = _layer("max_pool2d"), _layer("avg_pool2d")
Do, Bn, Unit = _layer("dropout"), _layer("batch_norm"), _layer("unit_norm")
Lrn = _op("nn.local_response_normalization")
Flat = _layer("flatten")
Reshape, Transpose, Squeeze, Expand = _op("reshape"), _op("transpose"), _op("squeeze"), _op("expand_dims")
Relu, Sig, Tanh, Smax = _op("nn.relu"), _op("nn.sigmoid"), _op("nn.tanh"), _op("nn.softmax")


def Dws(n: int) -> Function:
    """Returns a convolution of single pixels to `n` channels with sigmoid."""
    return Cs(n, [1, 1])


def Dwm(n: int) -> Function:
    """Returns a convolution of single pixels to `n` channels with softmax."""
    return Cm(n, [1, 1])


def Var(name: str, *args: Any, **kw: Any) -> Callable:
    """Returns a function whose value is the variable `name`; the rest are arguments of `tf.get_variable`."""
    return Callable(lambda _: get_variable(name, *args, **kw))


class Shared(Composable):
    """A function `subnet` whose variables are shared by all of its calls.

    name: of their scope; scope: an existing scope instead. Raises `InvalidArgumentError` for both, or other classes.
    """

    shared_number = 1

    def __init__(self, subnet: Composable, name: str | None = None, scope: VariableScope | None = None) -> None:
        if scope is not None and (name is not None or not isinstance(scope, VariableScope)):
            raise InvalidArgumentError("Shared: needed a name, or a VariableScope, and not both")
        if name is None:
            name = f"Shared_{Shared.shared_number}"
            Shared.shared_number += 1
        self.subnet, self.name, self.scope = subnet, name, scope

    def funcall(self, x: object) -> Any:
        """Returns the function of `x`; the first call makes the variables."""
        if self.scope is None:
            with variable_scope(self.name, values=[x]) as self.scope:
                return self.subnet.funcall(x)
        with variable_scope(self.scope, values=[x], reuse=True):
            return self.subnet.funcall(x)
