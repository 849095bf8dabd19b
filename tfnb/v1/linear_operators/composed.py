"""Operators made of other operators: their adjoint, inverse, product, blocks, Kronecker product.

Invariant: a property that is not given is known only if the parts imply it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from tfnb.client.variables.variable import group
from tfnb.errors import DTypeError, InvalidArgumentError
from tfnb.ir.operation import Operation
from tfnb.ir.shapes import broadcast_all
from tfnb.ir.tensor import Tensor
from tfnb.ops.array.array_functions import eye
from tfnb.ops.array.concat import concat, stack
from tfnb.ops.array.constants import zeros
from tfnb.ops.array.select_broadcast import broadcast_dynamic_shape
from tfnb.ops.array.shape_ops import EXPAND_DIMS, RESHAPE, shape
from tfnb.ops.linalg.matrix_functions import adjoint_of
from tfnb.ops.math.binary import POW
from tfnb.ops.math.cast import cast
from tfnb.ops.math.complex_numbers import conj
from tfnb.ops.math.reduce_sum import BROADCAST_TO
from tfnb.types import Shape
from tfnb.v1.linear_operators.operator import WRAPPERS, LinearOperator

__all__ = [
    "LinearOperatorAdjoint",
    "LinearOperatorBlockDiag",
    "LinearOperatorComposition",
    "LinearOperatorInversion",
    "LinearOperatorKronecker",
]


def operators_of(given: Sequence[LinearOperator], name: str) -> list[LinearOperator]:
    """Returns the operators as a list. Raises an error if there is none, or if their dtypes differ."""
    parts = list(given)
    if not parts:
        raise InvalidArgumentError(f"{name}: Expected a non-empty list of operators. Found: {given}")
    for part in parts:
        if not isinstance(part, LinearOperator):
            raise DTypeError(f"{name}: needed operators, got {type(part).__name__}")
        if part.dtype is not parts[0].dtype:
            kinds = [p.dtype.name for p in parts]
            raise DTypeError(f"{name}: Expected all operators to have the same dtype. Found {kinds}")
    return parts


def _all_known(parts: Sequence[LinearOperator], of: str, given: bool | None) -> bool | None:
    """Returns `given`, or else True if all parts have the property. Raises an error if that is denied."""
    if all(getattr(p, of) for p in parts):
        if given is False:
            what = of.removeprefix("is_").replace("_", "-")
            raise InvalidArgumentError(f"Of {what} operators the result is always {what}; the hint {of} is False.")
        return True
    return given


class _Wrapped(LinearOperator):
    """An operator of one other, with its properties."""

    def __init__(
        self,
        operator: LinearOperator,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        if not isinstance(operator, LinearOperator):
            raise DTypeError(f"needed an operator, got {type(operator).__name__}")
        self._operator = operator
        hints = []
        given = (is_non_singular, is_self_adjoint, is_positive_definite, is_square)
        names = ("is_non_singular", "is_self_adjoint", "is_positive_definite", "is_square")
        for value, of in zip(given, names, strict=True):
            known = getattr(operator, of)
            if value is not None and known is not None and value is not known:
                raise InvalidArgumentError(f"{of} is {known} of the operator, which the hint {value} denies.")
            hints.append(known if value is None else value)
        a, b, c, d = hints
        super().__init__(operator.dtype, operator.graph_parents, a, b, c, d, name or self._ending(operator.name))

    def _ending(self, name: str) -> str:
        raise NotImplementedError

    @property
    def operator(self) -> LinearOperator:
        """The operator that this one was made of."""
        return self._operator

    def _shape(self) -> Shape:
        dims = self._operator.shape.sizes
        return Shape(None) if dims is None else Shape((*dims[:-2], dims[-1], dims[-2]))

    def _shape_tensor(self) -> Tensor:
        sizes = self._operator.shape_tensor()
        return concat([sizes[:-2], sizes[-1:], sizes[-2:-1]], 0)


class LinearOperatorAdjoint(_Wrapped):
    """The operator of the conjugate transpose of an `operator`, whose properties it has."""

    def _ending(self, name: str) -> str:
        return f"{name}_adjoint"

    def _to_dense(self) -> Tensor:
        return adjoint_of(self._operator.to_dense())

    def _matmul(self, x: Tensor, adjoint: bool, adjoint_arg: bool) -> Tensor:
        return self._operator.matmul(x, not adjoint, adjoint_arg)

    def _solve(self, rhs: Tensor, adjoint: bool) -> Tensor:
        return self._operator.solve(rhs, not adjoint)

    def _determinant(self) -> Tensor:
        return conj(self._operator.determinant())

    def _log_abs_determinant(self) -> Tensor:
        return self._operator.log_abs_determinant()

    def _diag_part(self) -> Tensor:
        return conj(self._operator.diag_part())

    def _adjoint(self) -> LinearOperator:
        return self._operator

    def _assert_non_singular(self) -> Operation:
        return self._operator.assert_non_singular()

    def _assert_positive_definite(self) -> Operation:
        return self._operator.assert_positive_definite()

    def _assert_self_adjoint(self) -> Operation:
        return self._operator.assert_self_adjoint()


class LinearOperatorInversion(_Wrapped):
    """The operator of the inverse of an `operator`. Raises `InvalidArgumentError` for one known to be singular."""

    def __init__(
        self,
        operator: LinearOperator,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        if operator.is_non_singular is False or is_non_singular is False:
            raise InvalidArgumentError("operator and supplied hints must have `is_non_singular` = `True` or `None`.")
        if operator.is_square is False or is_square is False:
            raise InvalidArgumentError("operator must be square")
        hints = (is_self_adjoint, is_positive_definite, True if is_square is None else is_square)
        super().__init__(operator, True, *hints, name)

    def _ending(self, name: str) -> str:
        return f"{name}_inv"

    def _to_dense(self) -> Tensor:
        return self._operator.solve(eye(self._operator.shape_tensor()[-1], dtype=self.dtype))

    def _matmul(self, x: Tensor, adjoint: bool, adjoint_arg: bool) -> Tensor:
        return self._operator.solve(x, adjoint, adjoint_arg)

    def _solve(self, rhs: Tensor, adjoint: bool) -> Tensor:
        return self._operator.matmul(rhs, adjoint)

    def _determinant(self) -> Tensor:
        return 1 / self._operator.determinant()

    def _log_abs_determinant(self) -> Tensor:
        return -self._operator.log_abs_determinant()

    def _inverse(self) -> LinearOperator:
        return self._operator

    def _assert_non_singular(self) -> Operation:
        return self._operator.assert_non_singular()


class _OfOperators(LinearOperator):
    """An operator of several others."""

    joint = "_o_"

    def __init__(
        self,
        operators: Sequence[LinearOperator],
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        self._operators = operators_of(operators, type(self).__name__)
        self._check()
        hints = self._hints([is_non_singular, is_self_adjoint, is_positive_definite, is_square])
        parents = [tensor for operator in self._operators for tensor in operator.graph_parents]
        joined = self.joint.join(operator.name for operator in self._operators)
        a, b, c, d = hints
        super().__init__(self._operators[0].dtype, parents, a, b, c, d, name or joined)

    def _check(self) -> None:
        """Raises an error when the sizes of the operators do not fit."""

    def _hints(self, given: list[bool | None]) -> list[bool | None]:
        names = ("is_non_singular", "is_self_adjoint", "is_positive_definite", "is_square")
        return [_all_known(self._operators, of, value) for of, value in zip(names, given, strict=True)]

    @property
    def operators(self) -> list[LinearOperator]:
        """The operators that this one was made of."""
        return self._operators

    def _batches(self) -> Shape:
        return broadcast_all([operator.batch_shape for operator in self._operators])

    def _batch_tensor(self) -> Tensor:
        return reduce(broadcast_dynamic_shape, (operator.batch_shape_tensor() for operator in self._operators))

    def _assert_non_singular(self) -> Operation:
        return group(*(operator.assert_non_singular() for operator in self._operators))


class LinearOperatorComposition(_OfOperators):
    """The operator of the product of `operators`, the last of which is applied first."""

    def _check(self) -> None:
        for left, right in zip(self._operators, self._operators[1:], strict=False):
            if (a := left.domain_dimension) != (b := right.range_dimension):  # None, if one is unknown
                raise InvalidArgumentError(f"Composition: {left.name} has {int(a)} columns, {right.name} {int(b)} rows")

    def _hints(self, given: list[bool | None]) -> list[bool | None]:
        return [_all_known(self._operators, "is_non_singular", given[0]), *given[1:]]

    def _shape(self) -> Shape:
        first, last = self._operators[0], self._operators[-1]
        return self._batches().concatenate(Shape((first.range_dimension, last.domain_dimension)))

    def _shape_tensor(self) -> Tensor:
        sides = [self._operators[0].range_dimension_tensor(), self._operators[-1].domain_dimension_tensor()]
        return concat([self._batch_tensor(), stack(sides)], 0)

    def _to_dense(self) -> Tensor:
        result = self._operators[-1].to_dense()
        for operator in reversed(self._operators[:-1]):
            result = operator.matmul(result)
        return result

    def _matmul(self, x: Tensor, adjoint: bool, adjoint_arg: bool) -> Tensor:
        order = self._operators if adjoint else self._operators[::-1]
        result = order[0].matmul(x, adjoint, adjoint_arg)
        for operator in order[1:]:
            result = operator.matmul(result, adjoint)
        return result

    def _solve(self, rhs: Tensor, adjoint: bool) -> Tensor:
        for operator in self._operators[::-1] if adjoint else self._operators:
            rhs = operator.solve(rhs, adjoint)
        return rhs

    def _determinant(self) -> Tensor:
        return reduce(lambda a, b: a * b, [operator.determinant() for operator in self._operators])

    def _log_abs_determinant(self) -> Tensor:
        return reduce(lambda a, b: a + b, [operator.log_abs_determinant() for operator in self._operators])


class LinearOperatorBlockDiag(_OfOperators):
    """The operator of a matrix that has those of `operators` as blocks along its diagonal, and zeros elsewhere."""

    joint = "_ds_"

    def _shape(self) -> Shape:
        sides = []
        for of in ("range_dimension", "domain_dimension"):
            sizes = [getattr(operator, of).value for operator in self._operators]
            sides.append(None if None in sizes else sum(sizes))
        return self._batches().concatenate(Shape(tuple(sides)))

    def _shape_tensor(self) -> Tensor:
        rows = sum(operator.range_dimension_tensor() for operator in self._operators)
        columns = sum(operator.domain_dimension_tensor() for operator in self._operators)
        return concat([self._batch_tensor(), stack([rows, columns])], 0)

    def _parts(self, x: Tensor, adjoint: bool) -> list[Any]:
        """The rows of x that each block is multiplied by."""
        parts, first = [], 0
        for operator in self._operators:
            size = operator.range_dimension_tensor() if adjoint else operator.domain_dimension_tensor()
            parts.append(x[..., first : first + size, :])
            first = first + size
        return parts

    def _joined(self, parts: Sequence[Any]) -> Tensor:
        batch = reduce(broadcast_dynamic_shape, (shape(part)[:-2] for part in parts))
        return concat([BROADCAST_TO(part, concat([batch, shape(part)[-2:]], 0)) for part in parts], -2)

    def _to_dense(self) -> Tensor:
        batch, before, rows = self._batch_tensor(), 0, []
        columns = self.domain_dimension_tensor()
        for operator in self._operators:
            height, width = operator.range_dimension_tensor(), operator.domain_dimension_tensor()
            block = BROADCAST_TO(operator.to_dense(), concat([batch, stack([height, width])], 0))
            sides = [concat([batch, stack([height, n])], 0) for n in (before, columns - before - width)]
            left, right = (zeros(size, dtype=self.dtype) for size in sides)
            rows.append(concat([left, block, right], -1))
            before = before + width
        return concat(rows, -2)

    def _matmul(self, x: Tensor, adjoint: bool, adjoint_arg: bool) -> Tensor:
        parts = self._parts(adjoint_of(x) if adjoint_arg else x, adjoint)
        return self._joined([o.matmul(p, adjoint) for o, p in zip(self._operators, parts, strict=True)])

    def _solve(self, rhs: Tensor, adjoint: bool) -> Tensor:
        parts = self._parts(rhs, not adjoint)
        return self._joined([o.solve(p, adjoint) for o, p in zip(self._operators, parts, strict=True)])

    def _determinant(self) -> Tensor:
        return reduce(lambda a, b: a * b, [operator.determinant() for operator in self._operators])

    def _log_abs_determinant(self) -> Tensor:
        return reduce(lambda a, b: a + b, [operator.log_abs_determinant() for operator in self._operators])


class LinearOperatorKronecker(_OfOperators):
    """The operator of the Kronecker product of `operators`."""

    joint = "_x_"

    def _shape(self) -> Shape:
        sides = []
        for of in ("range_dimension", "domain_dimension"):
            sizes = [getattr(operator, of).value for operator in self._operators]
            sides.append(None if None in sizes else int(np.prod(sizes)))
        return self._batches().concatenate(Shape(tuple(sides)))

    def _shape_tensor(self) -> Tensor:
        sides = [
            reduce(lambda a, b: a * b, [getattr(operator, of)() for operator in self._operators])
            for of in ("range_dimension_tensor", "domain_dimension_tensor")
        ]
        return concat([self._batch_tensor(), stack(sides)], 0)

    def _to_dense(self) -> Tensor:
        return reduce(_kronecker, (operator.to_dense() for operator in self._operators))

    def _powers(self) -> list[Any]:
        """How often the determinant of each operator counts as a factor."""
        total = self.domain_dimension_tensor()
        return [cast(total // operator.domain_dimension_tensor(), self.dtype) for operator in self._operators]

    def _determinant(self) -> Tensor:
        pairs = zip(self._operators, self._powers(), strict=True)
        return reduce(lambda a, b: a * b, [POW(operator.determinant(), n) for operator, n in pairs])

    def _log_abs_determinant(self) -> Tensor:
        pairs = zip(self._operators, self._powers(), strict=True)
        values = [o.log_abs_determinant() * n for o, n in pairs]
        return reduce(lambda a, b: a + b, values)


def _kronecker(a: Tensor, b: Tensor) -> Tensor:
    """The Kronecker product of two stacks of matrices."""
    first, second = shape(a), shape(b)
    left = EXPAND_DIMS(EXPAND_DIMS(a, np.int32(-1)), np.int32(-3))
    right = EXPAND_DIMS(EXPAND_DIMS(b, np.int32(-2)), np.int32(-4))
    batch = broadcast_dynamic_shape(first[:-2], second[:-2])
    return RESHAPE(left * right, concat([batch, first[-2:] * second[-2:]], 0))


WRAPPERS["LinearOperatorAdjoint"] = LinearOperatorAdjoint
WRAPPERS["LinearOperatorInversion"] = LinearOperatorInversion
WRAPPERS["LinearOperatorComposition"] = LinearOperatorComposition
