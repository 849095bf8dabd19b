"""Lookup tables (TensorFlow 1.x, `tf.lookup`): keys, which are strings or integers, and the values that belong to them.

A static table is filled once by an initialisation, a mutable one by insertions. All operations run on the host.
Invariant: a table is one resource, identified by container and name; an operation that fails changes nothing.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tfnb.errors import FailedPreconditionError, InvalidArgumentError, NotFoundError, ShapeError
from tfnb.ir.opdef import NOT_DIFFERENTIABLE, HostCall, Infer, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.record import record
from tfnb.ir.shapes import merged
from tfnb.ir.tensor import Tensor
from tfnb.ops.state.handles import make_handle, named_resource, resource_of
from tfnb.types import ALL, DType, Shape, float32, float64, int32, int64, scalar, string, unknown_shape

__all__ = ["API", "LINE_NUMBER", "OPS", "WHOLE_LINE"]

WHOLE_LINE, LINE_NUMBER = -2, -1  # indices of columns of a text file that are not columns
_KEYS = (int32, int64, string)


class Table:
    """The contents of a table.

    fixed: whether it is filled by one initialisation alone. value_shape: the shape of the value of a key.
    """

    def __init__(
        self, name: str, key_dtype: DType, value_dtype: DType, value_shape: Sequence[int], fixed: bool
    ) -> None:
        self.name = name
        self.key_dtype, self.value_dtype = key_dtype, value_dtype
        self.value_shape = tuple(value_shape)
        self.fixed = fixed
        self.empty_keys: tuple[Any, ...] = ()  # keys that a dense table reserves
        self._entries: dict[Any, Any] | None = None if fixed else {}
        self._lock = threading.Lock()

    @property
    def kind(self) -> tuple[Any, ...]:
        """What tables of the same name must agree in."""
        return self.key_dtype, self.value_dtype, self.value_shape, self.fixed

    def entries(self) -> dict[Any, Any]:
        """Returns the values by key. Raises `FailedPreconditionError` before the initialisation."""
        if self._entries is None:
            raise FailedPreconditionError(f"Table not initialized: '{self.name}'; run tf.tables_initializer() first")
        return self._entries

    def initialize(self, pairs: Iterable[tuple[Any, Any]]) -> None:
        """Fills a static table; a second time only with what it has. Raises `FailedPreconditionError` otherwise."""
        new: dict[Any, Any] = {}
        for key, value in pairs:
            if not _same(new.setdefault(key, value), value):
                raise FailedPreconditionError(
                    f"HashTable has different value for same key. Key {key!r} has {new[key]!r} and trying to add "
                    f"value {value!r} (table '{self.name}')"
                )
        with self._lock:
            if self._entries is not None and not self.fixed:
                raise FailedPreconditionError(f"Table '{self.name}' is mutable; insert the entries")
            old = self._entries
            if old is not None and (old.keys() != new.keys() or any(not _same(old[k], new[k]) for k in old)):
                raise FailedPreconditionError(f"Table already initialized with different data: '{self.name}'")
            self._entries = new

    def change(self, change: Callable[[dict[Any, Any]], None], keys: Sequence[Any], replace: bool = False) -> None:
        """Calls `change` with the entries, or with none if it is to `replace` them; readers see all of it or nothing.

        Raises `InvalidArgumentError` for reserved `keys`, `FailedPreconditionError` if the table is static.
        """
        if self.fixed:
            raise FailedPreconditionError(f"Table '{self.name}' is static; only an initialisation fills it")
        reserved = [key for key in keys if key in self.empty_keys]
        if reserved:
            raise InvalidArgumentError(f"Using the empty_key or deleted_key as a table key is not allowed: {reserved}")
        with self._lock:
            entries = {} if replace else dict(self.entries())
            change(entries)
            self._entries = entries


def _same(a: ArrayLike, b: ArrayLike) -> bool:
    return bool(np.array_equal(a, b))


# ---- operations ----------------------------------------------------------------------------------


@record
class TableAttrs:
    """The dtypes of keys and values; `container`, `shared_name`: where the table is stored, and under which name."""

    key_dtype: DType
    value_dtype: DType
    container: str = ""
    shared_name: str = ""
    use_node_name_sharing: bool = False


@record
class VectorTableAttrs:
    """As TableAttrs; `value_shape`: the shape of the value of a key."""

    key_dtype: DType
    value_dtype: DType
    container: str = ""
    shared_name: str = ""
    use_node_name_sharing: bool = False
    value_shape: Shape = scalar


@record
class DenseTableAttrs:
    """As VectorTableAttrs, where the dtype of the keys is that of `empty_key`. The sizes of the table of buckets are
    without effect."""

    value_dtype: DType
    container: str = ""
    shared_name: str = ""
    use_node_name_sharing: bool = False
    value_shape: Shape = scalar
    initial_num_buckets: int = 131072
    max_load_factor: float = 0.8


@record
class FileAttrs:
    """The columns of keys and of values in the lines of the file, `WHOLE_LINE` or `LINE_NUMBER`; `vocab_size`: the
    number of lines, -1 for all; `delimiter` of columns."""

    key_index: int
    value_index: int
    vocab_size: int = -1
    delimiter: str = "\t"


def _make(call: HostCall, key_dtype: DType, fixed: bool) -> Table:
    a = call.attrs
    shape = tuple(getattr(a, "value_shape", scalar).as_list())
    if key_dtype not in _KEYS:
        raise InvalidArgumentError(f"keys of a table are strings, int32 or int64, not {key_dtype.name}", call.op)
    wanted = Table("", key_dtype, a.value_dtype, shape, fixed)
    table = named_resource(call, Table, lambda name: Table(name, key_dtype, a.value_dtype, shape, fixed))
    if table.kind != wanted.kind:
        raise InvalidArgumentError(f"Table '{table.name}' has {table.kind}, requested was {wanted.kind}", call.op)
    return table


def _handle(call: HostCall) -> np.ndarray:
    return make_handle(_make(call, call.attrs.key_dtype, call.op.type in ("HashTableV2", "HashTable")))


def _dense_handle(call: HostCall, empty: np.ndarray, deleted: np.ndarray) -> np.ndarray:
    table = _make(call, call.types["key_dtype"], False)
    table.empty_keys = (empty.tolist(), deleted.tolist())
    if table.empty_keys[0] == table.empty_keys[1]:
        raise InvalidArgumentError("Empty and deleted keys cannot be equal", call.op)
    return make_handle(table)


def _of(handle: np.ndarray, call: HostCall, key: str = "", value: str = "") -> Table:
    """The table of a handle. Raises `InvalidArgumentError` unless the dtypes of the type variables are the table's."""
    table = resource_of(handle, Table, call.op)
    for role, variable, dtype in (("key", key, table.key_dtype), ("value", value, table.value_dtype)):
        if variable and call.types[variable] is not dtype:
            raise InvalidArgumentError(
                f"Table '{table.name}' has {role}s of {dtype.name}, got {call.types[variable].name}", call.op
            )
    return table


