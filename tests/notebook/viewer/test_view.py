"""What the viewer knows and sends, without a browser: sources, thinning, histograms, hostile data, the joined module."""

import io
import os
import struct
import subprocess
import sys
import threading
import wave
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from tensorboard.plugins.hparams import plugin_data_pb2

import tfnb as tf
from tfnb.errors import InvalidArgumentError, NotFoundError
from tfnb.ir.protos import proto
from tfnb.notebook.viewer.chart_theme import CHARTS, chart_template, chart_theme, full_chart_theme
from tfnb.notebook.viewer.content import buckets, percentiles, rebinned
from tfnb.notebook.viewer.media import MOST_SOUND
from tfnb.notebook.viewer.parameters import parameter_rows
from tfnb.notebook.viewer.sources import MAX_ITEMS, MAX_POINTS, WriterSource, sources_of
from tfnb.notebook.viewer.state import FIRST_RUNS, MOST, MOST_HELD, POINTS, ViewState, Wanted
from tfnb.notebook.viewer.view import View
from tfnb.summary.reader import MOST_VALUES, Series

EVIL = "<img src=x onerror=alert(1)><script>alert(1)</script>[a](javascript:alert(1))"


def scalars(step, **values):
    return tf.Summary(value=[tf.Summary.Value(tag=t, simple_value=v) for t, v in values.items()])


def log(writer, steps, tag="loss", scale=1.0):
    for step in steps:
        writer.add_summary(scalars(step, **{tag: scale / (step + 1)}), step)


def png(width, height):
    out = io.BytesIO()
    Image.new("L", (width, height)).save(out, "PNG")
    return out.getvalue()


def image(tag, data):
    return tf.Summary(value=[tf.Summary.Value(tag=tag, image=tf.Summary.Image(encoded_image_string=data))])


def text(tag, words):
    made = tf.Summary.Value(tag=tag, tensor=proto("tensor").TensorProto(dtype=7, string_val=[words]))
    made.metadata.plugin_data.plugin_name = "text"
    return tf.Summary(value=[made])


def floats(data):
    return np.frombuffer(data, np.float64)


def test_a_folder_that_another_writer_fills(tmp_path):
    with tf.summary.FileWriter(tmp_path / "a") as a:
        log(a, range(10))
    state = ViewState(sources_of(tmp_path))
    assert state.catalogue()["runs"] == ["a"]
    assert [c["tag"] for c in state.contents(Wanted(), True)] == ["loss"]
    assert state.contents(Wanted(), False) == []
    with tf.summary.FileWriter(tmp_path / "b") as b:
        log(b, range(5), "accuracy")
        log(b, range(5))
    assert state.poll()
    told = state.catalogue()
    assert told["runs"] == ["a", "b"] and told["tags"]["scalar"] == ["accuracy", "loss"]
    sent = {c["tag"]: c for c in state.contents(Wanted(), False)}
    assert [c["run"] for c in sent["loss"]["curves"]] == [0, 1]
    np.testing.assert_array_equal(floats(sent["accuracy"]["curves"][0]["step"]), range(5))
    assert not state.poll()


def test_a_writer_is_seen_from_its_past_on_without_gap_or_double(tmp_path):
    writer = tf.summary.FileWriter(tmp_path / "run")
    log(writer, range(7))
    source = WriterSource(writer)
    log(writer, range(7, 20))
    assert source.poll()
    np.testing.assert_array_equal(source.runs["run"].scalars["loss"].step, range(20))
    # The writer starts again at step 5: as in files, what came after is dropped.
    start = tf.SessionLog(status=tf.SessionLog.START)
    writer.add_session_log(start, 5)
    log(writer, [5, 6], scale=2)
    source.poll()
    np.testing.assert_array_equal(source.runs["run"].scalars["loss"].step, range(7))
    source.close()
    log(writer, [8])
    assert not source.poll()
    writer.close()
    read = tf.read_events(tmp_path).series("run", "loss")
    assert len(read["step"]) == 8


def test_a_writer_used_by_several_threads(tmp_path):
    writer = tf.summary.FileWriter(tmp_path / "run")
    source = WriterSource(writer)
    threads = [threading.Thread(target=log, args=(writer, range(300), f"t{k}")) for k in range(4)]
    for thread in threads:
        thread.start()
    while any(t.is_alive() for t in threads):
        source.poll()
    source.poll()
    writer.close()
    assert {t: len(s) for t, s in source.runs["run"].scalars.items()} == {f"t{k}": 300 for k in range(4)}


