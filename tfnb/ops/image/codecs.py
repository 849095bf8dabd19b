"""Decoding and encoding of image files: PNG, JPEG, GIF, BMP.

As in TensorFlow, each decoder accepts every still picture. Invariant: files are untrusted bytes, so each error is an
`InvalidArgumentError` of the node, and no image exceeds the limit of `file_formats`.
"""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, OpError, ShapeError
from tfnb.ir.opdef import NOT_DIFFERENTIABLE, HostCall, Infer, OpDef
from tfnb.ir.record import record
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.image.file_formats import decode, jpeg_shape
from tfnb.ops.lazy_library import library
from tfnb.types import (
    DType,
    DTypeLike,
    Shape,
    float32,
    int32,
    int64,
    scalar,
    uint8,
    uint16,
    unknown_shape,
)

__all__ = ["API", "OPS"]

_STILL = ("PNG", "JPEG", "GIF")


def _channel_number(channels: int) -> None:
    if channels not in (0, 1, 3, 4):
        raise InvalidArgumentError(f"channels must be 0, 1, 3 or 4, got {channels}")


@record
class ChannelAttrs:
    """`channels`: 1 grey, 3 RGB, 4 RGBA, 0 the number in the file."""

    channels: int = 0

    def __post_init__(self) -> None:
        _channel_number(self.channels)


@record
class DecodeImageAttrs:
    """`channels`: 1 grey, 3 RGB, 4 RGBA, 0 the number in the file; `expand_animations`: a GIF gives all frames."""

    channels: int = 0
    expand_animations: bool = True

    def __post_init__(self) -> None:
        _channel_number(self.channels)


@record
class JpegAttrs:
    """`channels`: 1 grey, 3 RGB, 0 the number in the file; `ratio`: 1, 2, 4 or 8, the factor by which to shrink;
    `try_recover_truncated`: decode as much as a truncated file contains. `fancy_upscaling` and `dct_method` are hints
    that permit a less accurate decoder; decoding is always accurate."""

    channels: int = 0
    ratio: int = 1
    fancy_upscaling: bool = True
    try_recover_truncated: bool = False
    acceptable_fraction: float = 1.0
    dct_method: str = ""

    def __post_init__(self) -> None:
        _channel_number(self.channels)
        if self.ratio not in (1, 2, 4, 8):
            raise InvalidArgumentError(f"ratio must be 1, 2, 4 or 8, got {self.ratio}")
        if self.acceptable_fraction != 1.0:
            raise InvalidArgumentError(
                f"acceptable_fraction={self.acceptable_fraction} is not supported: the decoder does not say how many "
                f"lines a file has lost; leave it out"
            )
        if self.dct_method not in ("", "INTEGER_FAST", "INTEGER_ACCURATE"):
            raise InvalidArgumentError(f"unknown dct_method {self.dct_method!r}")


@record
class EncodePngAttrs:
    """`compression`: from 0 (none) to 9 (smallest file); -1 is the default."""

    compression: int = -1

    def __post_init__(self) -> None:
        if not -1 <= self.compression <= 9:
            raise InvalidArgumentError(f"compression must be in [-1, 9], got {self.compression}")


@record
class EncodeJpegAttrs:
    """`format`: "grayscale", "rgb", or "" to follow the channels; `quality`: 0 to 100; `progressive`, `optimize_size`,
    `chroma_downsampling`; `density_unit` ("in", "cm") and `x_density`, `y_density`; `xmp_metadata`."""

    format: str = ""
    quality: int = 95
    progressive: bool = False
    optimize_size: bool = False
    chroma_downsampling: bool = True
    density_unit: str = "in"
    x_density: int = 300
    y_density: int = 300
    xmp_metadata: str | bytes = ""

    def __post_init__(self) -> None:
        if self.format not in ("", "grayscale", "rgb"):
            raise InvalidArgumentError(f'format must be "", "grayscale" or "rgb", got {self.format!r}')
        if not 0 <= self.quality <= 100:
            raise InvalidArgumentError(f"quality must be in [0, 100], got {self.quality}")
        if self.density_unit not in ("in", "cm"):
            raise InvalidArgumentError(f'density_unit must be "in" or "cm", got {self.density_unit!r}')
        if not all(0 <= d < 65536 for d in (self.x_density, self.y_density)):
            raise InvalidArgumentError("x_density and y_density must be in [0, 65536)")


