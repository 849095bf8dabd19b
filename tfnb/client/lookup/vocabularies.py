"""Vocabularies as tables: from words to numbers and back, from a file or a tensor; and the initialiser of all tables.

Invariant: words are numbered from 0 in the order of the lines of the file, or of the elements of the tensor.
"""

from __future__ import annotations

from typing import Any

from tfnb.client.graph.collection_keys import GraphKeys
from tfnb.client.graph.default_graph import name_scope
from tfnb.client.lookup.tables import (
    FastHashSpec,
    HasherSpec,
    HashTable,
    IdTableWithHashBuckets,
    KeysLike,
    KeyValueTensorInitializer,
    TextFileIdTableInitializer,
    TextFileIndex,
    TextFileStringTableInitializer,
)
from tfnb.client.variables.variable import group
from tfnb.errors import DTypeError, InvalidArgumentError
from tfnb.ir.const import constant_value
from tfnb.ir.default import get_default_graph
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.constants import convert_to_tensor
from tfnb.ops.array.constants import range_ as range_op
from tfnb.ops.array.shape_ops import size
from tfnb.ops.math.cast import cast
from tfnb.types import DType, DTypeLike, as_dtype, int64, string

__all__ = [
    "index_table_from_file",
    "index_table_from_tensor",
    "index_to_string",
    "index_to_string_table_from_file",
    "index_to_string_table_from_tensor",
    "string_to_index",
    "tables_initializer",
]


def tables_initializer(name: str = "init_all_tables") -> Operation:
    """Returns an operation that fills all static tables created so far."""
    return group(*get_default_graph().get_collection(GraphKeys.TABLE_INITIALIZERS), name=name)


def _with_buckets(
    table: HashTable, buckets: int, spec: HasherSpec, name: str, key_dtype: DType
) -> HashTable | IdTableWithHashBuckets:
    if not buckets:
        return table
    return IdTableWithHashBuckets(table, buckets, spec, name, key_dtype)


def _check_buckets(
    num_oov_buckets: int, hasher_spec: object, vocab_size: int | None = None, file: object = None
) -> None:
    if num_oov_buckets < 0:
        raise InvalidArgumentError(f"num_oov_buckets must be greater or equal than 0, got {num_oov_buckets}.")
    if vocab_size is not None and vocab_size < 1:
        shown = constant_value(file) if isinstance(file, Tensor) else file
        raise InvalidArgumentError(f"vocab_size must be greater than 0, got {vocab_size}. vocabulary_file: {shown}")
    if num_oov_buckets and not isinstance(hasher_spec, HasherSpec):
        raise DTypeError(f"hasher_spec must be of type HasherSpec, got {hasher_spec!r}")


def _file_name(vocabulary_file: object) -> Any:
    if vocabulary_file is None or (isinstance(vocabulary_file, str) and not vocabulary_file):
        raise InvalidArgumentError("vocabulary_file must be specified and must not be empty.")
    return vocabulary_file


def _shared_name(file: object, vocab_size: int | None, key_column: int, value_column: int) -> str:
    """Returns the name of the table of these columns of a file, so that containers hold one table for each file."""
    parts = (file, key_column, value_column) if not vocab_size else (file, vocab_size, key_column, value_column)
    return "_".join(("hash_table", *map(str, parts)))


def index_table_from_file(
    vocabulary_file: TensorLike | None = None,
    num_oov_buckets: int = 0,
    vocab_size: int | None = None,
    default_value: int = -1,
    hasher_spec: HasherSpec = FastHashSpec,
    key_dtype: DTypeLike = string,
    name: str | None = None,
    key_column_index: int = TextFileIndex.WHOLE_LINE,
    value_column_index: int = TextFileIndex.LINE_NUMBER,
    delimiter: str = "\t",
) -> Any:
    """Returns a table from the words of a file, one on each line, to int64 numbers.

    Unknown words get `default_value`, or one of `num_oov_buckets` further numbers by a hash. vocab_size: how many lines
    count, all if None. key_dtype: string, or an integer type whose numbers the file has. Raises `InvalidArgumentError`
    for an empty name or negative numbers, `DTypeError` for other dtypes.
    """
    file = _file_name(vocabulary_file)
    _check_buckets(num_oov_buckets, hasher_spec, vocab_size, file)
    dtype = as_dtype(key_dtype)
    if not (dtype.is_integer or dtype is string):
        raise DTypeError(f"Only integer and string keys are supported, not {dtype.name}.")
    with name_scope(name or "string_to_index"):
        key = int64 if dtype.is_integer else dtype
        init = TextFileIdTableInitializer(
            file,
            key_column_index,
            value_column_index,
            vocab_size,
            delimiter,
            key_dtype=key,
        )
        shared_name = _shared_name(file, vocab_size, key_column_index, value_column_index)
        table = HashTable(init, default_value, shared_name)
        return _with_buckets(table, num_oov_buckets, hasher_spec, name or "string_to_index", dtype)


