"""Summary ops and event files against TensorFlow's: message by message, image by image, file by file."""

from __future__ import annotations

import io
import warnings

import numpy as np
import pytest
from PIL import Image

import tfnb as tf

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    tensorflow = pytest.importorskip("tensorflow")
tf1 = tensorflow.compat.v1


def build(t):
    rng = np.random.default_rng(0)
    with t.name_scope("scope"):
        t.summary.scalar("a loss", 1.25)
        t.summary.scalar("a loss", np.float64(2.5), family="fam")
        # Constants, because later versions do not take arrays as float32, as 1.x does.
        t.summary.histogram("normal", t.constant(rng.normal(size=1000)))
        t.summary.histogram("ints", t.constant(np.arange(-5, 50)))
        t.summary.histogram("wide", t.constant(np.array([0, 1e-13, -1e-12, 1e20, -1e30, 1e-12])))
        t.summary.histogram("none", np.zeros(0, "f"))
        t.summary.histogram("zeros", np.zeros(3, "f"))
    for k, low in enumerate((0.0, -2.0, 1e-9)):
        pixels = rng.uniform(low, low + 1.5 if low < 1e-9 else 2e-9, (2, 4, 5, 3)).astype("f")
        t.summary.image(f"float{k}", pixels)
    bad = rng.uniform(0, 1, (1, 3, 3, 4)).astype("f")
    bad[0, 1, 1, 2], bad[0, 2, 2, 0] = np.nan, -np.inf
    t.summary.image("bad", bad, max_outputs=1)
    t.summary.image("grey", t.constant(rng.integers(0, 255, (5, 3, 3, 1)).astype(np.uint8)))
    t.summary.image("half", t.constant(rng.uniform(-1, 1, (1, 4, 4, 1)).astype(np.float16)))
    t.summary.audio("sound", rng.uniform(-1.2, 1.2, (2, 30, 2)).astype("f"), 44100.0)
    t.summary.audio("mono", rng.uniform(-1, 1, (1, 30)).astype("f"), 8000.0, max_outputs=1)
    t.summary.text("text", t.constant(["a", "b"]))
    t.summary.tensor_summary("tensor", np.arange(6).reshape(2, 3), display_name="D")
    return t.summary.merge_all()


def merged(t):
    with t.Graph().as_default(), t.Session() as session:
        return tf1.Summary.FromString(session.run(build(t)))


def test_messages_are_equal():
    ours, theirs = merged(tf), merged(tf1)
    assert [v.tag for v in ours.value] == [v.tag for v in theirs.value]
    for a, b in zip(ours.value, theirs.value, strict=True):
        if b.HasField("histo"):
            assert a.histo.sum == pytest.approx(b.histo.sum, rel=1e-12)
            assert a.histo.sum_squares == pytest.approx(b.histo.sum_squares, rel=1e-12)
            a.histo.sum, a.histo.sum_squares = b.histo.sum, b.histo.sum_squares
        if b.HasField("image"):
            images = [np.asarray(Image.open(io.BytesIO(v.image.encoded_image_string))) for v in (a, b)]
            np.testing.assert_array_equal(*images, err_msg=a.tag)
            a.image.encoded_image_string = b.image.encoded_image_string
        assert a == b, a.tag


def test_their_iterator_reads_our_files(tmp_path):
    with tf.summary.FileWriter(tmp_path) as writer:
        for i in range(20):
            value = tf.Summary.Value(tag="x", simple_value=i)
            writer.add_summary(tf.Summary(value=[value]), i)
    found = list(tf1.train.summary_iterator(writer.path))
    assert [e.step for e in found[1:]] == list(range(20))
    assert [e.summary.value[0].simple_value for e in found[1:]] == list(range(20))


def scalars(folder):
    table = tf.read_events(folder)
    assert table.skipped == 0
    return list(zip(table["tag"], table["step"].tolist(), table["value"].tolist(), strict=True))


EXPECTED = [(tag, k, np.float32(k / 3).item()) for tag in ("a", "b/c") for k in range(50)]


