"""The catalogue: an explicit list of all operations, a file per family.

`CATALOG` maps op names to definitions, `API` public names to functions.
Invariant: nothing registers itself; an op exists because its family stands in this list.
"""

from __future__ import annotations

from typing import Any

from tfnb.ir.tensor import install_operators
from tfnb.ops import (
    activations,
    batch_norm,
    batch_norm_grad,
    bits,
    blocks,
    candidates,
    checkpoint,
    checks,
    clip,
    compare,
    concat,
    constants,
    control_flow,
    conv,
    conv3d,
    conv_functions,
    convert,
    counting,
    depthwise,
    diag,
    gather,
    gather_nd,
    hashing,
    image_codecs,
    image_resize,
    image_weights,
    index,
    later,
    logging,
    loop_stack,
    losses,
    math_binary,
    math_unary,
    matmul,
    matrix_part,
    move,
    nn,
    operators,
    pack,
    partition,
    placeholder,
    pool,
    pool3d,
    pool_functions,
    python_function,
    random,
    random_functions,
    reduce,
    reduce_api,
    reduce_sum,
    repeat,
    scan,
    scatter,
    segment,
    segment_sparse,
    sequence,
    shaping,
    softmax,
    space_windows,
    state,
    statistics,
    string_convert,
    strings,
    summary,
    training,
    training_sparse,
)
from tfnb.ops.catalog import Catalog, op_function

__all__ = ["API", "CATALOG", "FAMILIES", "op_function"]

FAMILIES = (
    math_unary,
    math_binary,
    compare,
    convert,
    clip,
    reduce_sum,
    reduce,
    reduce_api,
    scan,
    matmul,
    constants,
    shaping,
    concat,
    pack,
    move,
    repeat,
    index,
    gather,
    gather_nd,
    partition,
    segment,
    segment_sparse,
    bits,
    blocks,
    diag,
    matrix_part,
    sequence,
    counting,
    activations,
    softmax,
    losses,
    nn,
    batch_norm,
    batch_norm_grad,
    conv,
    conv3d,
    conv_functions,
    depthwise,
    pool,
    pool3d,
    pool_functions,
    space_windows,
    statistics,
    random,
    random_functions,
    candidates,
    state,
    summary,
    scatter,
    training,
    training_sparse,
    control_flow,
    logging,
    loop_stack,
    checkpoint,
    checks,
    python_function,
    placeholder,
    strings,
    string_convert,
    hashing,
    image_codecs,
    image_resize,
    image_weights,
    later,
    operators,
)

CATALOG = Catalog(*(getattr(family, "OPS", ()) for family in FAMILIES))


def _merged(attribute: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for family in FAMILIES:
        found.update(getattr(family, attribute, {}))
    return found


API: dict[str, Any] = CATALOG.functions() | _merged("API")
install_operators(_merged("OPERATORS"))