def test_memory_of_a_writers_view_is_bounded(tmp_path):
    writer = tf.summary.FileWriter(tmp_path / "run")
    source = WriterSource(writer)
    for step in range(3 * MAX_POINTS):
        writer.add_summary(scalars(step, loss=step), step)
        if step < 4 * MAX_ITEMS:
            writer.add_summary(text("words", b"hello"), step)
    source.poll()
    run = source.runs["run"]
    assert len(run.scalars["loss"]) <= 2 * MAX_POINTS and run.scalars["loss"].total == 3 * MAX_POINTS
    assert run.scalars["loss"].value.max() == 3 * MAX_POINTS - 1
    assert len(run.items["words"]) <= 2 * MAX_ITEMS
    writer.close()


def test_what_is_sent_stays_small_however_much_there_is(tmp_path):
    rng = np.random.default_rng(0)
    for k in range(60):
        with tf.summary.FileWriter(tmp_path / f"r{k:02}") as writer:
            for step in range(300):
                value = {f"tag{j}": float(v) for j, v in enumerate(rng.random(30))}
                writer.add_summary(scalars(step, **value), step)
    state = ViewState(sources_of(tmp_path))
    assert len(state.catalogue()["runs"]) == 60
    sent = state.contents(Wanted(), True)
    assert [c["tag"] for c in sent] == sorted(f"tag{j}" for j in range(30))[:12]
    curves = [c for content in sent for c in content["curves"]]
    assert len(curves) == 12 * FIRST_RUNS
    drawn = sum(len(c["step"]) for c in curves) // 8
    assert drawn <= POINTS and all(c["total"] == 300 for c in curves)
    # One chart of one run may be finer; a thinned curve keeps its extremes.
    (one,) = state.contents(Wanted("scalar", ("tag3",), frozenset([59])), True)
    assert len(floats(one["curves"][0]["value"])) == min(300, MOST)


def applied(held, new):
    """What the browser makes of new points: (total, steps, times, values) by tag and run."""
    numbers = floats(new.numbers)
    for place, run, before, total, count in new.curves:
        key = new.tags[place], run
        old, *columns = held[key]
        assert old == before
        parts, numbers = numbers[: 3 * count].reshape(3, count), numbers[3 * count :]
        held[key] = (total, *(np.concatenate([c, p]) for c, p in zip(columns, parts, strict=True)))
    assert not len(numbers)
    return held


def whole(state, wanted):
    return {
        (content["tag"], c["run"]): (c["total"], *(floats(c[k]) for k in ("step", "wall", "value")))
        for content in state.contents(wanted, True)
        for c in content["curves"]
    }


def test_growing_curves_are_sent_point_by_point(tmp_path):
    writers = [tf.summary.FileWriter(tmp_path / name) for name in "ab"]
    for k, writer in enumerate(writers):
        log(writer, range(10 + k), "loss")
        log(writer, range(5), "rate")
    state = ViewState(sources_of(writers))
    state.catalogue()
    assert state.appended_points(Wanted()) is None  # nothing was sent yet
    held = whole(state, Wanted())
    assert state.appended_points(Wanted()).curves == []
    log(writers[0], range(10, 12))
    log(writers[1], range(11, 300))
    state.poll()
    new = state.appended_points(Wanted())
    assert [(row[:4]) for row in new.curves] == [(0, 0, 10, 12), (0, 1, 11, 300)]
    held = applied(held, new)
    np.testing.assert_array_equal(held["loss", 0][1], range(12))
    np.testing.assert_array_equal(held["loss", 1][3], np.float32(1) / np.arange(1, 301, dtype=np.float32))
    assert state.contents(Wanted(), False) == []  # what has come as new is not sent again
    log(writers[0], range(12, 14), "new")
    state.poll()
    state.catalogue()
    assert state.appended_points(Wanted()) is None  # a curve that the browser does not know
    for writer in writers:
        writer.close()


