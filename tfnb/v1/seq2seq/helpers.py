"""Helpers of a `BasicDecoder`: which symbol an output stands for, and what the next step reads.

Invariant: `next_inputs` gives inputs of the same shapes in every step, also where no sequence goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tfnb.client.control_flow.cond import cond
from tfnb.client.control_flow.tensor_array import TensorArray
from tfnb.client.graph.default_graph import name_scope
from tfnb.client.graph.nest import flatten, pack
from tfnb.client.variables.embedding import embedding_lookup
from tfnb.errors import InvalidArgumentError, UnimplementedError
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.concat import concat
from tfnb.ops.array.constants import FILL, convert_to_tensor, zeros_like
from tfnb.ops.array.shape_ops import shape
from tfnb.ops.array.transpose_pad_tile import transpose
from tfnb.ops.array.where_partition import where
from tfnb.ops.math.cast import cast
from tfnb.ops.math.compare import EQUAL, LOGICAL_AND
from tfnb.ops.math.reduce_functions import argmax, reduce_all
from tfnb.ops.random.functions import multinomial, random_uniform
from tfnb.types import DType, DTypeLike, Shape, ShapeLike, as_dtype, bool_, int32
from tfnb.v1.seq2seq.decoder import batch_of

__all__ = [
    "CustomHelper",
    "GreedyEmbeddingHelper",
    "Helper",
    "InferenceHelper",
    "SampleEmbeddingHelper",
    "ScheduledEmbeddingTrainingHelper",
    "ScheduledOutputTrainingHelper",
    "TrainingHelper",
]


class Helper:
    """Base class of the helpers: `initialize`, `sample` and `next_inputs`."""

    @property
    def batch_size(self) -> Any:
        """The number of sequences."""
        raise UnimplementedError(f"{type(self).__name__} does not say its batch_size")

    @property
    def sample_ids_shape(self) -> Shape:
        """The shape of a symbol, without the batch."""
        return Shape(())

    @property
    def sample_ids_dtype(self) -> DType:
        """The dtype of the symbols."""
        return int32

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        """Returns (finished [batch], first inputs). Subclasses implement it."""
        raise UnimplementedError(f"{type(self).__name__} has no initialize")

    def sample(self, time: Tensor, outputs: Any, state: Any, name: str | None = None) -> Tensor:
        """Returns the symbols [batch] that the outputs stand for. Subclasses implement it."""
        raise UnimplementedError(f"{type(self).__name__} has no sample")

    def next_inputs(
        self, time: Tensor, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        """Returns (finished [batch], next inputs, next state). Subclasses implement it."""
        raise UnimplementedError(f"{type(self).__name__} has no next_inputs")


class CustomHelper(Helper):
    """A helper whose three methods are functions of the user."""

    def __init__(
        self,
        initialize_fn: Callable[..., Any],
        sample_fn: Callable[..., Any],
        next_inputs_fn: Callable[..., Any],
        sample_ids_shape: ShapeLike = None,
        sample_ids_dtype: DTypeLike | None = None,
    ) -> None:
        self._initialize, self._sample, self._next = initialize_fn, sample_fn, next_inputs_fn
        self._shape, self._dtype = Shape(sample_ids_shape or ()), as_dtype(sample_ids_dtype or int32)
        self._size: Any = None

    @property
    def batch_size(self) -> Any:
        """The number of sequences, which is known after `initialize`."""
        if self._size is None:
            raise InvalidArgumentError("batch_size accessed before initialize was called")
        return self._size

    sample_ids_shape = property(lambda self: self._shape, doc="The shape of a symbol, without the batch.")
    sample_ids_dtype = property(lambda self: self._dtype, doc="The dtype of the symbols.")

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        """Returns what the function `initialize_fn` gives."""
        finished, inputs = self._initialize()
        self._size = batch_of(convert_to_tensor(finished))
        return finished, inputs

    def sample(self, time: Tensor, outputs: Any, state: Any, name: str | None = None) -> Tensor:
        """Returns what the function `sample_fn` gives."""
        return self._sample(time=time, outputs=outputs, state=state)

    def next_inputs(self, time: Tensor, outputs: Any, state: Any, sample_ids: Any, name: str | None = None) -> Any:
        """Returns what the function `next_inputs_fn` gives."""
        return self._next(time=time, outputs=outputs, state=state, sample_ids=sample_ids)


def _time_major(x: Tensor) -> Tensor:
    rank = x.shape.ndims
    return transpose(x, [1, 0, *range(2, 2 if rank is None else rank)])


class TrainingHelper(Helper):
    """Reads given inputs, [batch, steps, ...] or with `time_major` [steps, batch, ...], up to `sequence_length`."""

    def __init__(
        self, inputs: object, sequence_length: TensorLike, time_major: bool = False, name: str | None = None
    ) -> None:
        with name_scope(name or "TrainingHelper"):
            parts = [convert_to_tensor(t) for t in flatten(inputs)]
            self._inputs = pack(inputs, parts)
            parts = parts if time_major else [_time_major(t) for t in parts]
            self._lengths = cast(convert_to_tensor(sequence_length), int32)
        self._structure = inputs
        if self._lengths.shape.ndims not in (None, 1):
            raise InvalidArgumentError(f"Expected sequence_length to be a vector, got shape {self._lengths.shape}")
        self._arrays = [TensorArray(t.dtype, size=shape(t)[0]).unstack(t) for t in parts]
        self._zero = pack(inputs, [zeros_like(t[0]) for t in parts])
        self._size = batch_of(self._lengths)

    batch_size = property(lambda self: self._size, doc="The number of sequences.")
    inputs = property(lambda self: self._inputs, doc="The inputs of all steps.")
    sequence_length = property(lambda self: self._lengths, doc="The lengths of the sequences.")

    def _read(self, time: TensorLike) -> Any:
        parts = [a.read(time) for a in self._arrays]
        for part, zero in zip(parts, flatten(self._zero), strict=True):
            part.set_shape(zero.shape)
        return pack(self._structure, parts)

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        """Returns (whether the length is 0, the first inputs)."""
        finished = EQUAL(self._lengths, 0)
        return finished, cond(reduce_all(finished), lambda: self._zero, lambda: self._read(0))

    def sample(self, time: Tensor, outputs: Tensor, state: object, name: str | None = None) -> Tensor:
        """Returns the largest element of each output, int32."""
        return cast(argmax(outputs, -1), int32)

    def next_inputs(
        self, time: Tensor, outputs: Tensor, state: object, sample_ids: Tensor, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        """Returns (whether the sequence is read, the inputs of the next step, the state)."""
        next_time = time + 1
        finished = next_time >= self._lengths
        inputs = cond(reduce_all(finished), lambda: self._zero, lambda: self._read(next_time))
        return finished, inputs, state


def _chosen(probability: TensorLike, size: int | Tensor, seed: int | None) -> Tensor:
    """Returns for each sequence whether it is chosen, with a probability."""
    return random_uniform([size], seed=seed) < probability


class ScheduledEmbeddingTrainingHelper(TrainingHelper):
    """Reads given inputs, but with `sampling_probability` the embedding of a symbol drawn from the outputs.

    Symbols of sequences that read given inputs are -1.
    """

    def __init__(
        self,
        inputs: object,
        sequence_length: TensorLike,
        embedding: TensorLike | Callable[[Any], Any],
        sampling_probability: TensorLike,
        time_major: bool = False,
        seed: int | None = None,
        scheduling_seed: int | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(inputs, sequence_length, time_major, name)
        self._embedding = _embedding_function(embedding)
        self._probability = convert_to_tensor(sampling_probability)
        if self._probability.shape.ndims not in (0, 1, None):
            raise InvalidArgumentError("sampling_probability must be a scalar or a vector")
        self._seed, self._scheduling_seed = seed, scheduling_seed

    def sample(self, time: Tensor, outputs: Tensor, state: object, name: str | None = None) -> Tensor:
        """Returns symbols drawn from `outputs` as logits, and -1 where the input of this time is read, in any state."""
        chosen = _chosen(self._probability, self._size, self._scheduling_seed)
        drawn = cast(multinomial(outputs, 1, self._seed)[:, 0], int32)
        return where(chosen, drawn, zeros_like(drawn) - 1)

    def next_inputs(
        self, time: Tensor, outputs: Tensor, state: object, sample_ids: Tensor, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        """Returns (whether the sequence is read, the inputs of the next step, the state)."""
        finished, inputs, state = super().next_inputs(time, outputs, state, sample_ids)
        drawn = sample_ids >= 0
        symbols = where(drawn, sample_ids, zeros_like(sample_ids))
        return finished, where(drawn, cast(self._embedding(symbols), inputs.dtype), inputs), state


class ScheduledOutputTrainingHelper(TrainingHelper):
    """Reads given inputs, but with `sampling_probability` the outputs, or what `next_inputs_fn` makes of them.

    auxiliary_inputs: further inputs of all steps, which are joined to those of a step.
    """

    def __init__(
        self,
        inputs: TensorLike,
        sequence_length: TensorLike,
        sampling_probability: TensorLike,
        time_major: bool = False,
        seed: int | None = None,
        next_inputs_fn: Callable[[Any], Any] | None = None,
        auxiliary_inputs: TensorLike | None = None,
        name: str | None = None,
    ) -> None:
        joined = inputs if auxiliary_inputs is None else concat([inputs, auxiliary_inputs], -1)
        super().__init__(joined, sequence_length, time_major, name)
        self._auxiliary = None
        if auxiliary_inputs is not None:
            more = convert_to_tensor(auxiliary_inputs)
            more = more if time_major else _time_major(more)
            self._auxiliary = TensorArray(more.dtype, size=shape(more)[0]).unstack(more)
        self._probability, self._seed, self._make = convert_to_tensor(sampling_probability), seed, next_inputs_fn

    def sample(self, time: Tensor, outputs: Tensor, state: object, name: str | None = None) -> Tensor:
        """Returns 1 for the sequences whose next input is the output, else 0, int32."""
        return cast(_chosen(self._probability, self._size, self._seed), int32)

    def next_inputs(
        self, time: Tensor, outputs: Tensor, state: object, sample_ids: Tensor, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        """Returns (whether the sequence is read, the inputs of the next step, the state)."""
        finished, inputs, state = super().next_inputs(time, outputs, state, sample_ids)
        own = outputs if self._make is None else self._make(outputs)
        auxiliary = self._auxiliary
        if auxiliary is not None:
            last = zeros_like(auxiliary.read(0))
            more = cond(reduce_all(finished), lambda: last, lambda: auxiliary.read(time + 1))
            own = concat([own, more], -1)
        go_on = LOGICAL_AND(cast(sample_ids, bool_), time + 1 < self._lengths)
        return finished, where(go_on, own, inputs), state


def _embedding_function(embedding: TensorLike | Callable[[Any], Any]) -> Callable[[Any], Any]:
    return embedding if callable(embedding) else lambda ids: embedding_lookup(embedding, ids)


class GreedyEmbeddingHelper(Helper):
    """Reads the embedding of the best symbol of the step before, up to `end_token`.

    embedding: a function of symbols, or the rows for `embedding_lookup`. start_tokens: [batch]. end_token: a scalar.
    """

    def __init__(
        self, embedding: TensorLike | Callable[[Any], Any], start_tokens: TensorLike, end_token: TensorLike
    ) -> None:
        self._embedding = _embedding_function(embedding)
        self._start_tokens = convert_to_tensor(start_tokens, int32)
        self._end_token = convert_to_tensor(end_token, int32)
        if self._start_tokens.shape.ndims not in (None, 1):
            raise InvalidArgumentError("start_tokens must be a vector")
        if self._end_token.shape.ndims not in (None, 0):
            raise InvalidArgumentError("end_token must be a scalar")
        self._size = batch_of(self._start_tokens)
        self._start_inputs = self._embedding(self._start_tokens)

    batch_size = property(lambda self: self._size, doc="The number of sequences.")

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        """Returns (False for all sequences, the embeddings of the start tokens)."""
        return FILL([self._size], False), self._start_inputs

    def sample(self, time: Tensor, outputs: Tensor, state: object, name: str | None = None) -> Tensor:
        """Returns the best symbol of each output, int32."""
        return cast(argmax(outputs, -1), int32)

    def next_inputs(
        self, time: Tensor, outputs: Tensor, state: object, sample_ids: Tensor, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        """Returns (whether the symbol is the end token, the embeddings of the symbols, the state)."""
        finished = EQUAL(sample_ids, self._end_token)
        inputs = cond(reduce_all(finished), lambda: self._start_inputs, lambda: self._embedding(sample_ids))
        return finished, inputs, state


class SampleEmbeddingHelper(GreedyEmbeddingHelper):
    """Reads the embedding of a symbol drawn from the outputs as logits, divided by `softmax_temperature`."""

    def __init__(
        self,
        embedding: TensorLike | Callable[[Any], Any],
        start_tokens: TensorLike,
        end_token: TensorLike,
        softmax_temperature: TensorLike | None = None,
        seed: int | None = None,
    ) -> None:
        super().__init__(embedding, start_tokens, end_token)
        self._temperature, self._seed = softmax_temperature, seed

    def sample(self, time: Tensor, outputs: Tensor, state: object, name: str | None = None) -> Tensor:
        """Returns drawn symbols, int32."""
        logits = outputs if self._temperature is None else outputs / self._temperature
        return cast(multinomial(logits, 1, self._seed)[:, 0], int32)


class InferenceHelper(Helper):
    """Reads what the functions of the user make of the outputs, up to where `end_fn` says that a sequence ends."""

    def __init__(
        self,
        sample_fn: Callable[..., Any],
        sample_shape: Sequence[int] | int,
        sample_dtype: DTypeLike,
        start_inputs: TensorLike,
        end_fn: Callable[..., Any],
        next_inputs_fn: Callable[..., Any] | None = None,
    ) -> None:
        self._sample, self._end, self._next = sample_fn, end_fn, next_inputs_fn
        self._shape = Shape(tuple(sample_shape) if not isinstance(sample_shape, int) else (sample_shape,))
        self._dtype: DType = as_dtype(sample_dtype)
        self._start = convert_to_tensor(start_inputs)
        self._size = batch_of(self._start)

    batch_size = property(lambda self: self._size, doc="The number of sequences.")
    sample_ids_shape = property(lambda self: self._shape, doc="The shape of a symbol, without the batch.")
    sample_ids_dtype = property(lambda self: self._dtype, doc="The dtype of the symbols.")

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        """Returns (False for all sequences, the first inputs)."""
        return FILL([self._size], False), self._start

    def sample(self, time: Tensor, outputs: Tensor, state: object, name: str | None = None) -> Any:
        """Returns what the function `sample_fn` makes of the outputs."""
        return self._sample(outputs)

    def next_inputs(
        self, time: Tensor, outputs: Tensor, state: object, sample_ids: Tensor, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        """Returns (what `end_fn` says, the samples or what `next_inputs_fn` makes of them, the state)."""
        inputs = sample_ids if self._next is None else self._next(sample_ids)
        return self._end(sample_ids), inputs, state
