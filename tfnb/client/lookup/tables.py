"""Lookup tables as users call them: static and mutable ones, their initialisers, and buckets for unknown keys.

Invariant: the initialisation of each static table is in the collection TABLE_INITIALIZERS, which `tables_initializer`
runs.
"""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

from tfnb.client.graph.collection_keys import GraphKeys
from tfnb.client.graph.default_graph import name_scope
from tfnb.errors import DTypeError, InvalidArgumentError
from tfnb.ir.const import constant_value
from tfnb.ir.default import get_default_graph
from tfnb.ir.operation import Operation
from tfnb.ir.sparse import SparseTensor
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.constants import constant, convert_to_tensor
from tfnb.ops.array.where_partition import where
from tfnb.ops.control_flow.switch_merge import NO_OP
from tfnb.ops.math.cast import cast
from tfnb.ops.math.compare import NOT_EQUAL
from tfnb.ops.state import tables as ops
from tfnb.ops.strings.convert import AS_STRING
from tfnb.ops.strings.hashing import STRING_TO_HASH_BUCKET_FAST, STRING_TO_HASH_BUCKET_STRONG
from tfnb.types import DType, DTypeLike, Shape, as_dtype, int64, string

__all__ = [
    "DenseHashTable",
    "FastHashSpec",
    "HashTable",
    "HasherSpec",
    "IdTableWithHashBuckets",
    "InitializableLookupTableBase",
    "KeyValueTensorInitializer",
    "KeysLike",
    "LookupInterface",
    "MutableDenseHashTable",
    "MutableHashTable",
    "StaticHashTable",
    "StaticVocabularyTable",
    "StrongHashSpec",
    "TableInitializerBase",
    "TextFileIdTableInitializer",
    "TextFileIndex",
    "TextFileInitializer",
    "TextFileStringTableInitializer",
]


class TextFileIndex:
    """The indices that stand for a whole line and for its number, where others stand for a column."""

    WHOLE_LINE = ops.WHOLE_LINE
    LINE_NUMBER = ops.LINE_NUMBER


class HasherSpec(NamedTuple):
    """A hash function for unknown keys, "fasthash" or "stronghash", and its key."""

    hasher: str
    key: Any


FastHashSpec = HasherSpec("fasthash", None)


def StrongHashSpec(key: Sequence[int]) -> HasherSpec:
    """Returns the hash function that nobody can predict without `key`, two integers of 64 bits.

    Raises `InvalidArgumentError` for another number of them, `DTypeError` for other types.
    """
    if not isinstance(key, (list, tuple)) or len(key) != 2:
        raise InvalidArgumentError(f"a strong hash needs a key of two integers, got {key!r}")
    if not all(isinstance(part, numbers.Integral) for part in key):
        raise DTypeError(f"a strong hash needs a key of two integers, got {key!r}")
    return HasherSpec("stronghash", list(key))


# The keys that a table is asked for: a tensor, a value that becomes one, or a sparse tensor.
KeysLike: TypeAlias = TensorLike | SparseTensor


class TableInitializerBase:
    """The entries with which a static table begins."""

    def __init__(self, key_dtype: DTypeLike, value_dtype: DTypeLike) -> None:
        self.key_dtype, self.value_dtype = as_dtype(key_dtype), as_dtype(value_dtype)

    def fill(self, handle: Tensor, name: str | None) -> Operation:
        """Returns the operation that fills the table of the `handle`."""
        raise NotImplementedError

    def initialize(self, table: LookupInterface) -> Operation:
        """Returns the operation that fills `table`, and collects it. Raises `DTypeError` for other dtypes."""
        if (table.key_dtype, table.value_dtype) != (self.key_dtype, self.value_dtype):
            raise DTypeError(
                f"the table has keys of {table.key_dtype.name} and values of {table.value_dtype.name}, the initializer "
                f"{self.key_dtype.name} and {self.value_dtype.name}"
            )
        operation = self.fill(table.resource_handle, getattr(self, "_name", None))
        operation.graph.add_to_collection(GraphKeys.TABLE_INITIALIZERS, operation)
        return operation