def _rows(table: Table, keys: np.ndarray, values: np.ndarray, call: HostCall) -> list[tuple[Any, Any]]:
    if values.shape != keys.shape + table.value_shape:
        raise InvalidArgumentError(
            f"Expected shape {list(keys.shape + table.value_shape)} for value, got {list(values.shape)}", call.op
        )
    flat = values.reshape(keys.size, *table.value_shape)
    parts = flat.tolist() if not table.value_shape else list(flat)
    return list(zip(keys.ravel().tolist(), parts, strict=True))


def _initialize(call: HostCall, handle: np.ndarray, keys: np.ndarray, values: np.ndarray) -> tuple[()]:
    table = _of(handle, call, "Tkey", "Tval")
    if keys.ndim != 1 or values.shape != keys.shape:
        raise InvalidArgumentError(f"Expected vectors of one length, got {keys.shape} and {values.shape}", call.op)
    if not keys.size:
        raise InvalidArgumentError("keys and values cannot be empty tensors.", call.op)
    table.initialize(_rows(table, keys, values, call))
    return ()


def _number(kind: Callable[[bytes], Any], text: bytes, line: int, call: HostCall) -> Any:
    try:
        return kind(text)
    except ValueError:
        raise InvalidArgumentError(f"line {line + 1}: {text!r} is not a valid {kind.__name__}", call.op) from None


def _column(index: int, dtype: DType, call: HostCall) -> Callable[[int, bytes], Any]:
    """Returns the function from (number of a line, the line) to the entry that stands in the column `index`."""
    if index == LINE_NUMBER:
        if dtype not in (int32, int64):
            raise InvalidArgumentError(f"line numbers are int64, but the table needs {dtype.name}", call.op)
        return lambda number, line: number
    kind: Any = {string: bytes, float32: float, float64: float}.get(dtype, int)
    if index == WHOLE_LINE:
        return lambda number, line: _number(kind, line, number, call)
    delimiter = call.attrs.delimiter.encode()

    def entry(number: int, line: bytes) -> Any:
        columns = line.split(delimiter)
        if index >= len(columns):
            raise InvalidArgumentError(
                f"Invalid number of columns in line {number} ({line!r}), expected at least {index + 1}, got "
                f"{len(columns)}",
                call.op,
            )
        return _number(kind, columns[index], number, call)

    return entry


