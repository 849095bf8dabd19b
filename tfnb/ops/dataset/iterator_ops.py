"""Operations on iterators over data sets (`tf.data.Iterator`).

An iterator is a resource that a session owns. All these operations run on the host. Invariant: an iterator reads its
data set only after it was initialised; a one-shot iterator initialises itself at its first use.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, NotFoundError
from tfnb.ir.opdef import LOCAL, NOT_DIFFERENTIABLE, AsyncCall, HostCall, Infer, Kind, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.record import record
from tfnb.ir.tensor import Tensor
from tfnb.ops.dataset.definition import DatasetAttrs, GraphFunction, source_of
from tfnb.ops.dataset.iterator import DatasetIterator
from tfnb.ops.state.handles import make_handle, named_resource, resource_of
from tfnb.types import ANY, DType, Shape, as_shape, scalar

__all__ = ["API", "OPS"]


@record
class IteratorAttrs:
    """The attributes of an iterator resource.

    `output_types` and `output_shapes` describe the components of an element; `container` and `shared_name` identify
    the resource in its session.
    """

    output_types: tuple[DType, ...] = ()
    output_shapes: tuple[Shape, ...] = ()
    container: str = ""
    shared_name: str = ""


@record
class OneShotAttrs:
    """The attributes of `IteratorAttrs`; `dataset_factory`: a function without arguments that returns the data set."""

    output_types: tuple[DType, ...] = ()
    output_shapes: tuple[Shape, ...] = ()
    container: str = ""
    shared_name: str = ""
    dataset_factory: GraphFunction | None = field(default=None, repr=False, metadata=LOCAL)


def _iterator(call: HostCall) -> DatasetIterator:
    a = call.attrs
    return named_resource(call, DatasetIterator, lambda name: DatasetIterator(name, a.output_types, a.output_shapes))


def _one_shot(call: HostCall) -> np.ndarray:
    iterator = _iterator(call)
    if not iterator.started:
        factory = call.attrs.dataset_factory
        if factory is None or call.resources is None:
            raise InvalidArgumentError("the data set is not in this process", call.op)
        iterator.start_once(lambda: source_of(call.resources.function(factory.outputs, ())()[0], call))
    return make_handle(iterator)


def _make_iterator(call: HostCall, dataset: np.ndarray, iterator: np.ndarray) -> tuple[()]:
    resource_of(iterator, DatasetIterator, call.op).start(source_of(dataset, call))
    return ()


def _get_next(call: AsyncCall, iterator: np.ndarray) -> Callable[[], str] | None:
    source = resource_of(iterator, DatasetIterator, call.host.op)
    if source.dtypes != tuple(call.host.types["output_types"]):
        actual, requested = ([d.name for d in x] for x in (source.dtypes, call.host.types["output_types"]))
        raise InvalidArgumentError(f"the iterator '{source.name}' gives {actual}, asked for {requested}")
    return source.get_next(call)


def _from_string(call: HostCall, text: np.ndarray) -> np.ndarray:
    container, _, name = bytes(text.item()).decode("utf-8", "replace").partition("/")
    iterator = None if call.resources is None else call.resources.find(container, name)
    if not isinstance(iterator, DatasetIterator):
        raise NotFoundError(f"no iterator is known under the handle {text.item()!r}", call.op)
    if call.attrs.output_types and iterator.dtypes != call.attrs.output_types:
        actual, requested = ([d.name for d in x] for x in (iterator.dtypes, call.attrs.output_types))
        raise InvalidArgumentError(f"the iterator '{iterator.name}' gives {actual}, needed {requested}", call.op)
    pairs = zip(iterator.shapes, call.attrs.output_shapes, strict=False)
    if not all(as_shape(own).is_compatible_with(as_shape(other)) for own, other in pairs):
        raise InvalidArgumentError(
            f"the iterator '{iterator.name}' gives elements of the shapes {iterator.shapes}, needed "
            f"{call.attrs.output_shapes}",
            call.op,
        )
    return make_handle(iterator)


def _next_shapes(c: Infer) -> tuple[Shape, ...]:
    return tuple(c.attrs.output_shapes) or (Shape(None),) * len(c.types["output_types"])


@record
class NextAttrs:
    """`output_shapes` are the static shapes of the components of an element."""

    output_shapes: tuple[Shape, ...] = ()


def _resource(name: str, host: Callable[..., Any], doc: str, attrs: type) -> OpDef[Tensor]:
    return OpDef(
        name,
        "",
        "handle: resource",
        doc + "\n\nhandle: the iterator, a scalar. Host only.",
        attrs=attrs,
        infer=lambda c: scalar,
        host=host,
        grad=NOT_DIFFERENTIABLE,
        stateful=True,
    )


ITERATOR = _resource(
    "IteratorV2",
    lambda call: make_handle(_iterator(call)),
    "An iterator without a data set; MakeIterator assigns one to it.",
    IteratorAttrs,
)
ONE_SHOT = _resource(
    "OneShotIterator", _one_shot, "An iterator over one data set that needs no initialisation.", OneShotAttrs
)
MAKE_ITERATOR: OpDef[Operation] = OpDef(
    "MakeIterator",
    "dataset: variant, iterator: resource",
    "",
    "Starts the iterator at the first element of a data set, and ends its previous iteration. Host only.",
    host=_make_iterator,
    grad=NOT_DIFFERENTIABLE,
    stateful=True,
    blocking=True,
)
GET_NEXT: OpDef[list[Tensor]] = OpDef(
    "IteratorGetNext",
    "iterator: resource",
    "components: [output_types]",
    "The components of the next element. Errors: OutOfRangeError after the last one, FailedPreconditionError before "
    "the iterator is initialised, and any error of computing the element. Host only.",
    types={"output_types": ANY},
    attrs=NextAttrs,
    infer=_next_shapes,
    start=_get_next,
    kind=Kind.ASYNC,
    grad=NOT_DIFFERENTIABLE,
    stateful=True,
)
TO_STRING: OpDef[Tensor] = OpDef(
    "IteratorToStringHandle",
    "resource_handle: resource",
    "string_handle: string",
    "A string scalar that IteratorFromStringHandleV2 resolves to the iterator in the same session. Host only.",
    infer=lambda c: scalar,
    grad=NOT_DIFFERENTIABLE,
    stateful=True,
    host=lambda call, x: f"/{resource_of(x, DatasetIterator, call.op).name}".encode(),
)
FROM_STRING: OpDef[Tensor] = OpDef(
    "IteratorFromStringHandleV2",
    "string_handle: string",
    "resource_handle: resource",
    "The iterator that a string handle identifies. Errors: NotFoundError if the session has none. Host only.",
    attrs=DatasetAttrs,
    infer=lambda c: scalar,
    host=_from_string,
    grad=NOT_DIFFERENTIABLE,
    stateful=True,
)

OPS: tuple[OpDef, ...] = (ITERATOR, ONE_SHOT, MAKE_ITERATOR, GET_NEXT, TO_STRING, FROM_STRING)
API: dict[str, Any] = {}
