"""`tf.function_op` and `tf.Defun`: a Python function of tensors becomes one op (TensorFlow's function.Defun).

The Python function is called once to build its body. The gradient is a function too, built on first use: it contains
the body and the gradient of the body, and the compiler merges what both compute. Invariant: a body is valid for the
dtypes and ranks for which it was built, and its name identifies it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from tfnb.client.control_flow.imported_loops import restore_loops
from tfnb.client.gradients.backprop import gradients
from tfnb.client.gradients.backward_loop import has_gradient
from tfnb.client.graph.nest import flatten
from tfnb.client.variables.reads import read_again
from tfnb.errors import DTypeError, GraphError, InvalidArgumentError, UnimplementedError
from tfnb.ir.default import get_default_graph, graph_of
from tfnb.ir.function import Function, FunctionBuilder, copy_into, owner
from tfnb.ir.graphdef.encode import encode_function
from tfnb.ir.graphdef.message_types import FunctionDef
from tfnb.ir.indexed import IndexedSlices
from tfnb.ir.opdef import Infer
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import GraphLike, Tensor
from tfnb.ops.array.constants import ZEROS_LIKE
from tfnb.types import DType, DTypeLike, Shape, as_dtype, as_shape, unknown_shape

__all__ = ["API", "Defun", "function_op", "like_arguments", "make_gradient", "symbolic_gradient"]

Signature = tuple[tuple[DType, Shape], ...]


class InputShape:
    """An input of a call, of which a shape function sees the static shape and the dtype."""

    def __init__(self, shape: Shape, dtype: DType) -> None:
        self.shape, self.dtype = shape, dtype

    def get_shape(self) -> Shape:
        """Returns the static shape."""
        return self.shape


class CallShapes:
    """What a shape function sees of a call: `inputs`, and their `shapes`."""

    def __init__(self, c: Infer) -> None:
        self.shapes = c.shapes
        self.inputs = [InputShape(shape, dtype) for shape, dtype in zip(c.shapes, c.dtypes, strict=True)]


class BuiltFunction(Function):
    """A finished body, for certain dtypes of arguments, with its message."""

    @property
    def definition(self) -> FunctionDef:
        """The FunctionDef message."""
        return encode_function(self)


class DefinedFunction:
    """A Python function that adds one node to the graph when it is called with tensors.

    `input_types` are the arguments' dtypes, or None to take those of each call. `grad_func` is another such function,
    from (inputs..., gradients of outputs...) to gradients of inputs; `python_grad_func` is a function `(op, *grads)`.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        input_types: Sequence[Any] | None,
        func_name: str | None = None,
        grad_func: DefinedFunction | None = None,
        python_grad_func: Callable[..., Any] | None = None,
        shape_func: Callable[[Any], Any] | None = None,
        out_names: Sequence[str] | None = None,
        noinline: bool = False,
        capture_by_value: bool = False,
    ) -> None:
        if grad_func is not None and python_grad_func is not None:
            raise InvalidArgumentError("Gradient defined twice: Defun takes grad_func or python_grad_func, not both")
        self.function = function
        self.types = None if input_types is None else tuple(as_dtype(t) for t in input_types)
        self.func_name = func_name
        self.grad_func = grad_func
        self.python_grad_func = python_grad_func
        self.shape_func = shape_func
        self.out_names = out_names
        self.noinline = noinline
        self._by_value = capture_by_value
        self._built: dict[tuple[Any, Signature], BuiltFunction] = {}
        self._listed: dict[Function, Any] = {}
        self.__name__ = func_name or getattr(function, "__name__", "function").strip("<>")
        self.__doc__ = function.__doc__
        parameters = list(inspect.signature(function).parameters.values())
        if any(p.kind is p.VAR_KEYWORD or p.default is not p.empty for p in parameters):
            raise InvalidArgumentError("Functions with argument defaults or keyword arguments are not supported.")
        has_fixed_arity = all(p.kind is not inspect.Parameter.VAR_POSITIONAL for p in parameters)
        if self.types is not None and has_fixed_arity and len(self.types) != len(parameters):
            raise InvalidArgumentError(
                f"The number of arguments differs from the number of specified input types: Defun: {len(self.types)} "
                f"dtypes for the {len(parameters)} arguments of {self.__name__}"
            )
        self._parameters = [p.name for p in parameters] if has_fixed_arity else None

    @property
    def name(self) -> str:
        """The name of the op; with several dtypes or bodies, the common part of their names."""
        if self.types is not None:
            return self.built([(t, unknown_shape) for t in self.types], get_default_graph()).name
        return self.__name__

    def _only(self) -> BuiltFunction:
        """The function for its declared dtypes: that of the default graph, or else one of a graph that has called it.

        Raises `InvalidArgumentError` if it takes the dtypes of each call.
        """
        if self.types is None:
            raise InvalidArgumentError(f"{self.__name__} has no dtypes of its own: call instantiate(dtypes)")
        signature = tuple((t, unknown_shape) for t in self.types)
        known = {graph: function for (graph, types), function in self._built.items() if types == signature}
        if known and get_default_graph() not in known:
            return next(iter(known.values()))
        return self.built(signature, get_default_graph())

    @property
    def definition(self) -> Any:
        """The FunctionDef message of the function. Raises the errors of its construction."""
        return self._only().definition

    @property
    def declared_input_types(self) -> list[DType] | None:
        """The dtypes of the arguments; None for a function that takes those of each call."""
        return None if self.types is None else list(self.types)

    @property
    def captured_inputs(self) -> list[Tensor]:
        """The tensors of the graph outside that the function reads."""
        return list(self._only().captured)

    @property
    def grad_func_name(self) -> str | None:
        """The name of the function that was given as the gradient."""
        return self.grad_func.name if isinstance(self.grad_func, DefinedFunction) else None

    def instantiate(self, input_types: Sequence[DTypeLike]) -> BuiltFunction:
        """Returns the function for arguments of these dtypes."""
        return self.built([(as_dtype(t), unknown_shape) for t in input_types], get_default_graph())

    def __call__(self, *args: object, name: str | None = None, **kwargs: object) -> Any:
        """Adds a call, and returns what the Python function returned, or the operation when that was None."""
        graph = graph_of(args)
        if kwargs:
            raise InvalidArgumentError(f"Unknown keyword arguments: {', '.join(kwargs)}; the only one is name")
        if self.types is not None and len(args) != len(self.types):
            raise InvalidArgumentError(
                f"Expected number of arguments: {len(self.types)}, received: {len(args)}, by {self.__name__}"
            )
        dtypes = self.types or (None,) * len(args)
        with graph.as_default():
            tensors = [graph.to_tensor(a, t) for a, t in zip(args, dtypes, strict=True)]
            for t, dtype in zip(tensors, dtypes, strict=True):
                if dtype is not None and t.dtype is not dtype:
                    raise DTypeError(f"{self.__name__}: {t.name} is {t.dtype.name}, needed {dtype.name}")
            if self.types is not None:
                signature = [(t.dtype, unknown_shape) for t in tensors]
            else:
                signature = [(t.dtype, _open(t.shape)) for t in tensors]
            function = self.built(signature, graph)
            captured = [read_again(t) for t in function.captured]
            outputs = function.opdef(*tensors, *captured, name=name or self.__name__, graph=graph)
        if not function.results:
            return outputs
        results = outputs if isinstance(outputs, list) else [outputs]
        return results if self._listed[function] else results[0]

    def built(self, signature: Sequence[tuple[DType, Shape]], graph: GraphLike) -> BuiltFunction:
        """Returns the function for arguments of these dtypes and shapes, called from `graph`."""
        key = (graph, tuple(signature))
        if key not in self._built:
            self._built[key] = self._build(tuple(signature), graph)
        return self._built[key]

    def _build(self, signature: Signature, graph: GraphLike) -> BuiltFunction:
        body, outermost = FunctionBuilder(graph, self._by_value), owner(graph)
        names = self._parameters or [f"arg{i}" for i in range(len(signature))]
        if len(names) != len(signature):
            raise InvalidArgumentError(f"{self.__name__} takes {len(names)} arguments, got {len(signature)}")
        with body.as_default():
            args = [body.add_arg(t, s, n) for (t, s), n in zip(signature, names, strict=True)]
            start = outermost.version
            returned = self.function(*args)
            adds_outside = outermost.version > start
            values = [] if returned is None else list(flatten(returned))
            if any(v is None for v in values):
                raise InvalidArgumentError(f"Function can not return None: {self.__name__} returned {values}")
            results = [body.to_tensor(v) for v in values]
        declared_name = self.func_name if self.types is not None else None
        function = BuiltFunction(
            declared_name or Function.unique_name(self.__name__, body),
            body,
            results,
            lambda function: self._gradient(function, adds_outside),
            self.out_names,
            self._shapes if self.shape_func is not None else None,
            inspect.getdoc(self.function) or "",
        )
        function.noinline = self.noinline
        self._listed[function] = isinstance(returned, (list, tuple))
        if isinstance(self.grad_func, DefinedFunction):
            grad_signature = [(a.dtype, unknown_shape) for a in (*body.args, *results)]
            function.gradient_function = lambda: self.grad_func.built(grad_signature, graph)
        return function

    def _shapes(self, c: Infer) -> list[Shape]:
        return [as_shape(s) for s in self.shape_func(CallShapes(c))]  # type: ignore[misc]

    def _gradient(self, function: Function, once: bool) -> Callable[..., Any]:
        """Returns the gradient function of calls; with `once` the Python function, which made variables, is not called
        again for it.
        """
        if self.python_grad_func is not None:
            return self.python_grad_func
        if self.grad_func is not None:
            grad_func = self.grad_func
            return lambda op, *dys: grad_func(*op.inputs, *dys)
        count = len(function.args) - len(function.captured)

        def again(args: Sequence[Tensor]) -> list[Tensor]:
            body = get_default_graph()
            body.captured.update(zip(function.captured, args[count:], strict=True))
            grads = self.function(*args[:count])
            return [body.to_tensor(v) for v in flatten(grads)]

        return make_gradient(function, None if once else again)