class KeyValueTensorInitializer(TableInitializerBase):
    """The entries of two vectors."""

    def __init__(
        self,
        keys: TensorLike,
        values: TensorLike,
        key_dtype: DTypeLike | None = None,
        value_dtype: DTypeLike | None = None,
        name: str | None = None,
    ) -> None:
        with name_scope(name or "key_value_init"):
            self._keys = convert_to_tensor(keys, key_dtype, name="keys")
            self._values = convert_to_tensor(values, value_dtype, name="values")
        super().__init__(self._keys.dtype, self._values.dtype)
        self._name = name

    def fill(self, handle: Tensor, name: str | None) -> Operation:
        """Returns the operation that fills the table of the `handle` with the entries of the vectors."""
        operation: Operation = ops.INITIALIZE_TABLE(handle, self._keys, self._values, name=name or "key_value_init")
        return operation


class TextFileInitializer(TableInitializerBase):
    """The entries of the lines of a file: a key and a value each."""

    def __init__(
        self,
        filename: TensorLike,
        key_dtype: DTypeLike,
        key_index: int,
        value_dtype: DTypeLike,
        value_index: int,
        vocab_size: int | None = None,
        delimiter: str = "\t",
        name: str | None = None,
    ) -> None:
        super().__init__(key_dtype, value_dtype)
        for role, index, dtype in (("key", key_index, self.key_dtype), ("value", value_index, self.value_dtype)):
            if index < ops.WHOLE_LINE:
                raise InvalidArgumentError(f"Invalid {role} index {index}.")
            if index == ops.LINE_NUMBER and dtype is not int64:
                raise InvalidArgumentError(f"Signature mismatch. {role} must be dtype int64, got {dtype.name}.")
            if index == ops.WHOLE_LINE and not (dtype.is_integer or dtype is string):
                raise InvalidArgumentError(f"Signature mismatch. {role} must be integer or string, got {dtype.name}.")
        if vocab_size is not None and vocab_size <= 0:
            raise InvalidArgumentError(f"Invalid vocab_size {vocab_size}.")
        if not hasattr(filename, "dtype") and not filename:
            raise InvalidArgumentError(f"Filename required for {name or 'text_file_init'}.")
        self._filename, self._name = filename, name
        self._columns: dict[str, Any] = {"key_index": key_index, "value_index": value_index, "delimiter": delimiter}
        self._columns["vocab_size"] = -1 if vocab_size is None else vocab_size

    def fill(self, handle: Tensor, name: str | None) -> Operation:
        """Returns the operation that fills the table of the `handle` with an entry for each line."""
        with name_scope(name or "text_file_init"):
            filename = convert_to_tensor(self._filename, string, name="asset_filepath")
            if constant_value(filename) is not None:  # one that is fed is no file of the graph's
                filename.graph.add_to_collection(GraphKeys.ASSET_FILEPATHS, filename)
            operation: Operation = ops.INITIALIZE_TABLE_FROM_TEXT_FILE(handle, filename, **self._columns)
        return operation


class TextFileIdTableInitializer(TextFileInitializer):
    """From the lines of a file to their numbers."""

    def __init__(
        self,
        filename: TensorLike,
        key_column_index: int = ops.WHOLE_LINE,
        value_column_index: int = ops.LINE_NUMBER,
        vocab_size: int | None = None,
        delimiter: str = "\t",
        name: str = "text_file_id_table_init",
        key_dtype: DTypeLike = string,
    ) -> None:
        super().__init__(filename, key_dtype, key_column_index, int64, value_column_index, vocab_size, delimiter, name)


class TextFileStringTableInitializer(TextFileInitializer):
    """From the numbers of lines of a file to the lines."""

    def __init__(
        self,
        filename: TensorLike,
        key_column_index: int = ops.LINE_NUMBER,
        value_column_index: int = ops.WHOLE_LINE,
        vocab_size: int | None = None,
        delimiter: str = "\t",
        name: str = "text_file_string_table_init",
    ) -> None:
        super().__init__(filename, int64, key_column_index, string, value_column_index, vocab_size, delimiter, name)