def _contents(call: HostCall, x: np.ndarray) -> bytes:
    if x.ndim:
        raise InvalidArgumentError(f"{call.op.type}: contents must be one string, got shape {x.shape}", call.op)
    return bytes(x[()])


def _decoded(call: HostCall, x: np.ndarray, channels: int, **how: Any) -> np.ndarray:
    try:
        return decode(_contents(call, x), channels, **how)
    except OpError as e:
        raise type(e)(f"{call.op.type}: {e.message}", call.op) from e


def _converted(image: np.ndarray, dtype: DType, factor: int = 257) -> np.ndarray:
    """Converts between 8 and 16 bits (by `factor`), and to floats in [0, 1]."""
    if dtype is float32:
        return np.asarray(image.astype(np.float32) * np.float32(1 / np.iinfo(image.dtype).max))
    if image.dtype == dtype.np:
        return image
    if dtype is uint8:
        return (image >> 8).astype(np.uint8)
    return np.asarray(image.astype(np.uint16) * np.uint16(factor))


def _one_string(c: Infer) -> None:
    if c.shapes[0].ndims not in (None, 0):
        raise ShapeError(f"{c.op_name}: contents must be one string, got shape {c.shapes[0]}")


def _picture(c: Infer) -> Shape:
    _one_string(c)
    return Shape((None, None, c.attrs.channels or None))


def _any_picture(c: Infer) -> Shape:
    _one_string(c)
    return unknown_shape if c.attrs.expand_animations else Shape((None, None, c.attrs.channels or None))


def _frames(c: Infer) -> Shape:
    _one_string(c)
    return Shape((None, None, None, 3))


def _decoder(
    name: str, host: Callable[..., Any], doc: str, api: str, inputs: str = "contents: string", **more: Any
) -> OpDef[Tensor]:
    return OpDef(
        name,
        inputs,
        more.pop("outputs", "image: uint8"),
        doc + "\n\nErrors: damaged data, another format, or more than 2**28 elements. Runs on the host.",
        host=host,
        infer=more.pop("infer", _picture),
        grad=NOT_DIFFERENTIABLE,
        dynamic=True,
        api=api,
        **more,
    )


DECODE_PNG = _decoder(
    "DecodePng",
    lambda call, x: _converted(
        _decoded(call, x, call.attrs.channels, only=_STILL, bits=8 * call.types["dtype"].size), call.types["dtype"]
    ),
    "Decodes a PNG file.\n\ncontents: one string. image: (height, width, channels), uint8 or uint16 (`dtype`).",
    "",
    outputs="image: dtype",
    types={"dtype": (uint8, uint16)},
    attrs=ChannelAttrs,
    defaults={"dtype": uint8},
)


def _host_jpeg(call: HostCall, x: np.ndarray) -> np.ndarray:
    a = call.attrs
    recover = a.try_recover_truncated
    pixels = _decoded(call, x, a.channels, ratio=a.ratio, recover=recover, only=_STILL, bits=8)
    return pixels


def _host_cropped(call: HostCall, x: np.ndarray, window: np.ndarray) -> np.ndarray:
    image = _host_jpeg(call, x)
    if window.shape != (4,):
        raise InvalidArgumentError(f"crop_window must be (y, x, height, width), got shape {window.shape}", call.op)
    top, left, height, width = (int(v) for v in window)
    inside = 0 <= top and 0 <= left and height > 0 and width > 0
    if not inside or top + height > image.shape[0] or left + width > image.shape[1]:
        raise InvalidArgumentError(
            f"the crop window {window.tolist()} is not inside the image of {image.shape[:2]}",
            call.op,
        )
    return image[top : top + height, left : left + width]


