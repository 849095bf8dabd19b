"""The values of a node in the form in which the builder shows them: a text, a picture, a histogram and counts.

Invariant: the size of the result is bounded, whatever the size of the array.
"""

from __future__ import annotations

import base64
import io
import math

import numpy as np
from PIL import Image

from tfnb.notebook.protocol.builder import RunValue

__all__ = ["run_value"]

MOST_CHARACTERS = 2_000
BINS, MOST_SAMPLES = 24, 1 << 20
LEAST_SIDE, MOST_SIDE = 8, 1024  # the sides of an array that is shown as a picture
SHOWN_SIDE = 160  # the length to which a small picture is enlarged, in pixels
MOST_TILES, GAP = 16, 1


def run_value(name: str, value: object) -> RunValue:
    """Returns what is shown of an array, a number or a string; other values become their `repr`."""
    try:
        array = np.asarray(value)
    except ValueError:  # a list of arrays of several shapes
        array = np.asarray(None)
    if array.dtype.kind == "O" and not all(isinstance(item, bytes | str) for item in array.flat):
        return _plain(name, type(value).__name__, [], repr(value))
    numbers = _numbers(array)
    result = _plain(name, _dtype_name(array), list(array.shape), _text(array))
    if numbers is None or not numbers.size:
        return result
    finite = np.isfinite(numbers)
    result["nan_count"] = int(np.isnan(numbers).sum())
    result["inf_count"] = int(numbers.size - finite.sum()) - result["nan_count"]
    kept = numbers[finite]
    if kept.size:
        result["least"], result["largest"] = float(kept.min()), float(kept.max())
        result["mean"] = _finite(float(kept.mean(dtype=np.float64)))
        result["histogram"] = _histogram(kept)
        result["image"] = _image(numbers, array.dtype == np.uint8)
    return result


def _plain(name: str, dtype: str, shape: list[int], text: str) -> RunValue:
    if len(text) > MOST_CHARACTERS:
        text = text[:MOST_CHARACTERS] + " …"
    return {
        "name": name,
        "dtype": dtype,
        "shape": shape,
        "text": text,
        "image": "",
        "histogram": [],
        "nan_count": 0,
        "inf_count": 0,
        "least": None,
        "largest": None,
        "mean": None,
    }


def _dtype_name(array: np.ndarray) -> str:
    return "string" if array.dtype.kind in "OSU" else array.dtype.name


def _text(array: np.ndarray) -> str:
    """Returns the value as text: a number, or a table with at most a few numbers at each end of each axis."""
    if array.dtype.kind in "OSU":
        array = np.asarray([_decoded(item) for item in array.ravel()[:100]]) if array.ndim else np.asarray(array)
        return _decoded(array.item()) if not array.ndim else np.array2string(array, threshold=20, max_line_width=100)
    if not array.ndim:
        return f"{array.item():.9g}" if array.dtype.kind == "f" else str(array.item())
    return np.array2string(array, precision=5, threshold=60, edgeitems=3, max_line_width=100, suppress_small=True)


def _decoded(item: object) -> str:
    return item.decode("utf-8", "backslashreplace") if isinstance(item, bytes) else str(item)


def _numbers(array: np.ndarray) -> np.ndarray | None:
    """Returns the array as real numbers that NumPy computes with, or None if its elements are not such numbers."""
    if array.dtype.kind in "buif":
        return array
    if array.dtype.name == "bfloat16":
        return array.astype(np.float32)
    return None


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _histogram(values: np.ndarray) -> list[tuple[float, float, int]]:
    """Returns bins with equal widths. Of a very large array, every n-th element is counted."""
    if values.size < 2:
        return []
    sample = values[:: -(-values.size // MOST_SAMPLES)].astype(np.float64)
    least, largest = float(sample.min()), float(sample.max())
    if not math.isfinite(largest - least):
        return []
    if least == largest or (largest - least) / BINS < np.spacing(max(abs(least), abs(largest))):
        return [(least, largest, int(sample.size))]
    counts, edges = np.histogram(sample, BINS)
    return [(float(a), float(b), int(n)) for a, b, n in zip(edges[:-1], edges[1:], counts, strict=True)]


def _image(values: np.ndarray, is_bytes: bool) -> str:
    """Returns a data URL of the picture of a matrix, of one image or of the first images or channels of a batch; ""
    for an array that is no picture.
    """
    tiles = _tiles(values)
    if tiles is None:
        return ""
    height, width = tiles[0].shape[:2]
    if not (LEAST_SIDE <= min(height, width) and max(height, width) <= MOST_SIDE):
        return ""
    across = math.ceil(math.sqrt(len(tiles)))
    down = math.ceil(len(tiles) / across)
    sheet = np.zeros((down * (height + GAP) - GAP, across * (width + GAP) - GAP, *tiles[0].shape[2:]), np.uint8)
    for k, tile in enumerate(_levels(tiles, is_bytes)):
        y, x = k // across * (height + GAP), k % across * (width + GAP)
        sheet[y : y + height, x : x + width] = tile
    picture = Image.fromarray(sheet)
    enlarged = max(1, SHOWN_SIDE // max(sheet.shape[:2]))
    if enlarged > 1:
        picture = picture.resize((picture.width * enlarged, picture.height * enlarged), Image.Resampling.NEAREST)
    out = io.BytesIO()
    picture.save(out, "PNG")
    return "data:image/png;base64," + base64.b64encode(out.getvalue()).decode("ascii")


def _tiles(values: np.ndarray) -> list[np.ndarray] | None:
    """Returns pictures of one size: the matrix itself, the images of a batch, or the channels of the first of them."""
    if values.ndim == 4:
        if values.shape[3] in (1, 3):
            return [_plane(image) for image in values[:MOST_TILES]]
        values = values[0]
        return [values[:, :, k] for k in range(min(values.shape[2], MOST_TILES))]
    if values.ndim == 3 and values.shape[2] in (1, 3):
        return [_plane(values)]
    return [values] if values.ndim == 2 else None


def _plane(image: np.ndarray) -> np.ndarray:
    return image[:, :, 0] if image.shape[2] == 1 else image


def _levels(tiles: list[np.ndarray], is_bytes: bool) -> np.ndarray:
    """Returns the brightness of each element: from the smallest number, black, to the largest, white."""
    stack = np.stack(tiles)
    if is_bytes:
        return stack
    numbers = stack.astype(np.float64)
    finite = numbers[np.isfinite(numbers)]
    if not finite.size:
        return np.zeros(stack.shape, np.uint8)
    least, largest = finite.min(), finite.max()
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = (numbers - least) * (255.0 / (largest - least) if largest > least else 0.0)
    return np.nan_to_num(scaled, nan=0.0, posinf=255.0, neginf=0.0).clip(0, 255).astype(np.uint8)
