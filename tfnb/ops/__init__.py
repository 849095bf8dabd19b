"""The catalogue: an explicit list of all operations, a file per family.

`CATALOG` maps op names to definitions, `API` public names to functions.
Invariant: nothing registers itself; an op exists because its family stands in this list.
"""

from __future__ import annotations

from typing import Any

from tfnb.ir.tensor import install_operators
from tfnb.ops import operators
from tfnb.ops.array import (
    array_functions,
    concat,
    concat_offset,
    constants,
    gather,
    gather_nd,
    identity,
    pack,
    placeholder,
    shape_ops,
    sort_roll_reverse,
    space_batch,
    strided_slice,
    tile_reverse_mirror,
    top_k,
    transpose_pad_tile,
    v1_late_ops,
    where_partition,
)
from tfnb.ops.catalog import Catalog, op_function
from tfnb.ops.checkpoint import save_restore
from tfnb.ops.control_flow import loop_products, loop_stack, python_function, switch_merge, variants
from tfnb.ops.conv_pool import (
    conv,
    conv3d,
    conv_functions,
    depthwise,
    dilation,
    fractional_pool,
    pool,
    pool3d,
    pool_argmax,
    pool_functions,
    space_windows,
)
from tfnb.ops.dataset import dataset_ops as datasets
from tfnb.ops.image import boxes as image_boxes
from tfnb.ops.image import codecs as image_codecs
from tfnb.ops.image import color as image_color
from tfnb.ops.image import crop_pad_flip, measures, resize_weights
from tfnb.ops.image import patches as image_patches
from tfnb.ops.image import resize as image_resize
from tfnb.ops.io import (
    csv_files,
    example_functions,
    example_parse,
    files,
    readers,
    serialized_tensors,
)
from tfnb.ops.linalg import (
    band_part,
    decompositions,
    diag,
    diag_band,
    einsum,
    inverse_solve,
    matmul,
    matrix_functions,
)
from tfnb.ops.logging import assertions, print_assert, summary
from tfnb.ops.math import binary as math_binary
from tfnb.ops.math import (
    bits,
    clip,
    compare,
    complex_numbers,
    fft,
    reduce,
    reduce_functions,
    reduce_sum,
    scan,
    segment,
    segment_sparse,
    special,
    unique_bincount,
    v1_late_math,
)
from tfnb.ops.math import cast as convert
from tfnb.ops.math import unary as math_unary
from tfnb.ops.nn import (
    activations,
    batch_norm,
    batch_norm_grad,
    bias_dropout_moments,
    ctc,
    ctc_decode,
    fake_quant,
    losses,
    lrn,
    quantize,
    quantized_nn,
    softmax,
    sufficient_statistics,
    v1_early_ops,
)
from tfnb.ops.random import (
    candidate_samplers,
    gamma_poisson,
    learned_candidate_samplers,
    uniform_normal,
)
from tfnb.ops.random import functions as random_functions
from tfnb.ops.sparse import arithmetic, sets
from tfnb.ops.sparse import functions as sparse_functions
from tfnb.ops.sparse import layout as sparse_layout
from tfnb.ops.sparse import pairs as sparse_pairs
from tfnb.ops.sparse import rows as sparse_rows
from tfnb.ops.state import scatter, scatter_nd, slice_assign, stacks, tensor_array, tensor_list
from tfnb.ops.state import variables as state
from tfnb.ops.strings import convert as string_convert
from tfnb.ops.strings import hashing, join_split, unicode
from tfnb.ops.sync import accumulators, barriers, queues
from tfnb.ops.training import sparse_updates, updates

__all__ = ["API", "CATALOG", "FAMILIES", "op_function"]

FAMILIES = (
    math_unary,
    lrn,
    math_binary,
    compare,
    convert,
    clip,
    reduce_sum,
    reduce,
    reduce_functions,
    scan,
    matmul,
    constants,
    shape_ops,
    concat,
    concat_offset,
    pack,
    transpose_pad_tile,
    tile_reverse_mirror,
    strided_slice,
    gather,
    gather_nd,
    where_partition,
    segment,
    segment_sparse,
    bits,
    space_batch,
    diag,
    diag_band,
    band_part,
    sort_roll_reverse,
    sets,
    unique_bincount,
    special,
    stacks,
    identity,
    array_functions,
    barriers,
    arithmetic,
    sparse_layout,
    sparse_pairs,
    sparse_rows,
    serialized_tensors,
    sparse_functions,
    activations,
    softmax,
    losses,
    bias_dropout_moments,
    batch_norm,
    batch_norm_grad,
    conv,
    conv3d,
    conv_functions,
    depthwise,
    pool,
    pool3d,
    pool_argmax,
    fractional_pool,
    v1_early_ops,
    csv_files,
    ctc,
    ctc_decode,
    dilation,
    pool_functions,
    space_windows,
    sufficient_statistics,
    uniform_normal,
    random_functions,
    gamma_poisson,
    candidate_samplers,
    learned_candidate_samplers,
    state,
    tensor_array,
    tensor_list,
    summary,
    scatter,
    scatter_nd,
    slice_assign,
    top_k,
    updates,
    sparse_updates,
    variants,
    switch_merge,
    datasets,
    print_assert,
    loop_products,
    loop_stack,
    save_restore,
    assertions,
    python_function,
    queues,
    readers,
    accumulators,
    placeholder,
    join_split,
    unicode,
    string_convert,
    hashing,
    files,
    fake_quant,
    quantize,
    quantized_nn,
    example_parse,
    example_functions,
    image_boxes,
    image_codecs,
    image_color,
    measures,
    image_patches,
    image_resize,
    crop_pad_flip,
    resize_weights,
    v1_late_ops,
    v1_late_math,
    operators,
    complex_numbers,
    fft,
    inverse_solve,
    decompositions,
    matrix_functions,
    einsum,
)

CATALOG = Catalog(*(getattr(family, "OPS", ()) for family in FAMILIES))


def _merged(attribute: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for family in FAMILIES:
        found.update(getattr(family, attribute, {}))
    return found


API: dict[str, Any] = array_functions.with_aliases(CATALOG.functions() | _merged("API"))
install_operators(_merged("OPERATORS"))