def test_many_new_points_are_thinned_to_what_can_be_seen_and_a_restart_is_sent_whole(tmp_path):
    writer = tf.summary.FileWriter(tmp_path / "run")
    log(writer, range(4_000))
    state = ViewState(sources_of(writer))
    state.catalogue()
    whole(state, Wanted())
    writer.add_summary(scalars(4_000, loss=7.0), 4_000)
    log(writer, range(4_001, 4_500))
    state.poll()
    ((_, _, before, total, count),) = (new := state.appended_points(Wanted())).curves
    assert (before, total) == (4_000, 4_500) and 4 <= count <= 100
    assert floats(new.numbers)[-count:].max() == 7.0
    writer.add_session_log(tf.SessionLog(status=tf.SessionLog.START), 100)
    log(writer, range(100, 110))
    state.poll()
    assert state.appended_points(Wanted()) is None
    writer.close()


def test_a_curve_that_grows_for_long_is_sent_whole_again_before_the_browser_has_too_many_points(tmp_path):
    writer = tf.summary.FileWriter(tmp_path / "run")
    log(writer, range(10))
    state = ViewState(sources_of(writer))
    state.catalogue()
    held, wholes = whole(state, Wanted()), 0
    for total in range(10, 20_010, 40):
        for step in range(total, total + 40):
            writer.add_summary(scalars(step, loss=99.0 if step == 7_777 else 0.0), step)
        state.poll()
        new = state.appended_points(Wanted())
        if new is None:
            wholes += 1
            (content,) = state.contents(Wanted(), False)
            (c,) = content["curves"]
            held = {("loss", 0): (c["total"], *(floats(c[k]) for k in ("step", "wall", "value")))}
        else:
            held = applied(held, new)
        _, steps, _, values = held["loss", 0]
        assert len(steps) <= MOST_HELD and steps[-1] == total + 39 and (np.diff(steps) > 0).all()
        assert values.max() == (99.0 if total + 39 >= 7_777 else 1.0)
    assert 1 <= wholes <= 20
    writer.close()


def page_of(state, wanted):
    """What a page that shows these tags and runs has: (places, all values) of each curve by tag and run."""
    pages = {}
    for content in state.contents(wanted, True):
        for c in content["curves"]:
            value, kept = floats(c["value"]), floats(c["kept"]).astype(int)
            wide = len(c["every"]) == 8 * (kept[-1] + 1) if len(kept) else True
            every = np.frombuffer(c["every"], np.float64 if wide else np.float32).astype(np.float64)
            pages[content["tag"], c["run"]] = (kept, every) if len(kept) else (np.arange(len(value)), value)
            np.testing.assert_array_equal(pages[content["tag"], c["run"]][1][kept], value[: len(kept)])
    return pages


@pytest.mark.parametrize("points", [300, 3 * MAX_POINTS + 17])
def test_what_is_smoothed_does_not_depend_on_what_else_is_on_the_page(tmp_path, points):
    rng = np.random.default_rng(0)
    values = rng.random((3, points)).astype(np.float32)
    for k in range(3):
        with tf.summary.FileWriter(tmp_path / f"r{k}") as writer:
            for step in range(points):
                tags = {f"tag{j:02}": 1.0 for j in range(12)} if step < 2 else {}
                writer.add_summary(scalars(step, loss=float(values[k, step]), **tags), step)
    for k in range(60):
        with tf.summary.FileWriter(tmp_path / f"short{k}") as writer:
            writer.add_summary(scalars(0, loss=1.0, **{f"tag{j:02}": 1.0 for j in range(12)}), 0)
    state = ViewState(sources_of(tmp_path))
    tags, runs = state.catalogue()["tags"]["scalar"], state.catalogue()["runs"]
    chosen = [runs.index(f"r{k}") for k in range(3)]
    pages = [
        page_of(state, Wanted("scalar", ("loss",), frozenset(chosen[:1]))),
        page_of(state, Wanted("scalar", ("loss",), frozenset(chosen))),
        page_of(state, Wanted("scalar", tuple(tags), frozenset(range(len(runs))))),
    ]
    for page in pages:
        np.testing.assert_array_equal(page["loss", chosen[0]][1], values[0])
    assert len(pages[0]["loss", chosen[0]][0]) > len(pages[2]["loss", chosen[0]][0])


