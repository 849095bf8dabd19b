"""What SciPy had at the time of TensorFlow 1.x and lost since: the images of `scipy.misc`, modules and functions that
moved, and the names of NumPy in `scipy`.

`tfnb run` puts a finder before the others, so nothing of SciPy is imported unless the program does. Invariant: the
functions give what SciPy 1.1, the last version with all of them, gave with the same Pillow.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["give_back_scipy"]

# Modules that are parts of others now, and those whose names they have.
_MOVED = dict.fromkeys(("scipy.sparse.linalg.eigen", "scipy.sparse.linalg.eigen.arpack"), "scipy.sparse.linalg")
_MISC = "scipy.misc"
_WINDOWS = frozenset(
    """barthann blackman blackmanharris bohman boxcar chebwin cosine flattop gaussian general_gaussian hamming hann
    hanning kaiser nuttall parzen slepian triang tukey""".split()
)
_FROM_SPECIAL = ("comb", "factorial", "factorial2", "factorialk", "logsumexp")
_INTERPOLATIONS = {"nearest": 0, "lanczos": 1, "bilinear": 2, "bicubic": 3, "cubic": 3}


def give_back_scipy() -> None:
    """Lets this process import what SciPy no longer has."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
    for name, find in _LOST.items():
        if name in sys.modules:
            _add(sys.modules[name], find)


def _add(module: ModuleType, find: Callable[[str], object]) -> None:
    """Lets a module have the names that `find` knows, beside its own."""
    earlier = vars(module).get("__getattr__")
    if hasattr(earlier, "given_back"):
        return

    def attribute(name: str) -> object:
        found = None if name.startswith("__") else find(name)
        if found is not None:
            return found
        if earlier is not None:
            return earlier(name)
        raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")

    vars(attribute)["given_back"] = True
    vars(module)["__getattr__"] = attribute


def _of_numpy(name: str) -> object:
    """What SciPy took from NumPy: all public functions and constants, and the random numbers `rand` and `randn`."""
    if name in ("rand", "randn"):
        return getattr(np.random, name)
    if name == "random":
        return np.random
    value = getattr(np, name, None)
    return None if isinstance(value, ModuleType) else value


def _of_signal(name: str) -> object:
    """Windows stand in a module of their own since."""
    later = {"hanning": "hann"}.get(name, name)
    return getattr(import_module("scipy.signal.windows"), later, None) if name in _WINDOWS else None


def _of_integrate(name: str) -> object:
    later = {"cumtrapz": "cumulative_trapezoid", "trapz": "trapezoid"}.get(name)
    if later is not None:
        return getattr(import_module("scipy.integrate"), later)
    return simps if name == "simps" else None


def _of_distance(name: str) -> object:
    return import_module("scipy.spatial.distance").hamming if name == "matching" else None


def _of_stats(name: str) -> object:
    return _count_items if name == "itemfreq" else None


def _count_items(a: ArrayLike) -> np.ndarray:
    """Returns rows of the values that occur and how often."""
    return np.array(np.unique(np.asarray(a), return_counts=True)).T


def simps(
    y: ArrayLike, x: ArrayLike | None = None, dx: float = 1, axis: int = -1, even: str = "avg"
) -> np.ndarray | float:
    """Integrates by Simpson's rule; of an even number of samples an interval is integrated by trapezoids.

    even: which one: "last", "first", or "avg", the mean of both.
    """
    integrate = import_module("scipy.integrate")
    values = np.moveaxis(np.asarray(y), axis, -1)
    count = values.shape[-1]
    places = np.arange(count) * dx if x is None else np.asarray(x)
    if places.ndim > 1:
        places = np.moveaxis(places, axis, -1)
    if count % 2:
        return integrate.simpson(values, x=places)
    if even not in ("avg", "last", "first"):
        raise ValueError("Parameter 'even' must be 'avg', 'last', or 'first'.")
    found = []
    for one, rest in ((slice(-2, None), slice(None, -1)), (slice(None, 2), slice(1, None))):
        by_trapezoids = integrate.trapezoid(values[..., one], places[..., one])
        found.append(by_trapezoids + integrate.simpson(values[..., rest], x=places[..., rest]))
    # "first" integrates the first intervals by Simpson's rule
    return {"first": found[0], "last": found[1], "avg": (found[0] + found[1]) / 2}[even]


_LOST: dict[str, Callable[[str], object]] = {
    "scipy": _of_numpy,
    "scipy.integrate": _of_integrate,
    "scipy.signal": _of_signal,
    "scipy.spatial.distance": _of_distance,
    "scipy.stats": _of_stats,
}


