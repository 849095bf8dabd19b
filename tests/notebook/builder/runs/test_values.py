"""What the builder shows of a value: text, picture, histogram, counts; bounded for any array."""

import base64
import io
import json

import numpy as np
from PIL import Image

from tfnb.notebook.builder.runs.values import run_value


def picture(value):
    head, _, data = value["image"].partition(",")
    assert head == "data:image/png;base64"
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(data))))


def test_numbers_and_counts():
    value = run_value("loss", np.float32(0.25))
    assert (value["text"], value["shape"], value["dtype"], value["histogram"]) == ("0.25", [], "float32", [])
    value = run_value("h", np.array([1.0, np.nan, -np.inf, np.inf, 3.0], np.float32))
    assert (value["nan_count"], value["inf_count"]) == (1, 2)
    assert (value["least"], value["largest"], value["mean"]) == (1.0, 3.0, 2.0)
    assert sum(n for _, _, n in value["histogram"]) == 2
    value = run_value("one", np.full((3,), 7, np.int64))
    assert value["histogram"] == [(7.0, 7.0, 3)]


def test_every_value_is_json_and_bounded():
    values = [
        np.zeros((0, 3)),
        np.full((2,), np.nan),
        np.array([1e308, -1e308]),
        np.array([b"<b>x</b>", b"\xff"], object),
        np.array(b"one", object),
        np.array([True, False]),
        np.ones((3, 3), np.complex64),
        None,
        [np.zeros(2), np.zeros(3)],
        np.zeros((300, 400, 5), np.float32),
        "text",
    ]
    for value in values:
        text = json.dumps(run_value("v", value), allow_nan=False)
        assert len(text) < 10_000
    assert run_value("v", values[3])["text"] == r"['<b>x</b>' '\\xff']"


def test_pictures():
    ramp = np.tile(np.arange(16.0), (16, 1))
    shown = picture(run_value("m", ramp))
    assert shown.shape == (160, 160) and shown[0, 0] == 0 and shown[0, -1] == 255
    batch = np.zeros((5, 28, 28, 1), np.float32)
    batch[2] = 1.0
    shown = picture(run_value("images", batch))
    assert shown.shape == (57, 86) or shown.shape == (57 * (160 // 86), 86 * (160 // 86))
    assert shown[5, 2 * 29 + 5] == 255 and shown[5, 5] == 0  # the third of three in the first row
    assert picture(run_value("colour", np.full((9, 9, 3), 200, np.uint8))).min() == 200
    assert run_value("thin", np.zeros((4, 400)))["image"] == ""
    assert run_value("channels", np.ones((1, 8, 8, 6)))["image"]