DECODE_JPEG = _decoder(
    "DecodeJpeg",
    _host_jpeg,
    "Decodes a JPEG file, with the accurate integer transform.\n\n"
    "contents: one string. image: (height, width, channels), shrunk by `ratio`.",
    "image.decode_jpeg io.decode_jpeg",
    attrs=JpegAttrs,
)
DECODE_AND_CROP_JPEG = _decoder(
    "DecodeAndCropJpeg",
    _host_cropped,
    "Decodes a window of a JPEG file.\n\n"
    "contents: one string. crop_window: (y, x, height, width). image: (height, width, channels).",
    "image.decode_and_crop_jpeg io.decode_and_crop_jpeg",
    "contents: string, crop_window: int32",
    attrs=JpegAttrs,
)
EXTRACT_JPEG_SHAPE = _decoder(
    "ExtractJpegShape",
    lambda call, x: np.array(jpeg_shape(_contents(call, x)), call.types["output_type"].np),
    "Reads (height, width, channels) from the header of a JPEG file.\n\ncontents: one string. image_shape: (3,).",
    "",
    outputs="image_shape: output_type",
    types={"output_type": (int32, int64)},
    infer=lambda c: Shape((3,)),
    defaults={"output_type": int32},
)
DECODE_GIF = _decoder(
    "DecodeGif",
    lambda call, x: _decoded(call, x, 0, frames="all", only=("GIF",)),
    "Decodes all frames of a GIF file.\n\ncontents: one string. image: (frames, height, width, 3).",
    "image.decode_gif io.decode_gif",
    infer=_frames,
)


def _bmp_channels(call: HostCall, x: np.ndarray) -> np.ndarray:
    if call.attrs.channels == 1:
        raise InvalidArgumentError("DecodeBmp: channels must be 0, 3 or 4, got 1", call.op)
    return _decoded(call, x, call.attrs.channels, only=("BMP",))


DECODE_BMP = _decoder(
    "DecodeBmp",
    _bmp_channels,
    "Decodes an uncompressed BMP file of 8, 24 or 32 bits per pixel.\n\n"
    "contents: one string. image: (height, width, channels).",
    "image.decode_bmp io.decode_bmp",
    attrs=ChannelAttrs,
)


def _host_any(call: HostCall, x: np.ndarray) -> np.ndarray:
    a = call.attrs
    if a.channels not in (0, 3) and _contents(call, x).startswith(b"GIF"):
        raise InvalidArgumentError(f"DecodeImage: channels of a GIF must be 0 or 3, got {a.channels}", call.op)
    dtype = call.types["dtype"]
    bits = 8 if dtype is uint8 else 16
    pixels = _decoded(call, x, a.channels, frames="all" if a.expand_animations else "first", bits=bits)
    return _converted(pixels, dtype, 256)


DECODE_IMAGE = _decoder(
    "DecodeImage",
    _host_any,
    "Decodes a PNG, JPEG, GIF or BMP file.\n\ncontents: one string. image: (height, width, channels), with a leading "
    "dimension of frames for a GIF (unless `expand_animations` is false); uint8, uint16, or float32 in [0, 1].",
    "",
    outputs="image: dtype",
    types={"dtype": (uint8, uint16, float32)},
    attrs=DecodeImageAttrs,
    infer=_any_picture,
    defaults={"dtype": uint8},
)


def _check_image(call: HostCall, image: np.ndarray, channels: tuple[int, ...]) -> None:
    if image.ndim < 3 or image.shape[-1] not in channels or 0 in image.shape[-3:]:
        raise InvalidArgumentError(
            f"{call.op.type}: needed (height, width, channels) with {channels} channels and a pixel at least, "
            f"got shape {image.shape}",
            call.op,
        )