def test_new_points_come_with_all_values_for_smoothing(tmp_path):
    writer = tf.summary.FileWriter(tmp_path / "run")
    log(writer, range(4_000))
    state = ViewState(sources_of(writer))
    state.catalogue()
    whole(state, Wanted())
    log(writer, range(4_000, 4_500))
    state.poll()
    ((*_, count),) = (new := state.appended_points(Wanted())).curves
    every, places = np.split(floats(new.every), [500])
    np.testing.assert_array_equal(every, np.float32(1) / np.arange(4_001, 4_501, dtype=np.float32))
    np.testing.assert_array_equal(floats(new.numbers)[-count:], every[places.astype(int)])
    writer.close()


def test_a_long_series_keeps_its_bare_values_within_a_bound():
    series, values = Series(100), np.random.default_rng(0).random(MOST_VALUES + 50_000)
    for k in range(0, len(values), 10_000):
        steps = np.arange(k, k + 10_000)
        series.add(steps, steps / 1.0, values[steps])
        np.testing.assert_array_equal(series.every[series.kept], series.value)
        if series.total <= MOST_VALUES:
            np.testing.assert_array_equal(series.every, values[: series.total])
        assert len(series.every) <= MOST_VALUES
    # A restart drops the values from its step on, and the points stay where they are among the others.
    series.purge(MOST_VALUES)
    np.testing.assert_array_equal(series.every[series.kept], series.value)
    assert series.step[-1] < MOST_VALUES
    series.add(np.array([MOST_VALUES]), np.array([1.0]), np.array([2.0]))
    np.testing.assert_array_equal(series.every[series.kept], series.value)


def test_points_are_told_also_after_old_ones_were_thinned():
    series = Series(100)
    for k in range(0, 1_000, 10):
        steps = np.arange(k, k + 10)
        series.add(steps, steps / 10.0, -steps / 1.0)
        new = series.since(k)
        np.testing.assert_array_equal(new[0], steps)
        assert len(series) <= 200 and series.total == k + 10
    np.testing.assert_array_equal(series.since(990)[2], -np.arange(990.0, 1_000.0))
    assert [len(c) for c in series.since(1_000)] == [0, 0, 0]
    assert series.since(3) is None
    assert series.value.min() == -999 and series.value.max() == 0


@pytest.mark.parametrize(
    "told",
    [None, {}, [], {"kind": "evil", "tags": 3, "runs": "all"}, {"tags": [EVIL, 7], "runs": [-1, 10**9, "x"]}],
)
def test_whatever_the_browser_asks(tmp_path, told):
    with tf.summary.FileWriter(tmp_path / "a") as a:
        log(a, range(3))
    state = ViewState(sources_of(tmp_path))
    state.catalogue()
    for content in state.contents(Wanted.from_message(told), True):
        assert content["tag"] == "loss"


# ---- histograms ----------------------------------------------------------------------------------


def histogram(values):
    with tf.Graph().as_default(), tf.Session() as sess:
        made = sess.run(tf.summary.histogram("h", tf.constant(np.asarray(values, np.float64))))
    summary = tf.Summary()
    summary.ParseFromString(made)
    return summary.value[0]


@pytest.mark.opencl
def test_percentiles_of_many_numbers():
    values = np.random.default_rng(0).normal(3, 2, 20_000)
    edges, count = buckets(histogram(values))
    assert count.sum() == 20_000
    assert edges[0] == values.min() and edges[-1] == values.max()
    found = percentiles(edges, count, (0.0, 0.159, 0.5, 0.841, 1.0))
    np.testing.assert_allclose(found, np.quantile(values, (0, 0.159, 0.5, 0.841, 1)), atol=0.15)


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.floats(-50, 50), min_size=2, max_size=9, unique=True),
    st.lists(st.integers(0, 9), min_size=8, max_size=8),
)
def test_other_buckets_keep_the_count(edges, counts):
    edges = np.sort(np.array(edges))
    count = np.array(counts[: len(edges) - 1], float)
    wanted = np.linspace(edges[0], edges[-1], 12)
    again = rebinned(edges, count, wanted)
    assert (again >= -1e-9).all()
    np.testing.assert_allclose(again.sum(), count.sum(), atol=1e-9)
    levels = percentiles(edges, count, np.linspace(0, 1, 5))
    if count.sum():
        assert (np.diff(levels) >= 0).all() and edges[0] <= levels[0] and levels[-1] <= edges[-1]