def index_table_from_tensor(
    mapping: TensorLike | None = None,
    num_oov_buckets: int = 0,
    default_value: int = -1,
    hasher_spec: HasherSpec = FastHashSpec,
    dtype: DTypeLike = string,
    name: str | None = None,
    vocabulary_list: TensorLike | None = None,
) -> Any:
    """Returns a table from the elements of the vector `mapping` (also `vocabulary_list`) to their int64 positions.

    Unknown words get `default_value`, or one of `num_oov_buckets` further numbers by a hash. Raises
    `InvalidArgumentError` without a mapping, `DTypeError` for one that is neither strings nor integers.
    """
    mapping = vocabulary_list if mapping is None else mapping
    if mapping is None:
        raise InvalidArgumentError("mapping must be specified; vocabulary_list must be specified.")
    _check_buckets(num_oov_buckets, hasher_spec)
    given = as_dtype(dtype)
    if not (given.is_integer or given is string):
        raise DTypeError(f"Only integer and string keys are supported, not {given.name}.")
    with name_scope(name or "string_to_index"):
        keys = convert_to_tensor(mapping, None if hasattr(mapping, "dtype") else given)
        if keys.dtype.is_integer != given.is_integer:
            raise DTypeError(f"mapping must have dtype {given.name}, got {keys.dtype.name}")
        keys = cast(keys, int64) if keys.dtype.is_integer else keys
        values = range_op(cast(size(keys), int64))
        table = HashTable(KeyValueTensorInitializer(keys, values, name="table_init"), default_value)
        return _with_buckets(table, num_oov_buckets, hasher_spec, name or "string_to_index", given)


def index_to_string_table_from_file(
    vocabulary_file: TensorLike,
    vocab_size: int | None = None,
    default_value: str = "UNK",
    name: str | None = None,
    key_column_index: int = TextFileIndex.LINE_NUMBER,
    value_column_index: int = TextFileIndex.WHOLE_LINE,
    delimiter: str = "\t",
) -> HashTable:
    """Returns a table from int64 numbers of lines to the words of a file, and to `default_value` for other numbers."""
    file = _file_name(vocabulary_file)
    _check_buckets(0, None, vocab_size)
    with name_scope(name or "index_to_string"):
        init = TextFileStringTableInitializer(file, key_column_index, value_column_index, vocab_size, delimiter)
        return HashTable(init, default_value, _shared_name(file, vocab_size, key_column_index, value_column_index))


def index_to_string_table_from_tensor(
    mapping: TensorLike | None = None,
    default_value: str = "UNK",
    name: str | None = None,
    vocabulary_list: TensorLike | None = None,
) -> HashTable:
    """Returns a table from int64 positions to the strings of the vector `mapping` (also `vocabulary_list`).

    Other numbers give `default_value`. Raises `InvalidArgumentError` without a vector.
    """
    mapping = vocabulary_list if mapping is None else mapping
    if mapping is None:
        raise InvalidArgumentError("mapping must be specified; vocabulary_list must be specified.")
    with name_scope(name or "index_to_string"):
        values = convert_to_tensor(mapping, string)
        keys = range_op(cast(size(values), int64))
        return HashTable(KeyValueTensorInitializer(keys, values, name="table_init"), default_value)


def string_to_index(tensor: KeysLike, mapping: TensorLike, default_value: int = -1, name: str | None = None) -> Any:
    """Returns the positions of strings in the vector `mapping`, int64, and `default_value` for others."""
    return index_table_from_tensor(mapping, default_value=default_value, name=name).lookup(tensor)


def index_to_string(tensor: KeysLike, mapping: TensorLike, default_value: str = "UNK", name: str | None = None) -> Any:
    """Returns the strings at int64 positions of the vector `mapping`, and `default_value` for other numbers."""
    return index_to_string_table_from_tensor(mapping, default_value, name).lookup(tensor)
