"""PNG files of every colour type and depth, with every chunk that bears on the samples, whole and damaged.

The files are made from a seeded generator. Invariant: a name always means the same samples and chunks, so that what
TensorFlow decodes of them can be stored by name.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Iterator, Sequence
from struct import pack

SIGNATURE = b"\x89PNG\r\n\x1a\n"
CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
DEPTHS = {0: (1, 2, 4, 8, 16), 2: (8, 16), 3: (1, 2, 4, 8), 4: (8, 16), 6: (8, 16)}
PASSES = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))
SRGB_ENDS = (31270, 32900, 64000, 33000, 30000, 60000, 15000, 6000)


def chunk(kind: bytes, body: bytes, wrong: int = 0) -> bytes:
    return pack(">I", len(body)) + kind + body + pack(">I", zlib.crc32(kind + body) ^ wrong)


def rows(rng: random.Random, width: int, height: int, bits: int, interlace: int) -> bytes:
    """Filtered rows: all filters in turn; every third row has samples that repeat, so that some pixels are grey."""
    out = bytearray()
    for x, y, dx, dy in PASSES if interlace else ((0, 0, 1, 1),):
        across, down = max(-((x - width) // dx), 0), max(-((y - height) // dy), 0)
        for row in range(down if across else 0):
            length = (across * bits + 7) // 8
            out.append(row % 3 and rng.randrange(5))
            out += bytes([rng.randrange(256)]) * length if row % 3 == 0 else rng.randbytes(length)
    return bytes(out)


def png(
    rng: random.Random,
    colour: int,
    depth: int,
    width: int = 11,
    height: int = 9,
    interlace: int = 0,
    before: Sequence[bytes] = (),
    after: Sequence[bytes] = (),
    last: Sequence[bytes] = (),
    palette: bytes | None = None,
    body: bytes | None = None,
    parts: int = 1,
) -> bytes:
    """A file with chunks before and after the palette, and after the pixels. body: rows if mutable, else compressed."""
    bits = CHANNELS[colour] * depth
    raw = rows(rng, width, height, bits, interlace) if body is None else body
    packed = zlib.compress(raw) if body is None or isinstance(raw, bytearray) else body
    out = [SIGNATURE, chunk(b"IHDR", pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlace)), *before]
    if colour == 3 or palette is not None:
        out.append(chunk(b"PLTE", rng.randbytes(3 << depth) if palette is None else palette))
    out += after
    step = -(-len(packed) // parts)
    out += [chunk(b"IDAT", packed[k : k + step]) for k in range(0, len(packed), step)]
    return b"".join([*out, *last, chunk(b"IEND", b"")])


def icc(
    space: bytes = b"RGB ",
    intent: int = 0,
    tags: bytes = b"",
    length: int | None = None,
    made: bytes = b"acsp",
    kind: bytes = b"mntr",
    pcs: bytes = b"XYZ ",
    count: int | None = None,
) -> bytes:
    size = 132 + len(tags)
    head = pack(">I4sI", size if length is None else length, b"none", 0x2400000) + kind + space + pcs + bytes(12)
    head += made + bytes(24) + pack(">I", intent) + bytes.fromhex("0000f6d6000100000000d32d") + bytes(48)
    return head + pack(">I", len(tags) // 12 if count is None else count) + tags


def profile(content: bytes, name: bytes = b"a profile", method: bytes = b"\0") -> bytes:
    return name + b"\0" + method + zlib.compress(content, 0)


def gamma(value: int) -> bytes:
    return chunk(b"gAMA", pack(">I", value))


def colour_chunks() -> dict[str, list[bytes]]:
    """Chunks that say something of colours, in the orders and contradictions that files have."""
    srgb, ends = chunk(b"sRGB", b"\0"), chunk(b"cHRM", pack(">8I", *SRGB_ENDS))
    other = chunk(b"cHRM", pack(">8I", 34567, 35850, 73470, 26530, 11520, 82640, 15660, 1770))
    bad = chunk(b"cHRM", pack(">8I", 31270, 32900, 64000, 33000, 64000, 33000, 15000, 6000))
    icp = chunk(b"iCCP", profile(icc()))
    return {
        "plain": [],
        "srgb": [srgb],
        "gamma1": [gamma(100000)],
        "gamma0.95": [gamma(95000)],
        "gamma0.949": [gamma(94999)],
        "gamma1.05": [gamma(105000)],
        "gamma1.06": [gamma(106000)],
        "gamma0.45": [gamma(45455)],
        "gamma0.55": [gamma(55555)],
        "gamma2.2": [gamma(220000)],
        "gamma0.1": [gamma(10000)],
        "gamma15": [gamma(15)],
        "gamma16": [gamma(16)],
        "gamma6250": [gamma(625000000)],
        "gamma_huge": [gamma(625000001)],
        "gamma0": [gamma(0)],
        "gamma_neg": [gamma(1 << 31)],
        "gamma_short": [chunk(b"gAMA", b"\0\0\1")],
        "gamma_wrong_crc": [chunk(b"gAMA", pack(">I", 45455), 1)],
        "gamma_twice": [gamma(45455), gamma(55555)],
        "gamma_twice_srgb": [gamma(55555), gamma(55555), srgb],
        "srgb_gamma": [srgb, gamma(80000)],
        "gamma_srgb": [gamma(80000), srgb],
        "srgb_gamma_same": [srgb, gamma(45455)],
        "srgb_twice": [srgb, srgb, gamma(60000)],
        "srgb_bad_intent": [chunk(b"sRGB", b"\x04"), gamma(60000)],
        "srgb_wrong_crc": [chunk(b"sRGB", b"\0", 7)],
        "srgb_long": [chunk(b"sRGB", b"\0\0")],
        "ends": [ends],
        "ends_other": [other],
        "ends_gamma": [other, gamma(45455)],
        "gamma_ends": [gamma(45455), other],
        "ends_srgb": [other, srgb],
        "srgb_ends": [srgb, other, gamma(30000)],
        "srgb_ends_same": [srgb, ends],
        "ends_bad_gamma": [bad, gamma(45455)],
        "ends_twice_gamma": [ends, ends, gamma(45455)],
        "ends_crc_gamma": [chunk(b"cHRM", pack(">8I", *SRGB_ENDS), 3), gamma(45455)],
        "ends_range_gamma": [chunk(b"cHRM", pack(">8I", 1 << 31, 1, 1, 1, 1, 1, 1, 1)), gamma(45455)],
        "ends_white_outside": [chunk(b"cHRM", pack(">8I", 90000, 5000, *SRGB_ENDS[2:])), gamma(45455)],
        "ends_short_gamma": [chunk(b"cHRM", b"123"), gamma(45455)],
        "icc": [icp],
        "icc_gamma": [icp, gamma(45455)],
        "gamma_icc": [gamma(45455), icp],
        "icc_srgb": [icp, srgb],
        "srgb_icc": [srgb, icp, gamma(70000)],
        "icc_twice": [icp, icp, gamma(45455)],
        "icc_grey_gamma": [chunk(b"iCCP", profile(icc(b"GRAY"))), gamma(45455)],
        "icc_cmyk_gamma": [chunk(b"iCCP", profile(icc(b"CMYK"))), gamma(45455)],
        "icc_cut_gamma": [chunk(b"iCCP", profile(icc())[:40]), gamma(45455)],
        "icc_short_gamma": [chunk(b"iCCP", b"abc"), gamma(45455)],
        "icc_name_gamma": [chunk(b"iCCP", profile(icc(), b"n" * 85)), gamma(45455)],
        "icc_no_name_gamma": [chunk(b"iCCP", profile(icc(), b"")), gamma(45455)],
        "icc_method_gamma": [chunk(b"iCCP", profile(icc(), method=b"\1")), gamma(45455)],
        "icc_length_gamma": [chunk(b"iCCP", profile(icc(length=999))), gamma(45455)],
        "icc_intent4_gamma": [chunk(b"iCCP", profile(icc(intent=4))), gamma(45455)],
        "icc_intent_gamma": [chunk(b"iCCP", profile(icc(intent=70000))), gamma(45455)],
        "icc_signature_gamma": [chunk(b"iCCP", profile(icc(made=b"acsq"))), gamma(45455)],
        "icc_link_gamma": [chunk(b"iCCP", profile(icc(kind=b"link"))), gamma(45455)],
        "icc_abst_gamma": [chunk(b"iCCP", profile(icc(kind=b"abst"))), gamma(45455)],
        "icc_class_gamma": [chunk(b"iCCP", profile(icc(kind=b"what"))), gamma(45455)],
        "icc_pcs_gamma": [chunk(b"iCCP", profile(icc(pcs=b"RGB "))), gamma(45455)],
        "icc_tag_gamma": [chunk(b"iCCP", profile(icc(tags=b"cprt" + pack(">II", 132, 12)))), gamma(45455)],
        "icc_tag_outside_gamma": [chunk(b"iCCP", profile(icc(tags=b"cprt" + pack(">II", 132, 200)))), gamma(45455)],
        "icc_tags_gamma": [chunk(b"iCCP", profile(icc(count=9))), gamma(45455)],
        "icc_crc_gamma": [chunk(b"iCCP", profile(icc()), 1), gamma(45455)],
        "icc_garbage_gamma": [chunk(b"iCCP", b"name\0\0" + bytes(range(100))), gamma(45455)],
    }


def files() -> Iterator[tuple[str, bytes]]:
    for colour, depths in DEPTHS.items():
        for depth in depths:
            for interlace in (0, 1):
                rng = random.Random(f"{colour} {depth} {interlace}")
                yield f"kind-{colour}-{depth}-{interlace}", png(rng, colour, depth, interlace=interlace)
                yield f"narrow-{colour}-{depth}-{interlace}", png(rng, colour, depth, 1, 3, interlace)
    for name, chunks in colour_chunks().items():
        for colour, depth in ((2, 8), (2, 16), (3, 8), (6, 16)):
            yield f"space-{name}-{colour}-{depth}", png(random.Random(name), colour, depth, before=chunks)
    for depth in (8, 16):
        for bits in (
            b"\1\1\1",
            b"\5\6\5",
            b"\7\7\7",
            b"\x08\x08\x08",
            b"\x0a\x0c\x09",
            b"\x10\x10\x10",
            b"\0\0\0",
            b"\x11\1\1",
        ):
            for value in (45455, 100000):
                rng = random.Random(bits.hex())
                yield (
                    f"bits-{bits.hex()}-{depth}-{value}",
                    png(rng, 2, depth, 23, 9, before=[chunk(b"sBIT", bits), gamma(value)]),
                )
    yield from transparent()
    yield from ancillary()
    yield from critical()


def transparent() -> Iterator[tuple[str, bytes]]:
    for depth in DEPTHS[0]:
        for value in sorted({0, 1, (1 << depth) - 1, (1 << depth) & 65535, 65535}):
            rng = random.Random(depth)
            yield f"clear-0-{depth}-{value}", png(rng, 0, depth, 30, 4, after=[chunk(b"tRNS", pack(">H", value))])
    for depth in DEPTHS[2]:
        raw = bytearray(b"\0" + pack(">6B" if depth == 8 else ">6H", 1, 2, 3, 9, 8, 7))
        for value in ((1, 2, 3), (9, 8, 7), (257, 258, 259), (1, 2, 4)):
            clear = chunk(b"tRNS", pack(">HHH", *value))
            yield (
                f"clear-2-{depth}-{value[0]}-{value[2]}",
                png(random.Random(1), 2, depth, 2, 1, after=[clear], body=raw),
            )
            yield (
                f"clear-srgb-2-{depth}-{value[0]}-{value[2]}",
                png(random.Random(1), 2, depth, 2, 1, before=[chunk(b"sRGB", b"\0")], after=[clear], body=raw),
            )
    for depth in DEPTHS[3]:
        for count in sorted({0, 1, 2, 1 << depth, (1 << depth) + 1}):
            rng = random.Random(depth)
            yield f"clear-3-{depth}-{count}", png(rng, 3, depth, after=[chunk(b"tRNS", rng.randbytes(count))])
        yield f"palette-short-{depth}", png(random.Random(1), 3, depth, palette=b"abcdef"[: 3 << (depth > 1)])
        yield f"palette-long-{depth}", png(random.Random(1), 3, depth, palette=bytes(range(9)) * 85)
    for colour, depth in ((4, 8), (6, 16)):
        yield f"clear-{colour}-{depth}", png(random.Random(3), colour, depth, after=[chunk(b"tRNS", b"\0\1")])
    two = [chunk(b"tRNS", b"\0\1"), chunk(b"tRNS", b"\0\2")]
    yield "clear-twice", png(random.Random(3), 0, 4, after=two)
    yield "clear-crc", png(random.Random(3), 0, 4, after=[chunk(b"tRNS", b"\0\1", 5)])
    yield "clear-crc-3", png(random.Random(3), 3, 4, after=[chunk(b"tRNS", b"\0\1", 5)])
    yield "clear-long", png(random.Random(3), 0, 4, after=[chunk(b"tRNS", b"\0\1\2")])
    yield "clear-late", png(random.Random(3), 0, 4, last=[chunk(b"tRNS", b"\0\1")])
    yield "clear-early", png(random.Random(3), 3, 4, before=[chunk(b"tRNS", b"\0\1")])


def ancillary() -> Iterator[tuple[str, bytes]]:
    """Chunks that say nothing of samples, as they should be and damaged."""
    kinds = {
        "bKGD": b"\0\1\0\2\0\3",
        "bKGD-short": b"\0",
        "pHYs": pack(">IIB", 1, 1, 1),
        "pHYs-short": b"1",
        "tIME": b"1234567",
        "tEXt": b"key\0text",
        "tEXt-no-key": b"",
        "zTXt": b"key\0\0" + zlib.compress(b"text"),
        "zTXt-bad": b"key\0\0\1\2\3",
        "iTXt": b"key\0\0\0en\0\0text",
        "iTXt-bad": b"k",
        "hIST": b"\0\1" * 4,
        "oFFs": pack(">iiB", 1, 1, 0),
        "sCAL": b"\1001\0001",
        "pCAL": b"p",
        "sPLT": b"name\0\x08" + bytes(12),
        "sPLT-bad": b"n",
        "eXIf": b"II*\0" + bytes(8),
        "eXIf-bad": b"xy",
        "acTL": pack(">II", 2, 0),
        "acTL-bad": b"\1",
        "fcTL": b"12",
        "fdAT": b"1234",
        "vpAg": bytes(9),
        "caBX": b"x" * 2000,
        "tEXt-long": b"key\0" + b"x" * 500000,
        "zTXt-long": b"key\0\0" + zlib.compress(b"x" * 9000000),
        "a1bc": b"x",
        "iDOT": b"xy",
    }
    for name, body in kinds.items():
        kind = name[:4].encode()
        for wrong in (0, 9):
            rng = random.Random(name)
            yield f"other-{name}-{wrong}", png(rng, 2, 8, before=[chunk(kind, body, wrong)])
            yield f"other-last-{name}-{wrong}", png(rng, 3, 2, last=[chunk(kind, body, wrong)])
    yield "late-gamma", png(random.Random(1), 2, 8, last=[gamma(45455)])
    yield "late-srgb-3", png(random.Random(1), 3, 8, after=[chunk(b"sRGB", b"\0")])
    yield "suggested-srgb", png(random.Random(1), 2, 8, palette=b"abc", after=[chunk(b"sRGB", b"\0")])
    yield "suggested", png(random.Random(1), 2, 8, palette=b"abc")
    yield "suggested-odd", png(random.Random(1), 2, 8, palette=b"abcd")
    yield "suggested-grey", png(random.Random(1), 0, 8, palette=b"abc")


def critical() -> Iterator[tuple[str, bytes]]:
    """Files whose pixels, order or checksums are not as they should be."""
    rng = random.Random(0)
    for colour, depth in ((2, 8), (0, 8), (3, 4), (2, 16), (0, 16), (4, 16)):
        raw = rows(rng, 11, 9, CHANNELS[colour] * depth, 0)
        packed, at = zlib.compress(raw), f"{colour}-{depth}"
        yield f"parts-{at}", png(rng, colour, depth, body=packed, parts=5)
        yield f"cut-{at}", png(rng, colour, depth, body=packed[:-20])
        yield f"cut-sum-{at}", png(rng, colour, depth, body=packed[:-4])
        yield f"cut-1-{at}", png(rng, colour, depth, body=packed[:-1])
        yield f"sum-{at}", png(rng, colour, depth, body=packed[:-4] + b"abcd")
        yield f"short-{at}", png(rng, colour, depth, body=zlib.compress(raw[:-3]))
        yield f"row-less-{at}", png(rng, colour, depth, body=zlib.compress(raw[: len(raw) // 9 * 8]))
        yield f"more-{at}", png(rng, colour, depth, body=zlib.compress(raw + b"more"))
        yield f"much-more-{at}", png(rng, colour, depth, body=zlib.compress(raw + raw * 20))
        yield f"tail-{at}", png(rng, colour, depth, body=packed + b"tail")
        yield f"flipped-{at}", png(rng, colour, depth, body=packed[:20] + bytes([packed[20] ^ 255]) + packed[21:])
        yield f"head-{at}", png(rng, colour, depth, body=b"\0\0" + packed[2:])
        yield f"filter-{at}", png(rng, colour, depth, body=zlib.compress(b"\5" + raw[1:]))
        yield f"filter-255-{at}", png(rng, colour, depth, body=zlib.compress(b"\xff" + raw[1:]))
        whole = png(rng, colour, depth, body=packed)
        yield f"no-end-{at}", whole[:-12]
        yield f"half-end-{at}", whole[:-3]
        yield f"end-crc-{at}", whole[:-1] + b"x"
        yield f"after-end-{at}", whole + b"more" * 9
        yield (
            f"split-{at}",
            png(rng, colour, depth, body=packed[:30], last=[chunk(b"tEXt", b"k\0v"), chunk(b"IDAT", packed[30:])]),
        )
        yield f"idat-crc-{at}", png(rng, colour, depth, body=packed[:30], last=[chunk(b"IDAT", packed[30:], 1)])
        yield (
            f"again-{at}",
            png(rng, colour, depth, body=packed, last=[chunk(b"tEXt", b"k\0v"), chunk(b"IDAT", b"xyz")]),
        )
        yield (
            f"again-crc-{at}",
            png(rng, colour, depth, body=packed, last=[chunk(b"tEXt", b"k\0v"), chunk(b"IDAT", b"xyz", 1)]),
        )
        yield f"unknown-{at}", png(rng, colour, depth, body=packed, before=[chunk(b"ABCD", b"x")])
        yield f"unknown-last-{at}", png(rng, colour, depth, body=packed, last=[chunk(b"ABCD", b"x")])
        yield f"header-twice-{at}", png(rng, colour, depth, body=packed, before=[whole[8:33]])
        yield f"end-long-{at}", whole[:-12] + chunk(b"IEND", b"abc")
        for name, place, value in (
            ("width0", 19, 0),
            ("height0", 23, 0),
            ("depth3", 24, 3),
            ("colour1", 25, 1),
            ("compress", 26, 1),
            ("filter", 27, 64),
            ("interlace2", 28, 2),
        ):
            head = bytearray(whole[16:29])
            head[place - 16] = value
            yield f"{name}-{at}", whole[:8] + chunk(b"IHDR", bytes(head)) + whole[33:]
    yield (
        "no-palette",
        png(rng, 0, 8)[:8] + chunk(b"IHDR", pack(">IIBBBBB", 11, 9, 8, 3, 0, 0, 0)) + png(rng, 0, 8)[33:],
    )
    yield "palette-odd", png(rng, 3, 8, palette=b"abcd")
    yield "palette-769", png(rng, 3, 8, palette=b"abc" * 257)
    yield "palette-twice", png(rng, 3, 8, after=[chunk(b"PLTE", b"abc")])
    yield "palette-empty", png(rng, 3, 8, palette=b"")
    yield "palette-late", png(rng, 2, 8, last=[chunk(b"PLTE", b"abc")])
    yield "palette-crc", png(rng, 2, 8, before=[chunk(b"PLTE", b"abc", 1)])
    yield "gama-upper", png(rng, 2, 8, before=[chunk(b"GAMA", pack(">I", 45455))])
    yield "empty-idats", png(rng, 2, 8, after=[chunk(b"IDAT", b"")] * 3)