def _initialize_from_file(call: HostCall, handle: np.ndarray, filename: np.ndarray) -> tuple[()]:
    table, a = _of(handle, call), call.attrs
    key, value = _column(a.key_index, table.key_dtype, call), _column(a.value_index, table.value_dtype, call)
    try:
        with open(os.fsdecode(filename.item()), "rb") as file:
            lines = [line.rstrip(b"\r\n") for line in file]
    except OSError as e:
        raise NotFoundError(f"{os.fsdecode(filename.item())}; {e.strerror}", call.op) from e
    if a.vocab_size >= 0:
        if len(lines) < a.vocab_size:
            raise InvalidArgumentError(
                f"Invalid vocab_size: expected {a.vocab_size} lines but got {len(lines)}", call.op
            )
        lines = lines[: a.vocab_size]
    table.initialize((key(i, line), value(i, line)) for i, line in enumerate(lines))
    return ()


def _array(values: Sequence[Any], shape: tuple[int, ...], dtype: DType) -> np.ndarray:
    if dtype is string:
        array = np.empty(len(values), object)
        array[:] = list(values)
        return array.reshape(shape)
    return np.asarray(values, dtype.np).reshape(shape)


def _find(call: HostCall, handle: np.ndarray, keys: np.ndarray, default: np.ndarray) -> np.ndarray:
    table = _of(handle, call, "Tin", "Tout")
    if default.shape not in (table.value_shape, keys.shape + table.value_shape):
        raise InvalidArgumentError(
            f"Expected shape {list(table.value_shape)} for the default value, got {list(default.shape)}", call.op
        )
    entries = table.entries()
    fallback = default.tolist() if not default.shape else default
    each = default.reshape(keys.size, *table.value_shape) if default.shape != table.value_shape else None
    found = [entries.get(key, fallback if each is None else each[i]) for i, key in enumerate(keys.ravel().tolist())]
    shape = keys.shape + table.value_shape
    if table.value_dtype is string and table.value_shape:
        return np.array(found, object).reshape(shape)
    return _array(found, shape, table.value_dtype)


def _insert(call: HostCall, handle: np.ndarray, keys: np.ndarray, values: np.ndarray) -> tuple[()]:
    table = _of(handle, call, "Tin", "Tout")
    rows = _rows(table, keys, values, call)
    table.change(lambda entries: entries.update(rows), [key for key, _ in rows])
    return ()


def _import(call: HostCall, handle: np.ndarray, keys: np.ndarray, values: np.ndarray) -> tuple[()]:
    """Gives a mutable table other entries. A static one is initialised, as graphs of 1.13 and later do it."""
    table = _of(handle, call, "Tin", "Tout")
    rows = _rows(table, keys, values, call)
    if table.fixed:
        table.initialize(rows)
    else:
        table.change(lambda entries: entries.update(rows), [key for key, _ in rows], replace=True)
    return ()


def _remove(call: HostCall, handle: np.ndarray, keys: np.ndarray) -> tuple[()]:
    table, names = _of(handle, call, "Tin"), keys.ravel().tolist()

    def remove(entries: dict[Any, Any]) -> None:
        for key in names:
            entries.pop(key, None)

    table.change(remove, names)
    return ()


