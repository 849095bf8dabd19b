"""Cases of image files. JPEG is compared with TensorFlow by its accurate transform, which is exact."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from cases import Case, ints
from PIL import Image

_SMOOTH = (np.indices((9, 13)).sum(0)[..., None] * np.array([5, 3, 9]) % 256).astype(np.uint8)
_RGBA = ints(3, 4, 4, lo=0, hi=256, dtype=np.uint8)
_DEEP = ints(3, 4, 4, lo=0, hi=65536, dtype=np.uint16)


def file_of(kind: str, image: Any, **how: Any) -> np.ndarray:
    sink = io.BytesIO()
    (image if isinstance(image, Image.Image) else Image.fromarray(image)).save(sink, kind, **how)
    return np.array(sink.getvalue(), object)


_GREY = file_of("PNG", _RGBA[..., 0])
_COLOUR = file_of("PNG", _RGBA)
_FRAMES = [Image.fromarray(ints(3, 4, lo=0, hi=256, dtype=np.uint8)) for _ in range(3)]
_GIF = file_of("GIF", _FRAMES[0], save_all=True, append_images=_FRAMES[1:])
_JPEG = file_of("JPEG", _SMOOTH, quality=80)
_BMP = file_of("BMP", _SMOOTH)
_EXACT = {"dct_method": "INTEGER_ACCURATE"}

CASES = [
    *(Case("DecodePng", (_COLOUR,), {"channels": n, "dtype": "uint8"}) for n in (0, 1, 3, 4)),
    *(Case("DecodePng", (_GREY,), {"channels": n, "dtype": "uint16"}) for n in (0, 3)),
    *(
        Case("DecodePng", (x,), {"dtype": d}, note=note)
        for d in ("uint8", "uint16")
        for note, x in (
            ("grey16", file_of("PNG", _DEEP[..., 0])),
            ("palette", file_of("PNG", Image.fromarray(_RGBA[..., :3]).quantize(8))),
            ("alpha", file_of("PNG", Image.fromarray(_RGBA[..., :2], "LA"))),
            ("bits", file_of("PNG", Image.fromarray(_RGBA[..., 0] > 99))),
        )
    ),
    *(Case("DecodeJpeg", (_JPEG,), {"channels": n, **_EXACT}) for n in (0, 1, 3)),
    *(Case("DecodeJpeg", (_JPEG,), {"ratio": n, **_EXACT}, oracle=n != 2) for n in (2, 8)),
    Case("DecodeJpeg", (_COLOUR,), {"channels": 3}, note="png"),
    Case("DecodeAndCropJpeg", (_JPEG, np.array([1, 2, 5, 7], np.int32)), {"channels": 3, **_EXACT}),
    Case("ExtractJpegShape", (_JPEG,), {"output_type": "int64"}),
    Case("DecodeGif", (_GIF,)),
    *(Case("DecodeBmp", (_BMP,), {"channels": n}) for n in (0, 3, 4)),
    *(
        Case("DecodeImage", (x,), {"dtype": d}, note=str(i))
        for d in ("uint8", "uint16", "float32")
        for i, x in enumerate((_COLOUR, _GIF, _BMP))
    ),
    Case("DecodeImage", (_GIF,), {"dtype": "uint8", "expand_animations": False}),
    # TensorFlow's file has other bytes; tests/oracle/ops/test_images.py reads ours with it
    *(Case("EncodePng", (_RGBA[..., :n],), oracle=False) for n in (1, 2, 3, 4)),
    Case("EncodePng", (_DEEP[None],), {"compression": 9}, oracle=False),
    *(
        Case("EncodeJpeg", (_SMOOTH,), attrs)
        for attrs in (
            {},
            {"quality": 40, "chroma_downsampling": False},
            {"progressive": True, "density_unit": "cm", "x_density": 99},
        )
    ),
    Case("EncodeJpeg", (_SMOOTH[..., :1],), {"format": "grayscale", "optimize_size": True}),
]