def test_a_histogram_of_one_value_and_damaged_ones():
    edges, count = buckets(tf.Summary.Value(histo=tf.HistogramProto(min=2, max=2, bucket_limit=[2.1], bucket=[5])))
    np.testing.assert_array_equal(percentiles(edges, count, (0, 0.5, 1)), [2, 2, 2])
    for bad in (
        tf.HistogramProto(),
        tf.HistogramProto(bucket_limit=[1.0], bucket=[1.0, 2.0]),
        tf.HistogramProto(bucket_limit=[float("nan")], bucket=[1.0], min=0, max=1),
        tf.HistogramProto(bucket_limit=[1.0], bucket=[-1.0], min=0, max=1),
    ):
        with pytest.raises(ValueError):
            buckets(tf.Summary.Value(histo=bad))


# ---- hostile data --------------------------------------------------------------------------------


def huge_png():
    """A PNG that says it is 60,000 x 60,000 pixels."""
    data = bytearray(png(4, 4))
    data[16:24] = (60_000).to_bytes(4, "big") * 2
    return bytes(data)


def svg():
    return b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'


def huge_gif():
    """35 bytes that say they are 40,000 x 40,000 pixels."""
    size, part = struct.pack("<HHBBB", 40_000, 40_000, 0x80, 0, 0), struct.pack("<HHHHB", 0, 0, 1, 1, 0)
    return b"GIF89a" + size + bytes(6) + b"\x2c" + part + b"\x02\x02\x4c\x01\x00\x3b"


@pytest.mark.parametrize("data", [b"", svg(), png(8, 8)[:40], huge_png(), huge_gif(), b"\x89PNG" + bytes(100)])
def test_bad_images_become_a_note(tmp_path, data):
    with tf.summary.FileWriter(tmp_path / "a") as a:
        a.add_summary(image("digit", png(500, 20)), 1)
        a.add_summary(image("digit", data), 2)
    state = ViewState(sources_of(tmp_path))
    (sent,) = content_of_kind(state, "image")
    good, bad = sent["runs"][0]["items"]
    assert Image.open(io.BytesIO(good["png"])).size[0] <= 256 and good["width"] == 500
    assert "png" not in bad and bad["note"].startswith("cannot be shown")


def content_of_kind(state, kind):
    state.catalogue()
    return state.contents(Wanted(kind), True)


def test_texts_are_texts(tmp_path):
    with tf.summary.FileWriter(tmp_path / "a") as a:
        a.add_summary(text(EVIL, EVIL.encode() + b"\xff" + b"x" * 20_000), 1)
        a.add_summary(scalars(1, **{EVIL: 1.0}), 1)
    view = View({EVIL: tmp_path / "a"})
    (sent,) = content_of_kind(view._state, "text")
    item = sent["runs"][0]["items"][0]
    assert item["text"].startswith(EVIL) and item["cut"] > 0
    page = view._repr_html_()
    assert "<script" not in page and "<img" not in page and "&lt;script&gt;" in page
    ET.fromstring(page)
    view.close()


def test_a_damaged_graph_and_damaged_hyper_parameters(tmp_path):
    event = tf.Event(wall_time=1, graph_def=b"\xff\xff\xff")
    broken = tf.Summary.Value(tag="_hparams_/session_start_info")
    broken.metadata.plugin_data.plugin_name = "hparams"
    broken.metadata.plugin_data.content = b"\xff\xff"
    broken.tensor.dtype = 1
    with tf.summary.FileWriter(tmp_path / "a") as a:
        a.add_event(event)
        a.add_summary(tf.Summary(value=[broken]))
    told = ViewState(sources_of(tmp_path)).catalogue()
    assert told["parameters"] == [] and told["hparams"] == []


def sound(frames, rate=8000, channels=1):
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(bytes(2 * channels * frames))
    return out.getvalue()


def test_sounds_are_encoded_anew_and_cut(tmp_path):
    audio = tf.Summary.Audio
    long = sound(MOST_SOUND, channels=2)
    with tf.summary.FileWriter(tmp_path / "a") as a:
        for step, data in enumerate([sound(4000) + b"<script>", long, b"", svg(), sound(10)[:30], b"RIFF" + bytes(99)]):
            value = tf.Summary.Value(tag="s", audio=audio(encoded_audio_string=data, content_type="text/html"))
            a.add_summary(tf.Summary(value=[value]), step)
    (sent,) = content_of_kind(ViewState(sources_of(tmp_path)), "audio")
    first, second, *bad = sent["runs"][0]["items"]
    assert (first["rate"], first["channels"], first["seconds"], first["of"]) == (8000, 1, 0.5, 0.5)
    assert b"script" not in first["wav"]
    assert len(second["wav"]) < MOST_SOUND + 100 and second["seconds"] < second["of"]
    assert len(bad) == 4 and all("wav" not in b and b["note"].startswith("cannot be shown") for b in bad)