def test_reads_their_files(tmp_path):
    with tf1.Graph().as_default() as graph:
        writer = tf1.summary.FileWriter(str(tmp_path / "one"), graph)
    for k in range(50):
        values = [tf1.Summary.Value(tag=t, simple_value=k / 3) for t in ("a", "b/c")]
        writer.add_summary(tf1.Summary(value=values), k)
    writer.close()
    assert scalars(tmp_path / "one") == EXPECTED
    with tensorflow.summary.create_file_writer(str(tmp_path / "two")).as_default():
        for k in range(50):
            for tag in ("a", "b/c"):
                tensorflow.summary.scalar(tag, k / 3, k)
        tensorflow.summary.histogram("h", [1.0, 2.0], 1)
        tensorflow.summary.image("i", np.zeros((1, 2, 2, 3), "f"), 1)
    assert scalars(tmp_path / "two") == EXPECTED
    run = tf.read_events(tmp_path / "two").runs["."]
    assert run.tags("histogram") == ["h"] and run.tags("image") == ["i"]


def test_reads_kerass_files(tmp_path):
    keras = tensorflow.keras
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    x = np.random.default_rng(0).normal(size=(8, 3)).astype("f")
    board = keras.callbacks.TensorBoard(str(tmp_path))
    history = model.fit(x, x[:, :1], epochs=3, verbose=0, callbacks=[board])
    found = tf.read_events(tmp_path).series("train", "epoch_loss")
    np.testing.assert_allclose(found["value"], history.history["loss"], rtol=1e-6)
    assert found["step"].tolist() == [0, 1, 2]


@pytest.mark.parametrize("module", ["torch.utils.tensorboard", "tensorboardX"])
def test_reads_pytorchs_files(tmp_path, module):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        writer = pytest.importorskip(module).SummaryWriter(str(tmp_path))
        for k in range(50):
            for tag in ("a", "b/c"):
                writer.add_scalar(tag, k / 3, k)
        writer.add_histogram("h", np.arange(10.0), 1)
        writer.add_image("i", np.zeros((3, 2, 2), "f"), 1)
        writer.add_text("t", "hello", 1)
        writer.close()
    assert scalars(tmp_path) == EXPECTED
    run = tf.read_events(tmp_path).runs["."]
    assert run.tags("histogram") == ["h"] and run.tags("image") == ["i"]
    assert [t.partition("/")[0] for t in run.tags("text")] == ["t"]


def test_they_restart_as_we_do(tmp_path):
    """TensorFlow's writer says where it begins anew, by its session log; their loader and ours drop the same."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    for start, value in ((0, 1.0), (20, 2.0)):
        with tf1.Graph().as_default():
            writer = tf1.summary.FileWriter(str(tmp_path), filename_suffix=f".{start}")
        writer.add_session_log(tf1.SessionLog(status=tf1.SessionLog.START), start)
        for k in range(start, start + 30):
            writer.add_summary(tf1.Summary(value=[tf1.Summary.Value(tag="a", simple_value=value)]), k)
        writer.close()
    theirs = EventAccumulator(str(tmp_path), {"scalars": 0, "tensors": 0}).Reload()
    read = theirs.Scalars("a") if "a" in theirs.Tags()["scalars"] else theirs.Tensors("a")
    assert [(e.step) for e in read] == [s for _, s, _ in scalars(tmp_path)]
    assert tf.read_events(tmp_path)["value"].tolist() == [1.0] * 20 + [2.0] * 30


def test_they_parse_our_saved_model(tmp_path):
    from tensorflow.core.protobuf.saved_model_pb2 import SavedModel

    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        y = tf.matmul(x, tf.Variable([[1.0], [2.0]]), name="y")
        session.run(tf.global_variables_initializer())
        tf.saved_model.simple_save(session, tmp_path / "m", {"x": x}, {"y": y})
    saved = SavedModel.FromString((tmp_path / "m" / "saved_model.pb").read_bytes())
    (meta,) = saved.meta_graphs
    assert list(meta.meta_info_def.tags) == ["serve"]
    with tf1.Graph().as_default(), tf1.Session() as session:
        tf1.train.import_meta_graph(meta)
        session.run("Variable/Assign")
        got = session.run(meta.signature_def["serving_default"].outputs["y"].name, {"x:0": [[3.0, 4.0]]})
    assert got.tolist() == [[11.0]]