def _filtered(rows: np.ndarray, step: int) -> np.ndarray:
    """The rows of bytes of a PNG file, each after the number of its filter: the one whose result is smallest.

    step: the number of bytes of a pixel. The filters predict a byte by nothing, by the one to the left, the one above,
    their mean, or that of the three neighbours which is nearest to left + above - upper left (PNG specification, 9.2).
    """
    left, above, corner = (np.zeros_like(rows, np.int16) for _ in range(3))
    left[:, step:], above[1:], corner[1:, step:] = rows[:, :-step], rows[:-1], rows[:-1, :-step]
    estimate = left + above - corner
    far = [np.abs(estimate - x) for x in (left, above, corner)]
    nearest = np.where(far[1] <= far[2], above, corner)
    nearest = np.where((far[0] <= far[1]) & (far[0] <= far[2]), left, nearest)
    guesses = (np.zeros_like(left), left, above, (left + above) // 2, nearest)
    filtered = np.stack([(rows - guess).astype(np.uint8) for guess in guesses])
    costs = np.abs(filtered.view(np.int8).astype(np.int64)).sum(2)
    best = costs.argmin(0)
    chosen = filtered[best, np.arange(len(rows))]
    return np.concatenate([best.astype(np.uint8)[:, None], chosen], axis=1)


def _png_file(image: np.ndarray, level: int) -> bytes:
    """A PNG file of 16 bits per channel, written here since Pillow does not write 16-bit colour."""
    height, width, channels = image.shape
    rows = _filtered(image.astype(">u2").reshape(height, -1).view(np.uint8), channels * 2)
    colour = {1: 0, 2: 4, 3: 2, 4: 6}[channels]
    header = struct.pack(">IIBBBBB", width, height, 16, colour, 0, 0, 0)
    parts = [b"\x89PNG\r\n\x1a\n"]
    for kind, body in (
        (b"IHDR", header),
        (b"IDAT", zlib.compress(rows.tobytes(), level)),
        (b"IEND", b""),
    ):
        crc = zlib.crc32(kind + body)
        parts.append(len(body).to_bytes(4, "big") + kind + body + crc.to_bytes(4, "big"))
    return b"".join(parts)


def _picture_of(image: np.ndarray) -> Any:
    pillow = library("PIL.Image", "pillow", "encoding an image")
    return pillow.fromarray(np.ascontiguousarray(image[..., 0] if image.shape[-1] == 1 else image))


def _host_encode_png(call: HostCall, image: np.ndarray) -> np.ndarray:
    _check_image(call, image, (1, 2, 3, 4))
    level = 6 if call.attrs.compression < 0 else call.attrs.compression
    out = np.empty(image.shape[:-3], object)
    for at in np.ndindex(out.shape):
        if image.dtype == np.uint16:
            out[at] = _png_file(image[at], level)
        else:
            sink = io.BytesIO()
            _picture_of(image[at]).save(sink, "PNG", compress_level=level)
            out[at] = sink.getvalue()
    return out


ENCODE_PNG: OpDef[Tensor] = OpDef(
    "EncodePng",
    "image: T",
    "contents: string",
    """Encodes images as PNG files.

    image: uint8 or uint16, (..., height, width, channels), of grey, grey with alpha, RGB or RGBA. contents: strings in
    the shape of the leading dimensions. Errors: another number of channels, or no pixels. Runs on the host.""",
    types={"T": (uint8, uint16)},
    defaults={"T": uint8},
    attrs=EncodePngAttrs,
    infer=lambda c: Shape(c.shapes[0].sizes[:-3]) if c.shapes[0].sizes else unknown_shape,
    host=_host_encode_png,
    grad=NOT_DIFFERENTIABLE,
    api="image.encode_png io.encode_png",
)


def _host_encode_jpeg(call: HostCall, image: np.ndarray) -> np.ndarray:
    a = call.attrs
    channels = {"": (1, 3), "grayscale": (1,), "rgb": (3,)}[a.format]
    _check_image(call, image, channels)
    if image.ndim != 3 or max(image.shape[:2]) > 65500:
        raise InvalidArgumentError(
            f"EncodeJpeg: needed one image of at most 65500 pixels a side, got shape {image.shape}",
            call.op,
        )
    xmp = a.xmp_metadata.encode() if isinstance(a.xmp_metadata, str) else a.xmp_metadata
    sink = io.BytesIO()
    _picture_of(image).save(
        sink,
        "JPEG",
        quality=a.quality,
        progressive=a.progressive,
        optimize=a.optimize_size,
        subsampling=2 if a.chroma_downsampling and image.shape[-1] == 3 else 0,
        dpi=(1, 1),
        **({"xmp": xmp} if xmp else {}),
    )
    encoded = bytearray(sink.getvalue())
    # the unit and densities of the JFIF header; Pillow writes them in inches only
    struct.pack_into(">BHH", encoded, 13, 1 if a.density_unit == "in" else 2, a.x_density, a.y_density)
    return np.array(bytes(encoded), object)


def _encoded_jpeg(c: Infer) -> Shape:
    if c.shapes[0].ndims not in (None, 3):
        raise ShapeError(f"EncodeJpeg: needed (height, width, channels), got shape {c.shapes[0]}")
    return scalar


ENCODE_JPEG: OpDef[Tensor] = OpDef(
    "EncodeJpeg",
    "image: uint8",
    "contents: string",
    """Encodes an image as a JPEG file.

    image: (height, width, channels) with 1 or 3 channels. contents: one string. Errors: another number of channels, no
    pixels, or a side over 65500. Runs on the host.""",
    attrs=EncodeJpegAttrs,
    infer=_encoded_jpeg,
    host=_host_encode_jpeg,
    grad=NOT_DIFFERENTIABLE,
    api="image.encode_jpeg io.encode_jpeg",
)


def decode_png(contents: TensorLike, channels: int = 0, dtype: DTypeLike = uint8, name: str | None = None) -> Tensor:
    """Decodes a PNG file to (height, width, channels), uint8 or uint16.

    channels: 1, 3 or 4, or 0 for the number in the file. Raises `InvalidArgumentError` at run time for damaged data or
    an image that is too large.
    """
    return DECODE_PNG(contents, channels=channels, dtype=dtype, name=name)


def decode_image(
    contents: TensorLike,
    channels: int | None = None,
    dtype: DTypeLike = uint8,
    name: str | None = None,
    expand_animations: bool = True,
) -> Tensor:
    """Decodes a PNG, JPEG, GIF or BMP file to uint8, uint16, or float32 in [0, 1].

    The result is (height, width, channels), or for a GIF (frames, height, width, channels) unless `expand_animations`
    is false. Raises `InvalidArgumentError` at run time for damaged data or an image that is too large.
    """
    return DECODE_IMAGE(
        contents,
        channels=channels or 0,
        dtype=dtype,
        expand_animations=expand_animations,
        name=name,
    )


def extract_jpeg_shape(contents: TensorLike, output_type: DTypeLike = int32, name: str | None = None) -> Tensor:
    """Reads (height, width, channels) from the header of a JPEG file, without decoding it.

    contents: a scalar string, the bytes of the file. The result is a vector of `output_type` (int32 or int64). Raises
    `InvalidArgumentError` at run time for a damaged header.
    """
    return EXTRACT_JPEG_SHAPE(contents, output_type=output_type, name=name)


OPS: tuple[OpDef, ...] = (
    DECODE_PNG,
    DECODE_JPEG,
    DECODE_AND_CROP_JPEG,
    EXTRACT_JPEG_SHAPE,
    DECODE_GIF,
    DECODE_BMP,
    DECODE_IMAGE,
    ENCODE_PNG,
    ENCODE_JPEG,
)
API: dict[str, Any] = {
    "image.decode_png": decode_png,
    "io.decode_png": decode_png,
    "image.decode_image": decode_image,
    "io.decode_image": decode_image,
    "image.extract_jpeg_shape": extract_jpeg_shape,
    "io.extract_jpeg_shape": extract_jpeg_shape,
}