class _Finder(MetaPathFinder, Loader):
    """Finds the modules that SciPy has lost; all others are found as before."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Returns how to make one of the modules, or how to make a module of SciPy and add the names that it lost."""
        if fullname in _LOST:
            return self._with_lost_names(fullname, path)
        is_lost = fullname == _MISC or fullname in _MOVED
        return ModuleSpec(fullname, self, is_package=fullname in _MOVED) if is_lost else None

    def _with_lost_names(self, fullname: str, path: Sequence[str] | None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(fullname, path)
        loader = None if spec is None else spec.loader
        if loader is not None:
            execute = loader.exec_module

            def exec_module(module: ModuleType) -> None:
                execute(module)
                _add(module, _LOST[fullname])

            loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Returns None: an empty module is made."""
        return None

    def exec_module(self, module: ModuleType) -> None:
        """Fills a module with its names."""
        if module.__name__ == _MISC:
            special = import_module("scipy.special")
            module.__dict__.update(_IMAGES, **{name: getattr(special, name) for name in _FROM_SPECIAL})
        else:
            names = vars(import_module(_MOVED[module.__name__]))
            module.__dict__.update({name: value for name, value in names.items() if not name.startswith("_")})


def bytescale(
    data: ArrayLike, cmin: float | None = None, cmax: float | None = None, high: float = 255, low: float = 0
) -> np.ndarray:
    """Returns the numbers as uint8, with [cmin, cmax] (by default all that occur) stretched over [low, high]."""
    values = np.asarray(data)
    if values.dtype == np.uint8:
        return values
    if high > 255 or low < 0 or high < low:
        raise ValueError("`low` and `high` should be within [0, 255], and `high` not below `low`")
    least = values.min() if cmin is None else cmin
    most = values.max() if cmax is None else cmax
    if most < least:
        raise ValueError("`cmax` should be larger than `cmin`.")
    scale = float(high - low) / (float(most) - float(least) or 1.0)
    scaled = (values * 1.0 - least) * scale + low
    return np.asarray(scaled.clip(low, high) + 0.5).astype(np.uint8)


def toimage(
    arr: ArrayLike,
    high: float = 255,
    low: float = 0,
    cmin: float | None = None,
    cmax: float | None = None,
    pal: ArrayLike | None = None,
    mode: str | None = None,
    channel_axis: int | None = None,
) -> Any:
    """Returns an array as an image of Pillow: grey of two dimensions, colour of three, one of which is 3 or 4."""
    image = import_module("PIL.Image")
    values = np.asarray(arr)
    if np.iscomplexobj(values):
        raise ValueError("Cannot convert a complex-valued array.")
    if values.ndim == 2:
        if mode == "F":
            return image.fromarray(values.astype(np.float32))
        if mode == "I":
            return image.fromarray(values.astype(np.int32))
        grey = image.fromarray(bytescale(values, cmin, cmax, high, low))
        if mode in (None, "L", "P") and pal is not None:
            grey.putpalette(np.asarray(pal, np.uint8).tobytes())
        return grey.convert(mode) if mode in ("1", "RGB", "RGBA", "CMYK", "YCbCr") else grey
    axes = [n for n, size in enumerate(values.shape) if size in (3, 4)]
    if values.ndim != 3 or not axes:
        raise ValueError("'arr' does not have a suitable array shape for any mode.")
    axis = (axes[0] if 3 not in values.shape else values.shape.index(3)) if channel_axis is None else channel_axis
    if values.shape[axis] not in (3, 4):
        raise ValueError("Channel axis dimension is not valid.")
    pixels = np.ascontiguousarray(np.moveaxis(bytescale(values, cmin, cmax, high, low), axis, 2))
    own_mode = mode or ("RGB" if pixels.shape[2] == 3 else "RGBA")
    return image.frombytes(own_mode, pixels.shape[1::-1], pixels.tobytes())


def fromimage(im: Any, flatten: bool = False, mode: str | None = None) -> np.ndarray:
    """Returns an image of Pillow as an array; `flatten` makes it grey, in float32."""
    if mode is not None and mode != im.mode:
        im = im.convert(mode)
    elif im.mode == "P":  # colours by a table
        im = im.convert("RGBA" if "transparency" in im.info else "RGB")
    if flatten:
        im = im.convert("F")
    elif im.mode == "1":
        im = im.convert("L")
    return np.array(im)


def imread(name: Any, flatten: bool = False, mode: str | None = None) -> np.ndarray:
    """Returns the image in a file as an array; see `fromimage`."""
    with import_module("PIL.Image").open(name) as im:
        return fromimage(im, flatten, mode)


def imsave(name: Any, arr: ArrayLike, format: str | None = None) -> None:
    """Writes an array as an image file, by default of the format that the name ends with; see `toimage`."""
    image = toimage(arr, channel_axis=2 if np.ndim(arr) == 3 else None)
    image.save(name) if format is None else image.save(name, format)


def imresize(arr: ArrayLike, size: Any, interp: str = "bilinear", mode: str | None = None) -> np.ndarray:
    """Returns an image of another size: a number of percent, a factor (a float), or (height, width)."""
    image = toimage(arr, mode=mode)
    if np.issubdtype(type(size), np.signedinteger):
        new = tuple((np.array(image.size) * size / 100.0).astype(int))
    elif np.issubdtype(type(size), np.floating):
        new = tuple((np.array(image.size) * size).astype(int))
    else:
        new = (int(size[1]), int(size[0]))
    return fromimage(image.resize(tuple(map(int, new)), resample=_INTERPOLATIONS[interp]))


def imrotate(arr: ArrayLike, angle: float, interp: str = "bilinear") -> np.ndarray:
    """Returns an image that is turned counterclockwise by an angle in degrees."""
    return fromimage(toimage(arr).rotate(angle, resample=_INTERPOLATIONS[interp]))


_IMAGES: dict[str, Callable[..., Any]] = {
    f.__name__: f for f in (bytescale, fromimage, imread, imresize, imrotate, imsave, toimage)
}