class LookupInterface:
    """A table: `lookup(keys)` gives the values, `size()` the number of entries."""

    resource_handle: Tensor

    def __init__(self, key_dtype: DTypeLike, value_dtype: DTypeLike) -> None:
        self._key_dtype, self._value_dtype = as_dtype(key_dtype), as_dtype(value_dtype)

    @property
    def key_dtype(self) -> DType:
        """The dtype of the keys."""
        return self._key_dtype

    @property
    def value_dtype(self) -> DType:
        """The dtype of the values."""
        return self._value_dtype

    @property
    def table_ref(self) -> Tensor:
        """The tensor that is the handle of the table."""
        return self.resource_handle

    @property
    def name(self) -> str:
        """The name of the operation that creates the table."""
        return str(self.resource_handle.op.name).rpartition("/")[2]

    def size(self, name: str | None = None) -> Tensor:
        """Returns the number of entries, an int64 scalar."""
        size: Tensor = ops.SIZE(self.resource_handle, name=name, graph=get_default_graph())
        return size

    def _checked(self, keys: KeysLike) -> Any:
        """Returns (the keys as a tensor, a function that gives values the form of `keys`)."""
        if isinstance(keys, SparseTensor):
            if keys.values.dtype is not self._key_dtype:
                raise DTypeError(f"keys must be {self._key_dtype.name}, got {keys.values.dtype.name}")
            return keys.values, lambda values: SparseTensor(keys.indices, values, keys.dense_shape)
        tensor = convert_to_tensor(keys, None if hasattr(keys, "dtype") else self._key_dtype)
        if tensor.dtype is not self._key_dtype:
            raise DTypeError(f"Signature mismatch. Keys must be dtype {self._key_dtype.name}, got {tensor.dtype.name}.")
        return tensor, lambda values: values

    def _find(self, keys: Tensor, default: Tensor, name: str | None) -> Tensor:
        values: Tensor = ops.FIND(self.resource_handle, keys, default, name=name, graph=keys.graph)
        if keys.shape.ndims is not None and default.shape.ndims is not None:
            values.set_shape(Shape((*(keys.shape.sizes or ()), *(default.shape.sizes or ()))))
        return values


class InitializableLookupTableBase(LookupInterface):
    """A static table that an initialiser fills."""

    def __init__(self, default_value: TensorLike, initializer: TableInitializerBase) -> None:
        super().__init__(initializer.key_dtype, initializer.value_dtype)
        self._initializer = initializer
        self.default_value = convert_to_tensor(default_value, self._value_dtype)
        if self.default_value.shape.ndims != 0:
            raise InvalidArgumentError(f"the default value must be a scalar, got shape {self.default_value.shape}")

    def _create(self, shared_name: str | None, name: str | None) -> None:
        self.resource_handle = ops.HASH_TABLE(
            key_dtype=self._key_dtype,
            value_dtype=self._value_dtype,
            shared_name=shared_name or "",
            name=name or "hash_table",
            graph=get_default_graph(),
        )
        self._init_op = self._initializer.initialize(self)

    @property
    def initializer(self) -> Operation:
        """The operation that fills the table."""
        return self._init_op

    @property
    def init(self) -> Operation:
        """The operation that fills the table."""
        return self._init_op

    def lookup(self, keys: KeysLike, name: str | None = None) -> Any:
        """Returns the values of `keys`, a tensor or sparse tensor, and the default value for unknown keys.

        Raises `DTypeError` for keys of another dtype; the step raises `FailedPreconditionError` before the table's
        initialisation.
        """
        tensor, in_form = self._checked(keys)
        return in_form(self._find(tensor, self.default_value, name or "hash_table_Lookup"))


