"""What had another meaning in earlier TensorFlow: orders of arguments, states of cells, names of variables.

An era is named by the last version that has its meanings: "0.6", "0.12", "1.5" or "1.15". tfnb's own functions mean
what 1.15 means, and take the older forms where the types of a call's arguments tell them apart. Invariant: the names
of the variables of cells and of the loops over them are those of the era's TensorFlow, so that checkpoints of the time
load.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from tfnb.client.argument_types import Activation, InitializerLike
from tfnb.client.rnn import cells as rnn_cells
from tfnb.client.rnn import dynamic_rnn, static_rnn
from tfnb.client.rnn.linear_map import LinearMap, Parts, linear_map
from tfnb.client.variables.initializers import Constant
from tfnb.client.variables.scope import ScopeLike, get_variable_scope, variable_scope
from tfnb.errors import DTypeError, InvalidArgumentError, ShapeError
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array import concat as joining
from tfnb.ops.logging import assertions
from tfnb.ops.logging.print_assert import assert_that
from tfnb.ops.nn import losses
from tfnb.types import ShapeLike, as_shape
from tfnb.v1.programs.era_0_12 import EARLY_OPS
from tfnb.v1.programs.era_0_12_files import EARLY_FILES
from tfnb.v1.programs.era_1_5 import OPS_UNTIL_1_5

__all__ = ["ERAS", "case_matters", "replacements", "version_of"]

# era -> the `tf.__version__` that programs read
ERAS = {"0.6": "0.6.0", "0.12": "0.12.1", "1.5": "1.5.0", "1.15": "1.15.5"}


def version_of(era: str | None) -> str:
    """Returns the version that programs read. Raises `InvalidArgumentError` for an unknown era."""
    if era is None:
        return ERAS["1.15"]
    if era not in ERAS:
        raise InvalidArgumentError(f"era is {era!r}; needed one of {', '.join(ERAS)}")
    return ERAS[era]


def case_matters(era: str | None) -> bool:
    """Returns whether operations whose names differ in the case of letters only may stand in one graph."""
    return era in ("0.6", "0.12", "1.5")


def replacements(era: str | None) -> Mapping[int, object]:
    """Returns the objects that an era has in place of public objects of tfnb, by the ids of the latter."""
    pairs: list[tuple[object, object]] = []
    if era in ("0.6", "0.12", "1.5"):
        pairs = [*OPS_UNTIL_1_5]
    if era in ("0.6", "0.12"):
        pairs += [*_FUNCTIONS, *EARLY_OPS, *(_FIRST_CELLS if era == "0.6" else _EARLY_CELLS)]
    if era == "0.12":
        pairs += EARLY_FILES
    return {id(now): then for now, then in pairs}


def concat(concat_dim: TensorLike, values: TensorLike, name: str = "concat") -> Tensor:
    """Joins tensors along the axis `concat_dim`; a single tensor is returned as it is. See `tfnb.concat`."""
    parts = values if isinstance(values, (list, tuple)) else [values]
    if len(parts) > 1 and all(isinstance(part, Tensor) and part.shape.ndims == 0 for part in parts):
        raise ShapeError("Can't concatenate scalars (use tf.pack instead)")
    return joining.concat(parts, concat_dim, name)


def split(split_dim: int, num_split: int, value: TensorLike, name: str = "split") -> list[Any]:
    """Splits a tensor into `num_split` equal parts along the axis `split_dim`. See `tfnb.split`."""
    return joining.split(value, num_split, split_dim, name=name)


def weighted_cross_entropy_with_logits(
    logits: TensorLike, targets: TensorLike, pos_weight: TensorLike, name: str | None = None
) -> Tensor:
    """Computes what 1.x computes with `targets` before `logits`. See `tfnb.nn.weighted_cross_entropy_with_logits`."""
    return losses.weighted_cross_entropy_with_logits(targets, logits, pos_weight, name)


def log_poisson_loss(
    log_input: TensorLike, targets: TensorLike, compute_full_loss: bool = False, name: str | None = None
) -> Tensor:
    """Computes what 1.x computes with `targets` before `log_input`. See `tfnb.nn.log_poisson_loss`."""
    return losses.log_poisson_loss(targets, log_input, compute_full_loss, name)


def _at_run(check: Callable[..., Any]) -> Callable[..., Any]:
    """Returns an assertion that fails in a step, never when the graph is built, also when constants show that it must.

    Errors of shapes and dtypes are raised at once.
    """

    def later(*args: Any, **kwargs: Any) -> Any:
        try:
            return check(*args, **kwargs)
        except (ShapeError, DTypeError):
            raise
        except InvalidArgumentError as error:
            return assert_that(False, [error.message])

    later.__name__, later.__doc__ = check.__name__, check.__doc__
    return later


_CHECKS = (
    "assert_equal assert_greater assert_greater_equal assert_less assert_less_equal assert_negative "
    "assert_non_negative assert_non_positive assert_positive"
)


def _scoped(function: Callable[..., Any], default: str, position: int) -> Callable[..., Any]:
    """Returns `function`, a loop over a cell, with the scope `default` unless the call gives one.

    The scope is the keyword argument `scope`, or the argument at `position`.
    """

    def loop(*args: Any, **kwargs: Any) -> Any:
        given = kwargs.pop("scope", None)
        if len(args) > position:
            given = args[position]
        scope: ScopeLike = given or default
        with variable_scope(get_variable_scope(), custom_getter=_upper_directions(scope)):
            return function(*args[:position], scope=scope, **kwargs)

    loop.__name__, loop.__doc__ = function.__name__, function.__doc__
    return loop


def _upper_directions(scope: ScopeLike) -> Callable[..., Any]:
    """Returns a getter of variables that names the directions of a bidirectional network SCOPE/FW and SCOPE/BW."""
    outer = get_variable_scope().name
    base = scope if isinstance(scope, str) else scope.name
    base = f"{outer}/{base}" if outer and isinstance(scope, str) else base

    def getter(get: Callable[..., Any], name: str, *args: Any, **kwargs: Any) -> Any:
        for direction in ("fw", "bw"):
            if name.startswith(f"{base}/{direction}/"):
                name = f"{base}/{direction.upper()}{name[len(base) + 3 :]}"
        return get(name, *args, **kwargs)

    return getter


class _EarlyLinearMap(LinearMap):
    names = "Matrix", "Bias"


def linear(
    args: Parts, output_size: int, bias: bool, bias_start: float = 0.0, scope: ScopeLike | None = None
) -> Tensor:
    """Returns the linear map of cells, with the names of 0.x. See `tfnb.client.rnn.linear_map`."""
    with variable_scope(scope or "Linear"):
        return _EarlyLinearMap(args, output_size, bias, Constant(bias_start))(args)


class _EarlyCell(rnn_cells.RNNCell):
    """A cell with the names of 0.x: its scope is the name of its class, and `early` has the names of variables."""

    tuple_by_default = True  # up to 0.10 the state is one tensor unless the program says otherwise
    early: ClassVar[Mapping[str, str]] = {"kernel": "Linear/Matrix", "bias": "Linear/Bias"}

    def __init_subclass__(cls, **kw: object) -> None:
        super().__init_subclass__(**kw)
        cls.default_name = cls.__name__

    def add_variable(self, name: str, *args: Any, **kwargs: Any) -> Any:
        return super().add_variable(self.early.get(name, name), *args, **kwargs)

    def _reopen(self) -> Any:
        """Opens the scope of the cell, in which another cell of the class has the same variables: 0.x does not make
        the name of a scope unique.
        """
        if self._scope is not None:
            return super()._reopen()
        return variable_scope(self._given_name or self.default_name, reuse=self._reuse)

    def _state(self, state_is_tuple: bool | None) -> bool:
        return self.tuple_by_default if state_is_tuple is None else state_is_tuple


class BasicRNNCell(_EarlyCell, rnn_cells.BasicRNNCell):
    """`tfnb.nn.rnn_cell.BasicRNNCell` with the arguments and names of 0.x."""

    def __init__(self, num_units: int, input_size: int | None = None, activation: Activation | None = None) -> None:
        rnn_cells.BasicRNNCell.__init__(self, num_units, activation, input_size=input_size)


class GRUCell(_EarlyCell, rnn_cells.GRUCell):
    """`tfnb.nn.rnn_cell.GRUCell` with the arguments and names of 0.x."""

    early: ClassVar[Mapping[str, str]] = {
        f"{part.lower()}/{name}": f"{part}/Linear/{then}"
        for part in ("Gates", "Candidate")
        for name, then in (("kernel", "Matrix"), ("bias", "Bias"))
    }

    def __init__(self, num_units: int, input_size: int | None = None, activation: Activation | None = None) -> None:
        rnn_cells.GRUCell.__init__(self, num_units, activation, input_size=input_size)


class BasicLSTMCell(_EarlyCell, rnn_cells.BasicLSTMCell):
    """`tfnb.nn.rnn_cell.BasicLSTMCell` with the arguments and names of 0.x."""

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        input_size: int | None = None,
        state_is_tuple: bool | None = None,
        activation: Activation | None = None,
    ) -> None:
        rnn_cells.BasicLSTMCell.__init__(
            self, num_units, forget_bias, self._state(state_is_tuple), activation, input_size=input_size
        )


class LSTMCell(_EarlyCell, rnn_cells.LSTMCell):
    """`tfnb.nn.rnn_cell.LSTMCell` with the arguments and names of 0.x."""

    early: ClassVar[Mapping[str, str]] = {
        "kernel": "W_0",
        "bias": "B",
        "projection/kernel": "W_P_0",
        **{f"w_{gate}_diag": f"W_{gate.upper()}_diag" for gate in "fio"},
    }

    def __init__(
        self,
        num_units: int,
        input_size: int | None = None,
        use_peepholes: bool = False,
        cell_clip: float | None = None,
        initializer: InitializerLike | None = None,
        num_proj: int | None = None,
        proj_clip: float | None = None,
        num_unit_shards: int = 1,
        num_proj_shards: int = 1,
        forget_bias: float = 1.0,
        state_is_tuple: bool | None = None,
        activation: Activation | None = None,
    ) -> None:
        self._parts_of = {"kernel": num_unit_shards, "projection/kernel": num_proj_shards}
        rnn_cells.LSTMCell.__init__(
            self,
            num_units,
            use_peepholes,
            cell_clip,
            initializer,
            num_proj,
            proj_clip,
            forget_bias=forget_bias,
            state_is_tuple=self._state(state_is_tuple),
            activation=activation,
            input_size=input_size,
        )

    def add_variable(self, name: str, shape: ShapeLike, **kwargs: Any) -> Any:  # type: ignore[override]
        """Makes weights of several parts, which 0.x cuts by rows: the first ones have a row more than the last."""
        parts, first = self._parts_of.get(name, 1), self.early[name].removesuffix("0")
        if parts == 1:
            return super().add_variable(name, shape, **kwargs)
        rows, columns = as_shape(shape).known()
        if parts > rows:
            raise InvalidArgumentError(f"Too many shards: shape={[rows, columns]}, num_shards={parts}")
        sizes = [rows // parts + (k < rows % parts) for k in range(parts)]
        add = super().add_variable
        pieces = [add(f"{first}{k}", [n, columns], **kwargs) for k, n in enumerate(sizes)]
        return joining.concat(pieces, 0)


class MultiRNNCell(_EarlyCell, rnn_cells.MultiRNNCell):
    """`tfnb.nn.rnn_cell.MultiRNNCell` with the names of 0.x."""

    part_name = "Cell{}"

    def __init__(self, cells: Sequence[rnn_cells.CellLike], state_is_tuple: bool | None = None) -> None:
        rnn_cells.MultiRNNCell.__init__(self, cells, self._state(state_is_tuple))


_FUNCTIONS: list[tuple[object, object]] = [
    *((assertions.API[name], _at_run(assertions.API[name])) for name in _CHECKS.split()),
    (linear_map, linear),
    (joining.concat, concat),
    (joining.split, split),
    (losses.weighted_cross_entropy_with_logits, weighted_cross_entropy_with_logits),
    (losses.log_poisson_loss, log_poisson_loss),
    (dynamic_rnn.dynamic_rnn, _scoped(dynamic_rnn.dynamic_rnn, "RNN", 8)),
    (dynamic_rnn.raw_rnn, _scoped(dynamic_rnn.raw_rnn, "RNN", 4)),
    (dynamic_rnn.bidirectional_dynamic_rnn, _scoped(dynamic_rnn.bidirectional_dynamic_rnn, "BiRNN", 10)),
    (static_rnn.static_rnn, _scoped(static_rnn.static_rnn, "RNN", 5)),
    (static_rnn.static_bidirectional_rnn, _scoped(static_rnn.static_bidirectional_rnn, "BiRNN", 7)),
    (static_rnn.state_saving_rnn, _scoped(static_rnn.state_saving_rnn, "RNN", 5)),
]
_EARLY_CELLS: list[tuple[Any, Any]] = [
    (rnn_cells.BasicRNNCell, BasicRNNCell),
    (rnn_cells.GRUCell, GRUCell),
    (rnn_cells.BasicLSTMCell, BasicLSTMCell),
    (rnn_cells.LSTMCell, LSTMCell),
    (rnn_cells.MultiRNNCell, MultiRNNCell),
]
_FIRST_CELLS = [
    (now, type(early.__name__, (early,), {"tuple_by_default": False, "__doc__": early.__doc__}))
    for now, early in _EARLY_CELLS
]
