"""Launches of the convolution and pooling kernels in `kernels_cl/conv_pool` (white paper, section 2).

Each recipe turns the shapes and attributes of a site into kernel calls: on a CPU of the tuned kernel when the padded
rows that it keeps in local memory fit, otherwise of the naive kernel, which takes any size; on a GPU of the kernels
in the files `*_gpu.cl`. The sizes of images may be formulas. Invariant: an empty output needs no call.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from tfnb.caches import remembered
from tfnb.errors import InvalidArgumentError, UnimplementedError
from tfnb.ir.kernelcall import I32, Arg, BiasIn, In, KernelCall, KernelSite, Out, Temp, integers
from tfnb.ops.conv_pool.conv_reference import Axis, pool_axes, window_axes
from tfnb.ops.conv_pool.windows import pads
from tfnb.ops.linalg.gpu_tiles import Tiles, tile_sum
from tfnb.sizes import derived, largest, plain, same, smallest

__all__ = [
    "avg_pool_calls",
    "avg_pool_grad_calls",
    "conv2d_backprop_filter_calls",
    "conv2d_backprop_input_calls",
    "conv2d_calls",
    "max_pool_calls",
    "max_pool_grad_calls",
]

CONV, CONV_GRAD, POOL = "conv_pool/conv2d.cl", "conv_pool/conv2d_grad.cl", "conv_pool/pool.cl"
CONV_GPU, POOL_GPU = "conv_pool/conv2d_gpu.cl", "conv_pool/pool_gpu.cl"
ACTIVATIONS = {"none": 0, "relu": 1, "tanh": 2, "sigmoid": 3}

# the limits of kernels_cl/lib/conv_tile.clh
LOCAL_BYTES = 393216
MAX_RUNS = 1024
LOCAL_SLACK = 64
TALLEST_TILE = 14
WIDEST_PANEL = 32
WIDEST_VECTOR = 16
GPU_ITEMS, MOST_GROUPS = 128, 1 << 16  # work-items of a group, and groups, of a kernel whose items share elements
TAIL_BYTES = 256


@dataclass(slots=True)  # nobody changes one, but a frozen one takes three times as long to make; so below
class ConvShape:
    """The sizes of a convolution, from n images of (ay.limit, ax.limit, ci) to n images of (ay.count, ax.count, co):
    rows, columns and channels. The axes `ay` and `ax` also give the window, its stride and the padding."""

    n: int
    ci: int
    co: int
    ay: Axis
    ax: Axis
    itemsize: int
    defines: tuple[tuple[str, str], ...]

    @property
    def taps(self) -> int:
        """The number of elements of the window."""
        return self.ay.size * self.ax.size

    @property
    def image_ints(self) -> tuple[int, ...]:
        return (self.ay.limit, self.ax.limit, self.ci, self.ay.count, self.ax.count, self.co)

    @property
    def step_ints(self) -> tuple[int, ...]:
        ay, ax = self.ay, self.ax
        return (ay.stride, ax.stride, ay.dilation, ax.dilation, ay.before, ax.before)


@dataclass(slots=True)
class RowBlocks:
    """The blocks of `rows` x `columns` output pixels into which a tuned kernel divides an image."""

    rows: int
    row_blocks: int
    columns: int
    column_blocks: int

    @property
    def ints(self) -> tuple[int, ...]:
        return (self.rows, self.row_blocks, self.columns, self.column_blocks)

    @property
    def per_image(self) -> int:
        return self.row_blocks * self.column_blocks


def _defines(site: KernelSite) -> tuple[tuple[str, str], ...]:
    dtype = site.outputs[0].dtype
    if dtype.name not in ("float32", "float64"):
        raise InvalidArgumentError(f"{site.op} has no OpenCL kernel for {dtype.name}, only float32 and float64")
    return () if dtype.name == "float32" else (("T", "double"),)


def _check_format(site: KernelSite) -> None:
    data_format = getattr(site.attrs, "data_format", "NHWC")
    if data_format != "NHWC":
        raise UnimplementedError(f"{site.op} with data_format {data_format!r}: only NHWC has kernels")


def _is_empty(site: KernelSite) -> bool:
    return any([0 in t.shape for t in site.outputs])  # noqa: C419 - a generator takes longer


def _conv_shape(site: KernelSite, image: tuple[int, ...], filters: tuple[int, ...], out: tuple[int, ...]) -> ConvShape:
    _check_format(site)
    attrs = site.attrs
    dilations = getattr(attrs, "dilations", (1, 1, 1, 1))
    ay, ax = window_axes(image[1], image[2], (filters[0], filters[1]), attrs.strides, pads(attrs), dilations)
    expected = (image[0], ay.count, ax.count, filters[3])
    if image[3] != filters[2] or tuple(out) != expected:
        raise InvalidArgumentError(f"{site.op}: images {image} and filters {filters} make {expected}, not {tuple(out)}")
    defines = _defines(site)
    shape = ConvShape(image[0], filters[2], filters[3], ay, ax, site.outputs[0].dtype.size, defines)
    return _one_row(shape) if site.kind == "cpu" else shape


def _one_row(shape: ConvShape) -> ConvShape:
    """Returns the same convolution as one over a single row, if its filters are as wide as the images.

    Then a row of output is one pixel, and all columns of a row of input, which lie one after another, are its channels.
    """
    ay, ax = shape.ay, shape.ax
    if not plain(ax.limit) or ax.size != ax.limit or ax.count != 1 or ax.before or (ax.dilation != 1 and ax.size != 1):
        return shape
    one = Axis(1, 1, 1, 1, 1, 0)
    return ConvShape(shape.n, shape.ci * ax.limit, shape.co, one, ay, shape.itemsize, shape.defines)


def _ceil(a: int, b: int) -> int:
    return -(-a // b)


def _cut(shape: ConvShape, units: int, max_rows: int, cost: Callable[[int, int], int]) -> tuple[int, int] | None:
    """The largest blocks whose `cost(rows, columns)` fits local memory and which give work to all compute units.

    Returns their rows and columns.
    """
    budget = _budget(shape)
    oh, ow = shape.ay.count, shape.ax.count
    columns = ow
    while cost(1, columns) > budget:
        if columns <= TALLEST_TILE:
            return None
        columns = _ceil(_ceil(columns, 2), TALLEST_TILE) * TALLEST_TILE if columns > 2 * TALLEST_TILE else TALLEST_TILE
    column_blocks = _ceil(ow, columns)
    rows = _ceil(oh, min(oh, _ceil(4 * units, shape.n * column_blocks)))
    rows = min(rows, max_rows)
    while cost(rows, columns) > budget:
        rows -= 1
    return _ceil(oh, _ceil(oh, rows)), columns


def _budget(shape: ConvShape) -> int:
    """Returns the number of elements that a group keeps in local memory."""
    return LOCAL_BYTES // shape.itemsize - LOCAL_SLACK


def _blocks(shape: ConvShape, units: int, up_y: int, up_x: int) -> RowBlocks | None:
    """Returns the blocks of `_Virtual(shape, up_y, up_x)`, or those of a filter's gradient if `up_y` is 0."""
    oh, ow = shape.ay.count, shape.ax.count
    sizes = (units, up_y, up_x, shape.ci, shape.itemsize, shape.n, *_sizes_of(shape.ay), *_sizes_of(shape.ax))
    # If the narrowest block fits local memory, there are blocks for images of all sizes.
    narrowest = _Virtual(shape, up_y, up_x).most(1, TALLEST_TILE) if up_y else _filter_cost(shape)(1, TALLEST_TILE)
    least = int(narrowest <= _budget(shape))
    rows = derived(_side, 0, *sizes, lower=least)
    if rows == 0:
        return None
    columns = derived(_side, 1, *sizes, lower=1)
    return RowBlocks(rows, _ceil(oh, rows), columns, _ceil(ow, columns))