@settings(max_examples=30)
@given(st.data())
def test_no_damaged_sound_takes_the_others(tmp_path_factory, data):
    """A chunk whose size is wrong made the module `wave` raise what nobody had thought of."""
    content = bytearray(sound(50))
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, 60))] = data.draw(st.sampled_from([0, 1, 127, 128, 255]))
    folder = tmp_path_factory.mktemp("log")
    with tf.summary.FileWriter(folder) as a:
        for step, one in enumerate([sound(10), bytes(content)]):
            value = tf.Summary.Value(tag="s", audio=tf.Summary.Audio(encoded_audio_string=one))
            a.add_summary(tf.Summary(value=[value]), step)
    (sent,) = content_of_kind(ViewState(sources_of(folder)), "audio")
    good, other = sent["runs"][0]["items"]
    assert "wav" in good and ("wav" in other) != ("note" in other)


def tensors(tag, plugin, *protos):
    for made in protos:
        value = tf.Summary.Value(tag=tag, tensor=made)
        value.metadata.plugin_data.plugin_name = plugin
        yield tf.Summary(value=[value])


def test_tensors_are_told_within_limits(tmp_path):
    make = tf.contrib.util.make_tensor_proto
    bomb = make(np.float32(1))
    bomb.tensor_shape.dim.add(size=10**12)
    words = make(np.array([EVIL.encode(), b"b"], object))
    with tf.summary.FileWriter(tmp_path / "a") as a:
        for k, s in enumerate(tensors("t", "", make(np.array([1.0, np.nan, 3.0], "f")), bomb, words)):
            a.add_summary(s, k)
        for k, s in enumerate(tensors("n", "scalars", make(np.int64(7)), make(np.float16(0.5)), bomb, words)):
            a.add_summary(s, k)
        a.add_summary(next(tensors("p", "pr_curves", make(np.ones((6, 2), "f")))), 1)
    state = ViewState(sources_of(tmp_path))
    (sent,) = content_of_kind(state, "tensor")
    numbers, refused, told = sent["runs"][0]["items"]
    assert numbers["text"].startswith("float32 [3]\nmin 1, mean 2, max 3") and "1 not finite" in numbers["text"]
    assert "limit" in refused["note"] and told["text"].startswith("string [2]") and EVIL in told["text"]
    np.testing.assert_array_equal(state.runs[0].scalars["n"].value, [7, 0.5])
    state.catalogue()
    assert any("not shown here: pr_curves" in note for note in state.catalogue()["notes"])


# ---- parameters, graphs, sessions ----------------------------------------------------------------


def test_parameters_by_scope():
    rows = parameter_rows({"a/w": (3, 4), "a/b": (4,), "step": (), "a/deep/v": None})
    assert [(r[0], r[3]) for r in rows] == [
        ("(all)", 17),
        ("a", 16),
        ("a/b", 4),
        ("a/deep", 0),
        ("a/deep/v", 0),
        ("a/w", 12),
        ("step", 1),
    ]
    assert [r[2] for r in rows if r[0] == "a/deep/v"] == ["unknown"]


def test_a_graph_seen_directly_and_through_its_file(tmp_path):
    with tf.Graph().as_default() as graph:
        tf.Variable(tf.zeros([5, 6]), name="layer/weights")
        tf.Variable(tf.zeros([6]), name="layer/biases")
    with tf.summary.FileWriter(tmp_path, graph):
        pass
    direct, read = (ViewState(sources_of(w)).catalogue()["parameters"] for w in (graph, tmp_path))
    assert direct[0]["rows"] == read[0]["rows"]
    assert direct[0]["rows"][0][3] == 36


