"""What a PNG file says of its colours, and the grey that libpng makes of them.

The chunks gAMA, sRGB, iCCP and cHRM give the exponent between samples and light (PNG specification, 11.3.3). Where it
is not 1, grey is weighed in light, by tables of 8 to 16 bits as libpng's. Invariant: a chunk that is damaged, or that
contradicts an earlier one, changes nothing or ends the reading of such chunks, but never refuses the picture.
"""

from __future__ import annotations

import zlib
from math import floor

import numpy as np

__all__ = ["ColourSpace", "grey"]

_ONE = 100000  # libpng computes with hundred thousandths
_SRGB_GAMMA = 45455
_SRGB_ENDS = (31270, 32900, 64000, 33000, 30000, 60000, 15000, 6000)  # x and y of white, red, green and blue
_INSIGNIFICANT = 5000  # a power this near to 1 is taken as 1
_LEAST_PROFILE, _MOST_PROFILE = 92, 8_000_000  # bytes of a chunk, and of the profile
_BLOCK = 1 << 16  # pixels that are made grey at once
# The luma of ITU-R 601 in 32768ths, rounded down as libpng does it; blue has the rest.
_RED, _GREEN, _SHIFT = 29900 * 32768 // _ONE, 58700 * 32768 // _ONE, 15
_BLUE = (1 << _SHIFT) - _RED - _GREEN
_NO_SUM = (0, 0, 0, 0)
# The profiles that are known to be sRGB: Adler-32, CRC-32, the MD5 in the profile, rendering intent, length.
_SRGB_PROFILES = {
    (0x0A3FD9F6, 0x3B8772B9, (0x29F83DDE, 0xAFF255AE, 0x7842FAE4, 0xCA83390D), 0, 3048),
    (0x4909E5E1, 0x427EBB21, (0xC95BD637, 0xE95D8A3B, 0x0DF38F99, 0xC1320389), 1, 3052),
    (0xFD2144A1, 0x306FD8AE, (0xFC663378, 0x37E2886B, 0xFD72E983, 0x8228F1B8), 0, 60988),
    (0x209C35D2, 0xBBEF7812, (0x34562ABF, 0x994CCD06, 0x6D2C5721, 0xD0D68C5D), 0, 60960),
    (0xA054D762, 0x5D5129CE, _NO_SUM, 1, 3024),
    (0xF784F3FB, 0x182EA552, _NO_SUM, 0, 3144),
    (0x0398F3FC, 0xF29E526D, _NO_SUM, 1, 3144),
}


def _significant(power: int) -> bool:
    return abs(power - _ONE) > _INSIGNIFICANT


def _inverse(power: int) -> int:
    return floor(1e10 / power + 0.5)


def _words(data: bytes) -> tuple[int, ...]:
    return tuple(int.from_bytes(data[i : i + 4], "big") for i in range(0, len(data), 4))


class ColourSpace:
    """The colour space of a file, from its chunks in their order. `gamma` is 0 while none has told it."""

    def __init__(self, in_colour: bool) -> None:
        self.gamma = 0
        self._in_colour = in_colour
        self._valid = True  # contradictions end the reading
        self._told: set[str] = set()
        self._ends: tuple[int, ...] | None = None

    def read(self, kind: bytes, body: bytes) -> None:
        """Takes in a chunk whose checksum is right, or that of a profile, which has one of its own."""
        if kind == b"gAMA" and len(body) == 4:
            self._gamma(_words(body)[0])
        elif kind == b"sRGB" and len(body) == 1 and self._valid:
            if "intent" in self._told:
                self._valid = False
            else:
                self._srgb(body[0])
        elif kind == b"cHRM" and len(body) == 32 and self._valid:
            self._primaries(_words(body))
        elif kind == b"iCCP" and len(body) >= _LEAST_PROFILE and self._valid:
            self._profile(body)

    def _gamma(self, gamma: int) -> None:
        if not 16 <= gamma <= 625_000_000 or "gamma" in self._told:
            self._valid = False
        elif self._valid and not (self.gamma and _significant(floor(self.gamma * _ONE / gamma + 0.5))):
            self.gamma = gamma
            self._told.add("gamma")

    def _srgb(self, intent: int) -> None:
        if intent > 3:
            self._valid = False
            return
        self.gamma, self._ends = _SRGB_GAMMA, _SRGB_ENDS
        self._told.add("intent")

    def _primaries(self, ends: tuple[int, ...]) -> None:
        if any(v >= 1 << 31 for v in ends):
            return
        agrees = self._ends is None or all(abs(a - b) <= 100 for a, b in zip(ends, self._ends, strict=True))
        if "primaries" in self._told or not agrees or not _is_triangle(ends):
            self._valid = False
        else:
            self._ends = ends
        self._told.add("primaries")

    def _profile(self, body: bytes) -> None:
        profile = None if "intent" in self._told else _profile(body, self._in_colour)
        if profile is None:
            self._valid = False
        elif _is_srgb(profile):
            self._srgb(_words(profile[64:68])[0])