def _export(call: HostCall, handle: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    table = _of(handle, call, "Tkeys", "Tvalues")
    entries = table.entries()
    keys = _array(list(entries), (len(entries),), table.key_dtype)
    shape = (len(entries), *table.value_shape)
    return keys, np.array(list(entries.values()), table.value_dtype.np).reshape(shape)


def _size(call: HostCall, handle: np.ndarray) -> np.int64:
    return np.int64(len(_of(handle, call).entries()))


def _vectors(c: Infer) -> tuple[()]:
    for shape in c.shapes[1:]:
        if shape.ndims not in (None, 1):
            raise ShapeError(f"Shape must be rank 1 but is rank {shape.ndims}: {shape}")
    merged(c, 1, 2)
    return ()


def _one_file(c: Infer) -> tuple[()]:
    if c.shapes[1].ndims not in (None, 0):
        raise ShapeError(f"Shape must be rank 0 but is rank {c.shapes[1].ndims}: the filename must be a scalar")
    return ()


def _found_shape(c: Infer) -> Shape:
    default = c.shapes[2]
    if default.ndims == 0:
        return c.shapes[1]
    return unknown_shape


def _host(name: str, inputs: str, outputs: str, doc: str, host: Callable[..., Any], **rest: Any) -> OpDef:
    return OpDef(name, inputs, outputs, doc + " Host only.", host=host, grad=NOT_DIFFERENTIABLE, stateful=True, **rest)


_CREATES = (
    "\n\ntable_handle: the table, a scalar. Errors: InvalidArgumentError when a table of that name is of another kind."
)
_OF_INPUTS = {"Tin": _KEYS, "Tout": ALL}

HASH_TABLE: OpDef[Tensor] = _host(
    "HashTableV2",
    "",
    "table_handle: resource",
    "A static table, which one initialisation fills." + _CREATES,
    _handle,
    attrs=TableAttrs,
    infer=lambda c: scalar,
)
MUTABLE_HASH_TABLE: OpDef[Tensor] = _host(
    "MutableHashTableV2",
    "",
    "table_handle: resource",
    "A table that insertions change, from keys to scalars." + _CREATES,
    _handle,
    attrs=TableAttrs,
    infer=lambda c: scalar,
)
MUTABLE_HASH_TABLE_OF_TENSORS: OpDef[Tensor] = _host(
    "MutableHashTableOfTensorsV2",
    "",
    "table_handle: resource",
    "A table that insertions change, from keys to tensors of one shape." + _CREATES,
    _handle,
    attrs=VectorTableAttrs,
    infer=lambda c: scalar,
)
MUTABLE_DENSE_HASH_TABLE: OpDef[Tensor] = _host(
    "MutableDenseHashTableV2",
    "empty_key: key_dtype, deleted_key: key_dtype",
    "table_handle: resource",
    "A table that insertions change, and that reserves two keys." + _CREATES,
    _dense_handle,
    types={"key_dtype": _KEYS},
    attrs=DenseTableAttrs,
    infer=lambda c: scalar,
)
INITIALIZE_TABLE: OpDef[Operation] = _host(
    "InitializeTableV2",
    "table_handle: resource, keys: Tkey, values: Tval",
    "",
    "Fills a static table with the entries of two vectors. Errors: FailedPreconditionError when it has other entries.",
    _initialize,
    types={"Tkey": _KEYS, "Tval": ALL},
    infer=_vectors,
)
INITIALIZE_TABLE_FROM_TEXT_FILE: OpDef[Operation] = _host(
    "InitializeTableFromTextFileV2",
    "table_handle: resource, filename: string",
    "",
    "Fills a static table with an entry for each line of a file. Errors: FailedPreconditionError when it has other "
    "entries, NotFoundError for a file that cannot be read, InvalidArgumentError for lines that do not fit.",
    _initialize_from_file,
    attrs=FileAttrs,
    infer=_one_file,
    blocking=True,
)
FIND: OpDef[Tensor] = _host(
    "LookupTableFindV2",
    "table_handle: resource, keys: Tin, default_value: Tout",
    "values: Tout",
    "The values of the keys, and the default value for keys that the table does not have.\n\nvalues: the shape of "
    "`keys` and then that of a value. Errors: FailedPreconditionError before the initialisation.",
    _find,
    types=_OF_INPUTS,
    infer=_found_shape,
)
INSERT: OpDef[Operation] = _host(
    "LookupTableInsertV2",
    "table_handle: resource, keys: Tin, values: Tout",
    "",
    "Adds entries to a mutable table, or gives keys new values.",
    _insert,
    types=_OF_INPUTS,
)
IMPORT: OpDef[Operation] = _host(
    "LookupTableImportV2",
    "table_handle: resource, keys: Tin, values: Tout",
    "",
    "Replaces all entries of a mutable table, or fills a static one. Errors: FailedPreconditionError when a static "
    "table has other entries.",
    _import,
    types=_OF_INPUTS,
)
REMOVE: OpDef[Operation] = _host(
    "LookupTableRemoveV2",
    "table_handle: resource, keys: Tin",
    "",
    "Removes entries from a mutable table; keys that it does not have are passed over.",
    _remove,
    types={"Tin": _KEYS},
)
EXPORT: OpDef[tuple[Tensor, Tensor]] = _host(
    "LookupTableExportV2",
    "table_handle: resource",
    "keys: Tkeys, values: Tvalues",
    "All keys of a table, as a vector, and their values in the same order.",
    _export,
    types={"Tkeys": _KEYS, "Tvalues": ALL},
    infer=lambda c: (Shape((None,)), unknown_shape),
    dynamic=True,
)
SIZE: OpDef[Tensor] = _host(
    "LookupTableSizeV2",
    "table_handle: resource",
    "size: int64",
    "The number of entries of a table, an int64 scalar.",
    _size,
    infer=lambda c: scalar,
)

OPS: tuple[OpDef, ...] = (
    HASH_TABLE,
    MUTABLE_HASH_TABLE,
    MUTABLE_HASH_TABLE_OF_TENSORS,
    MUTABLE_DENSE_HASH_TABLE,
    INITIALIZE_TABLE,
    INITIALIZE_TABLE_FROM_TEXT_FILE,
    FIND,
    INSERT,
    IMPORT,
    REMOVE,
    EXPORT,
    SIZE,
)
API: dict[str, Any] = {}