def _side(k: int, *sizes: int) -> int:
    """Returns the rows (k = 0) or columns (k = 1) of the blocks for the arguments of `_cut_of`; 0: there are none."""
    return _cut_of(*sizes)[k]


@remembered("blocks of convolutions", 4096)
def _cut_of(units: int, up_y: int, up_x: int, ci: int, itemsize: int, n: int, *sizes: int) -> tuple[int, int]:
    """Returns the result of `_cut`, or zeros instead of None; `sizes` are those of the two axes."""
    shape = ConvShape(n, ci, 1, Axis(*sizes[:6]), Axis(*sizes[6:]), itemsize, ())
    return _cut(shape, units, *_limits(shape, up_y, up_x)) or (0, 0)


def _limits(shape: ConvShape, up_y: int, up_x: int) -> tuple[int, Callable[[int, int], int]]:
    """Returns the most rows of a block, and the elements that a block needs."""
    return (shape.ay.count, _Virtual(shape, up_y, up_x).cost) if up_y else (MAX_RUNS, _filter_cost(shape))


def _sizes_of(a: Axis) -> tuple[int, ...]:
    return a.limit, a.size, a.stride, a.dilation, a.count, a.before


@dataclass(slots=True)
class _Virtual:
    """An input for `conv2d_rows` that is virtually `up` times larger, with zeros between its pixels."""

    shape: ConvShape
    up_y: int
    up_x: int

    def plane(self, columns: int) -> int:
        """Returns the number of columns of one phase of the stride that a block needs."""
        ax = self.shape.ax
        reach = (ax.size - 1) * ax.dilation
        if self.up_x == 1:
            return _ceil((columns - 1) * ax.stride + reach + 1, ax.stride)
        return _ceil(columns, self.up_x) + (2 * (self.up_x - 1) + reach) // self.up_x

    def pitch(self, columns: int) -> int:
        """Returns the number of elements between channels.

        It is an odd number of vectors, so that channels fall into different cache sets.
        """
        return (_ceil(self.plane(columns) * self.shape.ax.stride, 16) // 2 * 2 + 1) * 16

    def height(self, rows: int) -> int:
        """Returns the number of rows of the input that a block needs, some of which may be outside of the image."""
        ay = self.shape.ay
        return ((rows - 1) * ay.stride + (ay.size - 1) * ay.dilation) // self.up_y + 1

    def most(self, rows: int, columns: int) -> int:
        """Returns the number of elements that a block needs in an image that is high enough."""
        return self.height(rows) * self.shape.ci * self.pitch(columns)

    def cost(self, rows: int, columns: int) -> int:
        """Returns the number of elements that a block needs."""
        return min(self.height(rows), self.shape.ay.limit) * self.shape.ci * self.pitch(columns)


def _rows_call(virtual: _Virtual, units: int, pointers: tuple[Arg, ...], flags: int, act: int) -> KernelCall | None:
    """A call of the tuned forward kernel, or None where it is not applicable."""
    shape = virtual.shape
    ay, ax = shape.ay, shape.ax
    if ay.size * ax.size > MAX_RUNS or ay.size * ax.size * shape.ci * shape.co >= 2**31:
        return None
    blocks = _blocks(shape, units, virtual.up_y, virtual.up_x)
    if blocks is None:
        return None
    ints = (
        *shape.image_ints,
        *(ay.size, ax.size, ay.stride, ax.stride, virtual.up_y, virtual.up_x),
        *(ay.dilation, ax.dilation, ay.before, ax.before),
        *blocks.ints,
        *(virtual.plane(blocks.columns), virtual.pitch(blocks.columns), flags, act),
    )
    groups = (shape.n * blocks.per_image, 1, 1)
    return KernelCall(CONV, "conv2d_rows", (*pointers, *integers(*ints)), groups, defines=shape.defines)


def conv2d_calls(site: KernelSite) -> tuple[KernelCall, ...]:
    """Conv2D(input, filter): one call, which also applies bias and activation when it stores the output."""
    if _is_empty(site):
        return ()
    image, filters, out = site.inputs[0].shape, site.inputs[1].shape, site.outputs[0].shape
    shape = _conv_shape(site, image, filters, out)
    biased = site.epilogue.bias is not None
    pointers: tuple[Arg, ...] = (In(0), In(1), BiasIn() if biased else In(1), Out(0))
    flags, activation = int(biased), ACTIVATIONS[site.epilogue.activation]
    tuned = _rows_call(_Virtual(shape, 1, 1), site.units, pointers, flags, activation) if site.kind == "cpu" else None
    if tuned is not None:
        return (tuned,)
    if site.kind == "gpu":
        problem = shape.n * shape.ay.count * shape.ax.count, shape.co, shape.taps * shape.ci
        return _tile_calls(site, shape, "conv2d_tiles", (In(0), In(1)), problem, pointers[2], flags, activation)
    ints = (*shape.image_ints, shape.ay.size, shape.ax.size, *shape.step_ints, flags, activation)
    groups = (shape.ay.count, shape.n, 1)
    return (KernelCall(CONV, "conv2d_naive", (*pointers, *integers(*ints)), groups, defines=shape.defines),)


def _tile_calls(
    site: KernelSite,
    shape: ConvShape,
    entry: str,
    operands: tuple[Arg, Arg],
    problem: tuple[int, int, int],
    bias: Arg | None = None,
    flags: int = 0,
    activation: int = 0,
) -> tuple[KernelCall, ...]:
    """Returns the launches on a GPU, for which a convolution is a product of matrices of the sizes `problem`: rows,
    columns and depth. Only the convolution itself has the last three arguments."""
    m, n, k = problem
    tiles = Tiles.of(1, m, n, k, site.units)
    sizes = integers(shape.n, *shape.image_ints, shape.ay.size, shape.ax.size, *shape.step_ints)
    is_split = not same(tiles.splits, 1)
    to = tiles.partial(1, m, n, shape.itemsize) if is_split else Out(0)
    pointers: tuple[Arg, ...] = (*operands, to) if bias is None else (*operands, bias, to)
    finish = () if bias is None else integers(0, 0) if is_split else integers(flags, activation)
    calls = (tiles.call(CONV_GPU, entry, (*pointers, *sizes, I32(tiles.splits), *finish), shape.defines),)
    if not is_split:
        return calls
    add = tile_sum(tiles, (1, m, n), (to, Out(0) if bias is None else bias), shape.defines, 4 * flags, activation)
    return (*calls, add)


def _turned(shape: ConvShape) -> _Virtual:
    """The input gradient as a convolution of the output's gradient with the rotated filter."""
    ay, ax = shape.ay, shape.ax

    def turn(a: Axis) -> Axis:
        return Axis(a.count, a.size, 1, a.dilation, a.limit, (a.size - 1) * a.dilation - a.before)

    turned = ConvShape(shape.n, shape.co, shape.ci, turn(ay), turn(ax), shape.itemsize, shape.defines)
    return _Virtual(turned, ay.stride, ax.stride)


def conv2d_backprop_input_calls(site: KernelSite) -> tuple[KernelCall, ...]:
    """Conv2DBackpropInput(input_sizes, filter, out_backprop): rotates the filter, then convolves."""
    if _is_empty(site):
        return ()
    filters, grad = site.inputs[1].shape, site.inputs[2].shape
    shape = _conv_shape(site, site.outputs[0].shape, filters, grad)
    taps = shape.taps
    turned_filter = Temp("turned_filter", taps * shape.ci * shape.co * shape.itemsize + TAIL_BYTES)
    virtual = _turned(shape)
    inside = min(virtual.shape.ay.before, virtual.shape.ax.before) >= 0
    if site.kind == "cpu" and grad[1] and grad[2] and shape.co and inside:
        tuned = _rows_call(virtual, site.units, (In(2), turned_filter, In(1), Out(0)), 0, 0)
        if tuned is not None:
            turn_args: tuple[In | Temp | I32, ...] = (In(1), turned_filter, *integers(shape.ci, shape.co))
            turn = KernelCall(CONV_GRAD, "conv2d_turn_filter", turn_args, (taps, 1, 1), defines=shape.defines)
            return (turn, tuned)
    if site.kind == "gpu":
        problem = shape.n * shape.ay.limit * shape.ax.limit, shape.ci, taps * shape.co
        if max(shape.ay.stride, shape.ax.stride) > 1:
            shape = replace(shape, defines=(*shape.defines, ("STRIDED", "1")))
        return _tile_calls(site, shape, "conv2d_input_grad_tiles", (In(1), In(2)), problem)
    ints = (*shape.image_ints, shape.ay.size, shape.ax.size, *shape.step_ints)
    groups = (shape.ay.limit, shape.n, 1)
    args: tuple[In | Out | I32, ...] = (In(1), In(2), Out(0), *integers(*ints))
    return (KernelCall(CONV_GRAD, "conv2d_input_grad_naive", args, groups, defines=shape.defines),)


_MOST_COPIES = 1 << 25  # bytes


def _filter_cost(shape: ConvShape) -> Callable[[int, int], int]:
    ay, ax = shape.ay, shape.ax

    def cost(rows: int, columns: int) -> int:
        height = (rows - 1) * ay.stride + (ay.size - 1) * ay.dilation + 1
        width = (columns - 1) * ax.stride + (ax.size - 1) * ax.dilation + 1
        return height * width * shape.ci

    return cost


def conv2d_backprop_filter_calls(site: KernelSite) -> tuple[KernelCall, ...]:
    """Conv2DBackpropFilter(input, filter_sizes, out_backprop): computes partial sums, then adds them."""
    if _is_empty(site):
        return ()
    image, grad = site.inputs[0].shape, site.inputs[2].shape
    shape = _conv_shape(site, image, site.outputs[0].shape, grad)
    rows = shape.taps * shape.ci
    if site.kind == "gpu":
        problem = rows, shape.co, shape.n * shape.ay.count * shape.ax.count
        return _tile_calls(site, shape, "conv2d_filter_grad_tiles", (In(0), In(2)), problem)
    blocks = None
    if shape.n and shape.ay.count and shape.ax.count:
        blocks = _blocks(shape, site.units, 0, 0)
    if blocks is None:
        ints = (shape.n, *shape.image_ints, *shape.step_ints)
        groups = (shape.ci, shape.ax.size, shape.ay.size)
        args: tuple[Arg, ...] = (In(0), In(2), Out(0), *integers(*ints))
        return (KernelCall(CONV_GRAD, "conv2d_filter_grad_naive", args, groups, defines=shape.defines),)
    padded = _ceil(shape.co, WIDEST_PANEL) * WIDEST_PANEL
    parts = largest(1, smallest(shape.n * blocks.per_image, 4 * site.units))
    # many copies of a large filter would cost more than they gain, so the channels are divided among groups instead
    if 4 * site.units * rows * padded * shape.itemsize > _MOST_COPIES:
        parts = derived(_fewer, parts, rows * padded * shape.itemsize, lower=1)
    shares = smallest(_ceil(4 * site.units, parts), padded // WIDEST_PANEL)
    nbytes = (parts * rows + TALLEST_TILE) * padded * shape.itemsize + TAIL_BYTES
    partial = Temp("partial_filter_grads", nbytes)
    ints = (
        shape.n,
        *shape.image_ints,
        shape.ay.size,
        shape.ax.size,
        *shape.step_ints,
        *blocks.ints,
    )
    args = (In(0), In(2), partial, *integers(*ints))
    first = KernelCall(CONV_GRAD, "conv2d_filter_grad", args, (parts, shares, 1), defines=shape.defines)
    groups = (smallest(rows, _share(parts * rows * padded, site.units)), 1, 1)
    args = (partial, Out(0), *integers(rows, shape.co, parts))
    return (
        first,
        KernelCall(CONV_GRAD, "conv2d_filter_grad_sum", args, groups, defines=shape.defines),
    )


def _share(work: int, units: int) -> int:
    """The number of groups for `work` elements of memory traffic: one for little work, at most four per unit."""
    return largest(1, smallest(4 * units, work // 16384))


def _fewer(parts: int, nbytes: int) -> int:
    """Returns so many parts that copies of `nbytes` bytes for all of them are no more than _MOST_COPIES bytes."""
    while parts > 1 and parts * nbytes > _MOST_COPIES:
        parts //= 2
    return parts


@dataclass(slots=True)
class _Pool:
    ints: tuple[int, ...]
    ay: Axis
    ax: Axis
    tuned: bool
    defines: tuple[tuple[str, str], ...]

    def call(self, entry: str, pointers: tuple[Arg, ...], groups: int, *more: int) -> KernelCall:
        args = (*pointers, *integers(*self.ints, *more))
        return KernelCall(POOL, entry, args, (groups, 1, 1), defines=self.defines)

    def items_call(self, entry: str, pointers: tuple[Arg, ...], elements: int) -> KernelCall:
        """Returns the launch on a GPU whose work-items share `elements` elements."""
        groups = (smallest(_ceil(elements, GPU_ITEMS), MOST_GROUPS), 1, 1)
        args = (*pointers, *integers(*self.ints))
        return KernelCall(POOL_GPU, entry, args, groups, (GPU_ITEMS, 1, 1), self.defines)


def _pool(site: KernelSite, image: tuple[int, ...], out: tuple[int, ...]) -> _Pool:
    _check_format(site)
    attrs = site.attrs
    ay, ax = pool_axes(image, attrs.ksize, attrs.strides, pads(attrs))
    expected = (image[0], ay.count, ax.count, image[3])
    if tuple(out) != expected:
        raise InvalidArgumentError(f"{site.op}: images {image} pool to {expected}, but the other side is {tuple(out)}")
    sizes = (image[0], image[1], image[2], ay.count, ax.count, image[3])
    ints = (*sizes, ay.size, ax.size, ay.stride, ax.stride, ay.before, ax.before)
    return _Pool(ints, ay, ax, image[3] >= WIDEST_VECTOR, _defines(site))


def _pool_forward(site: KernelSite, tuned: str, naive: str) -> tuple[KernelCall, ...]:
    if _is_empty(site):
        return ()
    image, out = site.inputs[0].shape, site.outputs[0].shape
    pool = _pool(site, image, out)
    if site.kind == "gpu":
        return (pool.items_call(f"{tuned}_items", (In(0), Out(0)), site.outputs[0].size),)
    groups = smallest(out[0] * out[1], _share(site.inputs[0].size, site.units))
    return (pool.call(tuned if pool.tuned else naive, (In(0), Out(0)), groups),)


def max_pool_calls(site: KernelSite) -> tuple[KernelCall, ...]:
    """MaxPool(input): one call."""
    return _pool_forward(site, "max_pool", "max_pool_naive")


def avg_pool_calls(site: KernelSite) -> tuple[KernelCall, ...]:
    """AvgPool(value): one call."""
    return _pool_forward(site, "avg_pool", "avg_pool_naive")


def max_pool_grad_calls(site: KernelSite) -> tuple[KernelCall, ...]:
    """MaxPoolGrad(orig_input, orig_output, grad): one call, which does not read orig_output."""
    if _is_empty(site):
        return ()
    image, out = site.inputs[0].shape, site.inputs[2].shape
    pool = _pool(site, image, out)
    if site.kind == "gpu":
        return (pool.items_call("max_pool_grad_items", (In(0), In(2), Out(0)), site.outputs[0].size),)
    ay, ax = pool.ay, pool.ax
    # rows of windows without common pixels may be divided among groups; otherwise a group gets whole images
    rows = 1 if ay.stride >= ay.size else largest(ay.count, 1)
    overlap = ay.stride < ay.size or ax.stride < ax.size
    blocks = out[0] * _ceil(largest(out[1], 1), rows)
    groups = smallest(blocks, _share(site.inputs[0].size, site.units))
    pointers = (In(0), In(2), Out(0))
    if not pool.tuned or 0 in site.inputs[2].shape:
        return (pool.call("max_pool_grad_naive", pointers, groups, rows),)
    flags = 3 if overlap else 2 * largest(*(derived(_has_gaps, *_sizes_of(a), lower=0) for a in (ay, ax)))
    return (pool.call("max_pool_grad", pointers, groups, rows, flags),)


def _has_gaps(limit: int, size: int, stride: int, dilation: int, count: int, before: int) -> int:
    """Returns 1 if some pixels along an axis are in no window, else 0."""
    return int(stride > size or count * stride - before < limit)


def avg_pool_grad_calls(site: KernelSite) -> tuple[KernelCall, ...]:
    """AvgPoolGrad(orig_input_shape, grad): one call."""
    if _is_empty(site):
        return ()
    image, out = site.outputs[0].shape, site.inputs[1].shape
    pool = _pool(site, image, out)
    if site.kind == "gpu":
        return (pool.items_call("avg_pool_grad_items", (In(1), Out(0)), site.outputs[0].size),)
    groups = smallest(image[0] * image[1], _share(site.outputs[0].size, site.units))
    return (pool.call("avg_pool_grad" if pool.tuned else "avg_pool_grad_naive", (In(1), Out(0)), groups),)