def _is_triangle(ends: tuple[int, ...]) -> bool:
    """Says whether the primaries span colours among which is white."""
    points = np.array(ends, float).reshape(4, 2) / _ONE
    if (points < 0).any() or (points.sum(1) > 1).any() or points[0, 1] < 5 / _ONE:
        return False
    columns = np.concatenate([points, 1 - points.sum(1, keepdims=True)], axis=1).T
    if abs(np.linalg.det(columns[:, 1:])) < 1e-9:
        return False
    return bool((np.linalg.solve(columns[:, 1:], columns[:, 0]) > 0).all())


def _profile(body: bytes, in_colour: bool) -> bytes | None:
    """Returns the ICC profile of a chunk; None if it is damaged or not for such a picture."""
    name, _, rest = body[:81].partition(b"\0")
    if not 1 <= len(name) <= 79 or rest[:1] != b"\0":
        return None
    inflate = zlib.decompressobj()
    try:
        head = inflate.decompress(body[len(name) + 2 :], 132)
        length = _words(head)[0] if len(head) == 132 else 0
        if not 132 <= length <= _MOST_PROFILE or not _is_fitting(head, length, in_colour):
            return None
        tail = inflate.decompress(inflate.unconsumed_tail, length - 132) if length > 132 else b""
    except zlib.error:
        return None
    profile = head + tail
    if len(profile) < length:
        return None
    tags = np.frombuffer(profile, ">u4", 3 * _words(head[128:132])[0], 132).reshape(-1, 3).astype(np.int64)
    return None if (tags[:, 1] + tags[:, 2] > length).any() else profile


def _is_fitting(head: bytes, length: int, in_colour: bool) -> bool:
    tags, intent = _words(head[128:132])[0], _words(head[64:68])[0]
    return (
        not (head[8] > 3 and length & 3)
        and 132 + 12 * tags <= length
        and intent < 0xFFFF
        and head[36:40] == b"acsp"
        and head[16:20] == (b"RGB " if in_colour else b"GRAY")
        and head[12:16] not in (b"abst", b"link")
        and head[20:24] in (b"XYZ ", b"Lab ")
    )


def _is_srgb(profile: bytes) -> bool:
    sums = zlib.adler32(profile), zlib.crc32(profile)
    return (*sums, _words(profile[84:100]), _words(profile[64:68])[0], len(profile)) in _SRGB_PROFILES


def _table(power: int, size: int, top: int) -> np.ndarray:
    """The powers of 0 to 1 in `size` steps, as numbers up to `top`. The step is a factor for 16 bits, as in libpng."""
    steps = np.arange(size, dtype=np.float64)
    if not _significant(power):
        return np.asarray((steps.astype(np.int64) * top + size // 2) // (size - 1) if size <= top else steps, np.int64)
    share = steps / 255.0 if top == 255 else steps * (1.0 / (size - 1))
    return np.floor(top * share ** (power * 1e-5) + 0.5).astype(np.int64)


def grey(colour: np.ndarray, gamma: int = 0, significant: int = 16, chopped: bool = False) -> np.ndarray:
    """The luma (..., 1) of red, green and blue (..., 3), uint8 or uint16.

    gamma: the file's exponent, in hundred thousandths. Of 16 bits `significant` ones count where a table is needed, and
    eleven where the result is to be `chopped` to eight. Works block by block, as the sums need more bytes.
    """
    deep = colour.dtype == np.uint16
    top, shift = np.iinfo(colour.dtype).max, 0
    if deep:
        shift = min(max(16 - significant, 5 if chopped else 0), 8)
    flat = colour.reshape(-1, 3)
    result = np.empty(len(flat), colour.dtype)
    screen = _inverse(gamma) if gamma else _ONE
    tables = None
    if _significant(gamma or _ONE) or _significant(screen):
        size = 1 << ((16 if deep else 8) - shift)
        tables = _table(_inverse(gamma), size, top), _table(_inverse(screen), size, top)
    half = 1 << (_SHIFT - 1) if deep or tables else 0
    for begin in range(0, len(flat), _BLOCK):
        block = flat[begin : begin + _BLOCK]
        light = block.T.astype(np.int64) if tables is None else tables[0][block.T >> shift]
        sums = (_RED * light[0] + _GREEN * light[1] + _BLUE * light[2] + half) >> _SHIFT
        if tables is not None:
            is_grey = (block[:, 0] == block[:, 1]) & (block[:, 0] == block[:, 2])
            sums = np.where(
                is_grey, _kept(block[:, 0], shift, gamma * screen if chopped else 0), tables[1][sums >> shift]
            )
        result[begin : begin + _BLOCK] = sums
    return result.reshape(*colour.shape[:-1], 1)


def _kept(values: np.ndarray, shift: int, product: int) -> np.ndarray:
    """What was grey stays, up to the bits that the tables leave out.

    product: of the exponents of file and screen, which is about 1, where the result is to be chopped to eight bits.
    """
    if not shift:
        return values
    top = (1 << (16 - shift)) - 1
    ours = values.astype(np.int64) >> shift
    if not product:
        return (ours * 65535 + (1 << (15 - shift))) // top
    power = floor(product * 1e-5 + 0.5) * 1e-5
    bounds = np.floor(65535 * ((np.arange(255) * 257 + 128) / 65535) ** power + 0.5).astype(np.int64)
    bounds = (bounds * top + 32768) // 65535 + 1  # the first of the next value
    return np.searchsorted(bounds, ours, side="right") * 257