def _open(shape: Shape) -> Shape:
    """Returns a shape of the same rank with unknown dimensions, because one body serves all sizes."""
    return unknown_shape if shape.sizes is None else Shape((None,) * len(shape.sizes))


def make_gradient(
    function: Function, again: Callable[[Sequence[Tensor]], list[Tensor]] | None = None
) -> Callable[..., Any]:
    """Returns the gradient function of calls of `function`; it adds a call of a function that is created here.

    `again(args)` builds the results again in the default graph; without it the nodes of the body are copied.
    """
    if any(op.opdef.stateful and "seed" in getattr(op.attrs, "__slots__", ()) for op in function.body.get_operations()):
        raise UnimplementedError(
            f"the function {function.name} draws random numbers, and its gradient would draw others; "
            "draw them outside and pass them"
        )
    if function.writes:
        raise UnimplementedError(f"the function {function.name} changes a variable, and its gradient would again")
    outside = function.body.outside
    body = FunctionBuilder(outside)
    with body.as_default():
        args = like_arguments(function, body)
        seeds = [body.add_arg(t.dtype, t.shape, f"grad_{i}") for i, t in enumerate(function.results)]
        if again is not None:
            results = again(args)
        else:
            start = body.version
            table = copy_into(function, body, args)
            restore_loops(body, body.get_operations()[start:])
            results = [table[t] for t in function.results]
        pairs = [(y, g) for y, g in zip(results, seeds, strict=True) if has_gradient(y)]
        if not pairs:
            return lambda op, *dys: [None] * len(op.inputs)
        grads = gradients([y for y, _ in pairs], args, [g for _, g in pairs])
        grads = [g.__tensor__() if isinstance(g, IndexedSlices) else g for g in grads]
        grad_results = [g for g in grads if g is not None]
    if len(body.args) != len(args) + len(seeds):
        raise GraphError(f"the gradient of {function.name} reads tensors that the function does not")
    name = Function.unique_name(f"{function.name}_grad", body)
    grad_function = Function(name, body, grad_results, make_gradient, description=f"The gradient of {function.name}.")
    has_grad = [g is not None for g in grads]

    def gradient(op: Operation, *dys: Tensor) -> list[Any]:
        for t, g in zip(op.outputs, dys, strict=True):
            if g is not None and not has_gradient(t):
                raise UnimplementedError(
                    f"{op.name}: gradients do not pass through a list of tensors that a function returns", op
                )
        output_grads = [g if g is not None else s for g, s in zip(dys, op.outputs, strict=True)]
        outputs = grad_function.opdef(*op.inputs, *output_grads, graph=op.graph) if grad_results else []
        flat = iter(outputs if isinstance(outputs, list) else [outputs])
        return [next(flat) if k else _zeros(t) for k, t in zip(has_grad, op.inputs, strict=True)]

    return gradient


