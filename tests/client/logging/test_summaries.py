"""The functions of tf.summary and their 0.x names: tags, collections, what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfnb as tf
from tfnb.errors import InvalidArgumentError


@pytest.fixture
def session() -> Any:
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def parsed(data: bytes) -> Any:
    return tf.Summary.FromString(data)


pytestmark = pytest.mark.opencl


def test_tags_are_names_of_the_graph(session: Any) -> None:
    with tf.name_scope("scope"):
        made = [tf.summary.scalar("a b", 1.0), tf.summary.scalar("a\u00fcb", 2.0)]
        made.append(tf.summary.scalar("x", 3.0, family="fam"))
    assert [t.name for t in made] == ["scope/a_b:0", "scope/a_b_1:0", "scope/fam/x:0"]
    values = [parsed(v).value[0] for v in session.run(made)]
    assert [v.tag for v in values] == ["scope/a_b", "scope/a_b_1", "fam/scope/fam/x"]
    assert [v.simple_value for v in values] == [1.0, 2.0, 3.0]
    merged = tf.summary.merge_all()
    assert merged.name == "Merge/MergeSummary:0"
    assert len(parsed(session.run(merged)).value) == 3


def test_collections(session: Any) -> None:
    assert tf.summary.merge_all() is None
    hidden = tf.summary.scalar("hidden", 1.0, collections=["mine"])
    tf.summary.histogram("h", [1.0, 2.0])
    tf.merge_summary([hidden], collections=["merged"])
    assert len(parsed(session.run(tf.summary.merge_all())).value) == 1
    assert parsed(session.run(tf.summary.merge_all("mine"))).value[0].tag == "hidden"
    assert len(tf.get_collection("merged")) == 1


def test_names_of_old(session: Any) -> None:
    x = tf.placeholder(tf.float32, [None])
    made = [
        tf.scalar_summary(["p", "q"], x),
        tf.histogram_summary("h", x),
        tf.image_summary("i", tf.reshape(x, [1, 1, 2, 1]), max_images=1),
        tf.audio_summary("s", tf.reshape(x, [1, 2]), 8000.0),
    ]
    merged = tf.merge_all_summaries()
    assert [t.op.type for t in made] == [
        "ScalarSummary",
        "HistogramSummary",
        "ImageSummary",
        "AudioSummary",
    ]
    values = parsed(session.run(merged, {x: [0.5, 1.0]})).value
    assert [v.tag for v in values] == ["p", "q", "h", "i/image", "s/audio/0"]


def test_histogram_counts_everything_once(session: Any) -> None:
    values = np.concatenate([[0.0, -1.0, 1e-13, 1e30, -1e30], np.linspace(-3, 3, 100)])
    histo = parsed(session.run(tf.summary.histogram("h", tf.constant(values)))).value[0].histo
    assert histo.num == sum(histo.bucket) == values.size
    limits = np.array(histo.bucket_limit)
    assert (np.diff(limits) > 0).all()
    for limit, upto in zip(limits, np.cumsum(histo.bucket), strict=True):
        if limit < 1e300:
            assert upto == (values < limit).sum()
    assert (histo.min, histo.max) == (values.min(), values.max())
    assert histo.sum_squares == pytest.approx(np.square(values).sum())


def test_images_are_scaled_and_bad_pixels_marked(session: Any) -> None:
    import io

    from PIL import Image

    def pixels(x: Any) -> Any:
        value = parsed(session.run(tf.summary.image("i", x, max_outputs=1))).value[0]
        return np.asarray(Image.open(io.BytesIO(value.image.encoded_image_string)))

    ramp = np.array([0.0, 1.0, 2.0, np.nan]).reshape(1, 2, 2, 1).astype("f")
    np.testing.assert_array_equal(pixels(ramp), [[0, 127], [255, 255]])
    np.testing.assert_array_equal(pixels(ramp - 2)[0], [1, 64])
    colour = pixels(np.array([[[[1.0, np.inf, 0.0], [1.0, 0.5, 0.0]]]], "f"))
    np.testing.assert_array_equal(colour, [[[255, 0, 0], [255, 127, 0]]])
    grey = np.full((1, 1, 1, 1), 77, np.uint8)
    np.testing.assert_array_equal(pixels(tf.constant(grey)), [[77]])
    np.testing.assert_array_equal(pixels(grey), [[255]])  # an array is float32, the default of the op's type


def test_text_and_tensors(session: Any) -> None:
    value = parsed(session.run(tf.summary.text("note", "*hello*"))).value[0]
    assert value.metadata.plugin_data.plugin_name == "text"
    assert value.tensor.string_val == [b"*hello*"]
    summary = tf.summary.tensor_summary("t", [1, 2], summary_description="what it is", display_name="T", family="f")
    value = parsed(session.run(summary)).value[0]
    assert (value.tag, value.metadata.display_name) == ("f/f/t", "T")
    assert value.metadata.summary_description == "what it is"
    assert np.frombuffer(value.tensor.tensor_content, np.int32).tolist() == [1, 2]
    with pytest.raises(InvalidArgumentError, match="strings"):
        tf.summary.text("n", [1.0])


def test_what_is_refused(session: Any) -> None:
    x = tf.placeholder(tf.float32)
    summary = tf.summary.histogram("h", x)
    for bad, what in ((np.nan, "NaN"), (np.inf, "Infinity")):
        with pytest.raises(InvalidArgumentError, match=f"{what} in summary histogram for: h"):
            session.run(summary, {x: [1.0, bad]})
    for unfit, message in (
        (tf.scalar_summary(["a", "b"], [1.0]), r"tags and values not the same shape: \[2\] != \[1\]"),
        (tf.summary.scalar("v", [1.0, 2.0]), r"not the same shape: \[\] != \[2\] \(tag 'v'\)"),
        (tf.summary.image("i", [1.0]), r"must be 4-D with last dim 1, 3, or 4, not \[1\]"),
        (tf.summary.image("j", np.zeros((1, 2, 2, 2), "f")), "must be 4-D with last dim 1, 3, or 4"),
        (tf.summary.audio("s", [1.0], 100.0), r"must be 3-D or 2-D, got: \[1\]"),
    ):  # they are made, for a program may never run them
        assert unfit.shape == []
        with pytest.raises(InvalidArgumentError, match=message):
            session.run(unfit)
    with pytest.raises(InvalidArgumentError, match="rate"):
        session.run(tf.summary.audio("s", np.zeros((1, 4), "f"), -1.0))
    one = tf.scalar_summary("same", 1.0)
    with pytest.raises(InvalidArgumentError, match="duplicate tag same"):
        session.run(tf.summary.merge([one, tf.scalar_summary("same", 2.0)]))
    with pytest.raises(InvalidArgumentError, match="could not parse"):
        session.run(tf.summary.merge([one, tf.constant(b"\xff\xff\xff")]))
    with pytest.raises(InvalidArgumentError, match="at least one"):
        tf.summary.merge([])
    with pytest.raises(InvalidArgumentError, match="positive"):
        tf.summary.image("i", np.zeros((1, 2, 2, 1), "f"), max_outputs=0)


def test_description_of_a_tensor_summary() -> None:
    from tensorboard.compat.proto.node_def_pb2 import NodeDef

    node = NodeDef(op="TensorSummary")
    node.attr["description"].s = b'{"typeHint": "x"}'
    assert tf.summary.get_summary_description(node).type_hint == "x"
    with pytest.raises(InvalidArgumentError, match="TensorSummary"):
        tf.summary.get_summary_description(NodeDef(op="Add"))