class HashTable(InitializableLookupTableBase):
    """A static table. Tables with the same `shared_name` are the same."""

    def __init__(
        self,
        initializer: TableInitializerBase,
        default_value: TensorLike,
        shared_name: str | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(default_value, initializer)
        self._create(shared_name, name)

    def export(self, name: str | None = None) -> tuple[Tensor, Tensor]:
        """Returns (all keys, their values)."""
        keys, values = ops.EXPORT(self.resource_handle, Tkeys=self._key_dtype, Tvalues=self._value_dtype, name=name)
        values.set_shape(Shape((None,)))
        return keys, values


class StaticHashTable(HashTable):
    """A static table."""

    def __init__(self, initializer: TableInitializerBase, default_value: TensorLike, name: str | None = None) -> None:
        super().__init__(initializer, default_value, None, name)


class IdTableWithHashBuckets(LookupInterface):
    """A table of numbers whose unknown keys get one of `num_oov_buckets` numbers after those of the table, by a hash.

    table: a static table from keys to int64, or None. Integer keys are hashed as decimal strings.
    """

    def __init__(
        self,
        table: Any,
        num_oov_buckets: int,
        hasher_spec: HasherSpec = FastHashSpec,
        name: str | None = None,
        key_dtype: DTypeLike | None = None,
    ) -> None:
        dtype = as_dtype(key_dtype) if key_dtype is not None else (table.key_dtype if table is not None else string)
        if not (dtype.is_integer or dtype is string):
            raise DTypeError(f"Invalid key_dtype, expected integer or string, got {dtype.name}.")
        if not isinstance(hasher_spec, HasherSpec):
            raise DTypeError(f"hasher_spec must be of type HasherSpec, got {hasher_spec!r}")
        super().__init__(dtype, int64)
        if table is None and num_oov_buckets <= 0:
            raise InvalidArgumentError("oov_buckets must be > 0 if no table is supplied.")
        self._table, self._buckets, self._spec = table, num_oov_buckets, hasher_spec
        self._name = name or "id_table"
        handle: Any = None if table is None else table.resource_handle
        self.resource_handle = handle

    @property
    def name(self) -> str:
        """The name of the table."""
        return self._name

    @property
    def initializer(self) -> Any:
        """The operation that fills the table of known keys; one without effect if there is no table."""
        return NO_OP(graph=get_default_graph()) if self._table is None else self._table.initializer

    @property
    def init(self) -> Any:
        """The operation that fills the table of known keys; one without effect if there is no table."""
        return self.initializer

    def size(self, name: str | None = None) -> Tensor:
        """Returns the number of entries and buckets, an int64 scalar."""
        buckets = constant(self._buckets, int64)
        return buckets if self._table is None else self._table.size(name) + buckets

    def _hashed(self, keys: Tensor) -> Tensor:
        name = "hash_bucket"
        text = keys if keys.dtype is string else AS_STRING(keys)
        if self._spec.hasher == "stronghash":
            return STRING_TO_HASH_BUCKET_STRONG(text, num_buckets=self._buckets, key=self._spec.key, name=name)
        if self._spec.hasher != "fasthash":
            raise InvalidArgumentError(f"Unknown hasher {self._spec.hasher!r}; needed fasthash or stronghash")
        return STRING_TO_HASH_BUCKET_FAST(text, num_buckets=self._buckets, name=name)

    def lookup(self, keys: KeysLike, name: str | None = None) -> Any:
        """Returns the numbers of `keys`, a tensor or sparse tensor, int64.

        Raises `DTypeError` for other keys, `InvalidArgumentError` for an unknown hash function.
        """
        if isinstance(keys, SparseTensor) or hasattr(keys, "dtype"):
            given = as_dtype(keys.dtype)
            if given.is_integer and self._key_dtype is not string and given is not self._key_dtype:
                values = cast(keys.values if isinstance(keys, SparseTensor) else keys, self._key_dtype)
                keys = (
                    SparseTensor(keys.indices, values, keys.dense_shape) if isinstance(keys, SparseTensor) else values
                )
        tensor, in_form = self._checked(keys)
        if self._table is None or self._buckets > 0:
            with name_scope(name or f"{self._name}_Lookup"):
                return in_form(self._with_buckets(tensor))
        return in_form(self._numbers(tensor, name))

    def _numbers(self, keys: Tensor, name: str | None) -> Any:
        known = keys if self._table.key_dtype is keys.dtype else cast(keys, self._table.key_dtype)
        return self._table.lookup(known, name)

    def _with_buckets(self, keys: Tensor) -> Any:
        if self._table is None:
            return self._hashed(keys)
        numbers = self._numbers(keys, None)
        return where(NOT_EQUAL(numbers, self._table.default_value), numbers, self._hashed(keys) + self._table.size())


class StaticVocabularyTable(IdTableWithHashBuckets):
    """A static table of numbers with buckets for unknown keys, made from an initialiser."""

    def __init__(
        self,
        initializer: TableInitializerBase | None,
        num_oov_buckets: int,
        lookup_key_dtype: DTypeLike | None = None,
        name: str | None = None,
    ) -> None:
        if num_oov_buckets <= 0:
            raise InvalidArgumentError("oov_buckets must be > 0.")
        table = None if initializer is None else HashTable(initializer, -1)
        super().__init__(table, num_oov_buckets, FastHashSpec, name, lookup_key_dtype)


class _Mutable(LookupInterface):
    """A table that `insert` changes."""

    def __init__(self, key_dtype: DTypeLike, value_dtype: DTypeLike, default_value: TensorLike) -> None:
        super().__init__(key_dtype, value_dtype)
        self._default = convert_to_tensor(default_value, self._value_dtype)

    def lookup(self, keys: KeysLike, name: str | None = None) -> Any:
        """Returns the values of `keys`: the shape of the keys and then that of the default value."""
        tensor, in_form = self._checked(keys)
        return in_form(self._find(tensor, self._default, name))

    def insert(self, keys: TensorLike, values: TensorLike, name: str | None = None) -> Operation:
        """Returns the operation that adds entries, or gives keys new values."""
        tensor, _ = self._checked(keys)
        operation: Operation = ops.INSERT(
            self.resource_handle, tensor, convert_to_tensor(values, self._value_dtype), name=name
        )
        return operation

    def remove(self, keys: TensorLike, name: str | None = None) -> Operation:
        """Returns the operation that removes entries; unknown keys are passed over."""
        operation: Operation = ops.REMOVE(self.resource_handle, self._checked(keys)[0], name=name)
        return operation

    def erase(self, keys: TensorLike, name: str | None = None) -> Operation:
        """Returns the operation that removes entries, as `remove`."""
        return self.remove(keys, name)

    def export(self, name: str | None = None) -> tuple[Tensor, Tensor]:
        """Returns (all keys, their values)."""
        keys, values = ops.EXPORT(self.resource_handle, Tkeys=self._key_dtype, Tvalues=self._value_dtype, name=name)
        if self._default.shape.ndims is not None:
            values.set_shape(Shape((None, *(self._default.shape.sizes or ()))))
        return keys, values


class MutableHashTable(_Mutable):
    """A table that insertions change. Its contents last as long as the session; `Saver` does not write them."""

    def __init__(
        self,
        key_dtype: DTypeLike,
        value_dtype: DTypeLike,
        default_value: TensorLike,
        name: str = "MutableHashTable",
        checkpoint: bool = True,
    ) -> None:
        super().__init__(key_dtype, value_dtype, default_value)
        attrs: dict[str, Any] = {"key_dtype": self._key_dtype, "value_dtype": self._value_dtype}
        if self._default.shape.ndims == 0:
            self.resource_handle = ops.MUTABLE_HASH_TABLE(name=name, graph=get_default_graph(), **attrs)
        else:
            self.resource_handle = ops.MUTABLE_HASH_TABLE_OF_TENSORS(
                name=name, graph=get_default_graph(), value_shape=self._default.shape, **attrs
            )


class MutableDenseHashTable(_Mutable):
    """A table that insertions change, which reserves the keys `empty_key` and `deleted_key`.

    Its contents last as long as the session; `Saver` does not write them.
    """

    def __init__(
        self,
        key_dtype: DTypeLike,
        value_dtype: DTypeLike,
        default_value: TensorLike,
        empty_key: TensorLike,
        deleted_key: TensorLike,
        initial_num_buckets: int | None = None,
        name: str = "MutableDenseHashTable",
        checkpoint: bool = True,
    ) -> None:
        super().__init__(key_dtype, value_dtype, default_value)
        self.resource_handle = ops.MUTABLE_DENSE_HASH_TABLE(
            convert_to_tensor(empty_key, self._key_dtype),
            convert_to_tensor(deleted_key, self._key_dtype),
            value_dtype=self._value_dtype,
            value_shape=self._default.shape,
            name=name,
        )


DenseHashTable = MutableDenseHashTable