def _zeros(argument: Tensor) -> Tensor | None:
    """Returns the gradient of an argument on which no result depends: zeros, or None if the dtype has no gradients."""
    return ZEROS_LIKE(argument) if argument.dtype.is_floating or argument.dtype.is_complex else None


def like_arguments(function: Function, body: FunctionBuilder) -> list[Tensor]:
    """Adds arguments to `body` that have the dtypes and shapes of those of `function`."""
    return [body.add_arg(a.dtype, a.shape, a.op.name, a.spec.ref) for a in function.args]


def symbolic_gradient(function: Function) -> Function:
    """Returns the function of TensorFlow's SymbolicGradient: (arguments, gradients of results) -> gradients of
    arguments.
    """
    body = FunctionBuilder(function.body.outside)
    with body.as_default():
        args = like_arguments(function, body)
        seeds = [body.add_arg(t.dtype, t.shape, f"grad_{i}") for i, t in enumerate(function.results)]
        outputs = function.opdef(*args, graph=body)
        first = outputs[0] if isinstance(outputs, list) else outputs
        grads = function.gradient(first.op, *seeds)
        results = [ZEROS_LIKE(a) if g is None else g for a, g in zip(args, grads, strict=True)]
    return Function(f"SymbolicGradient_{function.name}", body, results, make_gradient)