def test_hyper_parameters(tmp_path):
    start = plugin_data_pb2.SessionStartInfo()
    start.hparams["rate"].number_value = 0.1
    start.hparams["net"].string_value = EVIL
    value = tf.Summary.Value(tag="_hparams_/session_start_info")
    value.metadata.plugin_data.plugin_name = "hparams"
    told = plugin_data_pb2.HParamsPluginData(session_start_info=start)
    value.metadata.plugin_data.content = told.SerializeToString()
    value.tensor.dtype = 1
    with tf.summary.FileWriter(tmp_path / "a") as a:
        a.add_summary(tf.Summary(value=[value]))
        log(a, range(2))
    assert ViewState(sources_of(tmp_path)).catalogue()["hparams"] == [
        {"run": "a", "values": {"rate": "0.1", "net": EVIL}, "metrics": {"loss": "0.5"}}
    ]


# ---- the public face -----------------------------------------------------------------------------


def test_view_outside_of_a_notebook(tmp_path):
    with tf.summary.FileWriter(tmp_path / "a") as a:
        log(a, range(10))
    with tf.view(tmp_path) as view:
        assert repr(view) == "<tfnb view: 1 run, 1 scalar tag, 10 points>"
        assert len(view.to_pandas()) == 10
        assert view.to_csv().splitlines()[0] == "run,tag,step,wall_time,value"
        assert "<svg" in view._repr_html_()
        assert "tfnb-view" not in {t.name for t in threading.enumerate()}


def test_what_can_be_viewed(tmp_path):
    table = tf.read_events(tmp_path)
    for what in (tmp_path, str(tmp_path), table, tf.Graph(), {"x": table}, [table, tmp_path]):
        tf.view(what).close()
    with pytest.raises(InvalidArgumentError, match="got int"):
        tf.view(3)
    with pytest.raises(NotFoundError, match="nowhere"):
        tf.view(tmp_path / "nowhere")


def test_runs_of_one_name_are_told_apart(tmp_path):
    for k in (1, 2):
        with tf.summary.FileWriter(tmp_path / str(k) / "run") as writer:
            log(writer, range(k))
    state = ViewState(sources_of([tmp_path / "1" / "run", tmp_path / "2" / "run"]))
    assert state.catalogue()["runs"] == ["run", "run (2)"]
    assert len(state.table()) == 3


def test_a_folder_that_goes_away_is_told(tmp_path):
    with tf.summary.FileWriter(tmp_path / "a") as a:
        log(a, range(10))
    file = next((tmp_path / "a").iterdir())
    with file.open("ab") as more:
        more.write(bytes(50))  # damage
    state = ViewState(sources_of(tmp_path))
    assert state.catalogue()["runs"] == ["a"]
    file.unlink()
    assert not state.poll()
    assert len(state.contents(Wanted(), True)) == 1


# ---- the page ------------------------------------------------------------------------------------


def test_templates_are_bounded_and_hold_no_addresses():
    made = full_chart_theme()
    assert set(made["charts"]) == set(CHARTS) and all(chart["doc"] for chart in made["charts"].values())
    text = repr(made)
    assert len(text) < 200_000 and "http" not in text


def test_a_template_comes_when_it_is_asked_for():
    before = chart_theme({})
    assert before["charts"] == {} and before["version"] == chart_template("bands")["version"]
    assert chart_template("step-linear")["doc"]
    assert chart_template("of another name") is None


def test_a_template_is_made_once_and_again_when_it_was_damaged(tmp_path):
    code = (
        "import sys; from tfnb.notebook.viewer.chart_theme import full_chart_theme; from json import dumps\n"
        "print(dumps(full_chart_theme(), sort_keys=True)); print('bokeh' in sys.modules)"
    )

    def made():
        told = subprocess.run(
            [sys.executable, "-c", code],
            check=True,
            text=True,
            stdout=subprocess.PIPE,
            env={**os.environ, "TFNB_CACHE_DIR": str(tmp_path)},
        ).stdout.splitlines()
        return told[0], told[1] == "True"

    first, imported = made()
    assert imported and made() == (first, False)
    files = sorted((tmp_path / "charts").iterdir())
    assert len(files) == len(CHARTS)
    files[0].write_bytes(files[0].read_bytes()[:-1])
    again, imported = made()
    assert imported and len(again) == len(first)
    tmp_path.joinpath("charts").rename(tmp_path / "away")
    tmp_path.joinpath("charts").write_text("no folder")  # nothing can be kept there
    assert made()[1]


def test_a_view_needs_no_bokeh_to_appear():
    code = "import sys, tfnb as tf; tf.view; assert 'bokeh' not in sys.modules, 'bokeh was imported'"
    subprocess.run([sys.executable, "-c", code], check=True)