class Defun:
    """Decorator: `@tf.Defun(tf.float32, tf.float32)` creates an op from a Python function of tensors.

    input_types: the arguments' dtypes; without any, those of each call. func_name: the name of the op. grad_func,
    python_grad_func: the gradient, which is derived by default. shape_func: gets a view of the call with `inputs` and
    `shapes`, and returns one shape per output. `noinline` is a part of the definition; all calls are inlined. With
    `capture_by_value`, what the function reads of the graph outside is copied into it, so it must depend on no state.
    Errors are raised at the first call, except for a number of dtypes that does not fit the function.
    """

    def __init__(
        self,
        *input_types: DTypeLike,
        func_name: str | None = None,
        grad_func: DefinedFunction | None = None,
        python_grad_func: Callable[..., Any] | None = None,
        shape_func: Callable[[Any], Any] | None = None,
        out_names: Sequence[str] | None = None,
        noinline: bool = False,
        capture_by_value: bool = False,
        compiled: bool = False,
        separate_compiled_gradients: bool = False,
    ) -> None:
        self._types = input_types or None
        self._options: dict[str, Any] = {
            "func_name": func_name,
            "grad_func": grad_func,
            "python_grad_func": python_grad_func,
            "shape_func": shape_func,
            "out_names": out_names,
            "noinline": noinline,
            "capture_by_value": capture_by_value,
        }

    def __call__(self, function: Callable[..., Any]) -> DefinedFunction:
        if not callable(function):
            raise DTypeError(f"Defun decorates a function, got {function!r}")
        types: Sequence[Any] | None = self._types
        if types is None and not inspect.signature(function).parameters:
            types = ()
        return DefinedFunction(function, types, **self._options)


def function_op(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Decorates a Python function of tensors, from which it creates one op; `options` are those of `Defun`.

    A body is built for each combination of dtypes and ranks of the arguments, and the compiler inlines the calls; the
    graph, its drawing and its GraphDef show one node per call. The gradient is derived.
    """
    if function is None:
        return lambda f: function_op(f, **options)
    return Defun(**options)(function)


API: dict[str, Any] = {"Defun": Defun, "function_op": function_op, "python.framework.function.Defun": Defun}
