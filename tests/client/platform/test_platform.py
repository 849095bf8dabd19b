"""What programs need around the graph: flags, logging, files, texts."""

from __future__ import annotations

import logging
import sys

import pytest

import tfnb as tf
from tfnb import errors
from tfnb.client.platform.flags import FLAGS


@pytest.fixture(autouse=True)
def no_flags():
    yield
    for name in list(FLAGS):
        delattr(FLAGS, name)
    FLAGS.unparse_flags()


def define():
    flags = tf.app.flags
    flags.DEFINE_string("data_dir", "/tmp/data", "where data lies: 100%")
    flags.DEFINE_integer("steps", 100, "how many")
    flags.DEFINE_float("rate", 1, "learning rate")
    flags.DEFINE_boolean("fake", False, "use no data")
    tf.flags.DEFINE_bool("log", True, "write logs")
    tf.flags.DEFINE_list("sizes", "3,4", "layers")
    tf.flags.DEFINE_enum("mode", None, ["train", "test"], "what to do")


def test_names_of_absl(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["prog", "--steps=7"])
    tf.app.flags.DEFINE_float("rate", default=0.001, help="initial learning rate")
    tf.flags.DEFINE_integer(name="steps", default=3, help="how many", lower_bound=1)
    tf.flags.DEFINE_enum("mode", default="test", enum_values=["train", "test"], help="what to do")
    assert (tf.flags.FLAGS.rate, tf.flags.FLAGS.steps, tf.flags.FLAGS.mode) == (0.001, 7, "test")
    with pytest.raises(TypeError):
        tf.flags.DEFINE_float("other", 0.5, default=0.001)


def test_flags_that_may_be_given_several_times(monkeypatch):
    words = ["--rate=6", "--rate", "12", "--name=a", "--scale=0.5", "--kind=x", "--files=a, b c"]
    monkeypatch.setattr("sys.argv", ["program.py", *words])
    tf.flags.DEFINE_multi_integer("rate", None, "atrous rates")
    tf.flags.DEFINE_multi_string("name", ["u", "v"], "names")
    tf.flags.DEFINE_multi_string("other", "u", "names")
    tf.flags.DEFINE_multi_float("scale", 1.0, "scales", lower_bound=0.0)
    tf.flags.DEFINE_multi_integer("absent", None, "numbers")
    tf.flags.DEFINE_multi_enum("kind", ["y", "x"], ["x", "y"], "kinds")
    tf.flags.DEFINE_spaceseplist("files", "", "names", comma_compat=True)
    tf.flags.DEFINE_spaceseplist("more", "a b", "names")
    F = tf.flags.FLAGS
    assert (F.rate, F.name, F.other, F.scale, F.absent) == ([6, 12], ["a"], ["u"], [0.5], None)
    assert (F.kind, F.files, F.more) == (["x"], ["a", "b", "c"], ["a", "b"])


def test_all_flags_as_programs_print_them(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["prog", "--steps=7"])
    define()
    found = {name: (str(flag), flag.value, flag.default) for name, flag in tf.flags.FLAGS.__flags.items()}
    assert found["steps"] == ("7", 7, 100)
    assert sorted(found) == sorted(tf.flags.FLAGS)


def test_defaults_and_command_line(monkeypatch):
    define()
    monkeypatch.setattr(
        sys,
        "argv",
        ["prog", "-f", "kernel.json", "--steps=7", "--rate", "0.5", "--fake", "--nolog"],
    )
    F = tf.app.flags.FLAGS
    assert (F.data_dir, F.steps, F.rate, F.fake, F.log) == ("/tmp/data", 7, 0.5, True, False)
    assert F.sizes == ["3", "4"]
    assert tf.flags.FLAGS is F
    F.steps = 9
    assert F.flag_values_dict()["steps"] == 9
    with pytest.raises(AttributeError, match="no flag named 'unknown'"):
        _ = F.unknown
    with pytest.raises(AttributeError):
        F.unknown = 3
    tf.app.flags.DEFINE_integer("steps", 5, "again, as when a cell is run twice")
    assert F.steps == 7


@pytest.mark.parametrize("argv", [["--steps=x"], ["--fake=maybe"], ["--mode=fly"], ["--rate="]])
def test_bad_values(argv, monkeypatch):
    define()
    monkeypatch.setattr(sys, "argv", ["prog", *argv])
    with pytest.raises(errors.InvalidArgumentError, match="flag"):
        _ = tf.flags.FLAGS.steps


def test_run(monkeypatch):
    define()
    seen = []
    monkeypatch.setattr(sys, "argv", ["prog", "--steps=3", "rest"])
    with pytest.raises(SystemExit) as stop:
        tf.app.run(main=lambda argv: seen.append((argv, FLAGS.steps)))
    assert stop.value.code is None
    assert seen == [(["prog", "rest"], 3)]
    with pytest.raises(SystemExit):
        tf.app.run(lambda argv: seen.append(argv), argv=["other", "--fake=true", "x"])
    assert seen[-1] == ["other", "x"]
    assert FLAGS.fake is True


def test_required_flags(monkeypatch):
    define()
    tf.flags.mark_flags_as_required(["mode"])
    monkeypatch.setattr(sys, "argv", ["prog"])
    with pytest.raises(errors.InvalidArgumentError, match="mode"):
        _ = tf.flags.FLAGS.steps


def test_logging(capsys, monkeypatch):
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    before = tf.logging.get_verbosity()
    try:
        tf.logging.set_verbosity(tf.logging.INFO)
        tf.logging.info("step %d", 3)
        tf.logging.debug("hidden")
        tf.logging.set_verbosity("ERROR")
        tf.logging.warn("hidden")
        tf.logging.error("bad")
        for _ in range(5):
            tf.logging.log_first_n(tf.logging.FATAL, "first", 2)
            tf.logging.log_every_n(tf.logging.FATAL, "every", 2)
        with pytest.raises(errors.InvalidArgumentError):
            tf.logging.set_verbosity("LOUD")
    finally:
        tf.logging.set_verbosity(before)
    lines = capsys.readouterr().err.splitlines()
    assert lines[:2] == ["INFO:tfnb:step 3", "ERROR:tfnb:bad"]
    assert [sum(word in line for line in lines) for word in ("first", "every")] == [2, 3]


def test_gfile(tmp_path):
    folder, name = tmp_path / "a" / "b", tmp_path / "a" / "b" / "x.txt"
    tf.gfile.MakeDirs(folder)
    tf.gfile.MakeDirs(folder)
    assert tf.gfile.IsDirectory(folder)
    with tf.gfile.GFile(str(name), "w") as f:
        f.write("one\ntwo\n")
    assert tf.gfile.Exists(name)
    assert not tf.gfile.Exists("")
    with tf.gfile.FastGFile(name) as f:
        assert (next(f), list(f)) == ("one\n", ["two\n"])
        f.seek(0)
        assert f.read(3) == "one"
        assert f.size() == 8
    assert tf.gfile.Open(name, "rb").read() == b"one\ntwo\n"
    tf.gfile.Copy(name, tmp_path / "copy")
    with pytest.raises(errors.AlreadyExistsError):
        tf.gfile.Copy(name, tmp_path / "copy")
    tf.gfile.Rename(tmp_path / "copy", tmp_path / "moved")
    assert tf.gfile.ListDirectory(tmp_path) == ["a", "moved"]
    assert tf.gfile.Glob([str(tmp_path / "m*"), str(tmp_path / "a" / "*")]) == [
        str(folder),
        str(tmp_path / "moved"),
    ]
    assert tf.gfile.Stat(name).length == 8
    assert [d for d, _, _ in tf.gfile.Walk(tmp_path)] == [
        str(tmp_path),
        str(tmp_path / "a"),
        str(folder),
    ]
    tf.gfile.Remove(tmp_path / "moved")
    tf.gfile.DeleteRecursively(tmp_path / "a")
    assert tf.gfile.ListDirectory(tmp_path) == []


def test_gfile_errors(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(errors.NotFoundError):
        tf.gfile.GFile(tmp_path / "none").read()
    with pytest.raises(errors.NotFoundError):
        tf.gfile.ListDirectory(tmp_path / "none")
    with pytest.raises(errors.NotFoundError):
        tf.gfile.DeleteRecursively(tmp_path / "none")
    with pytest.raises(errors.AlreadyExistsError):
        tf.gfile.MkDir(tmp_path / "file")
    with pytest.raises(errors.FailedPreconditionError):
        tf.gfile.ListDirectory(tmp_path / "file")
    with pytest.raises(errors.InvalidArgumentError):
        tf.gfile.GFile(tmp_path / "file", "x!")
    with tf.gfile.GFile(tmp_path / "file") as f, pytest.raises(errors.PermissionDeniedError):
        f.write("no")


def test_a_link_is_deleted_and_not_followed(tmp_path):
    (tmp_path / "kept").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "kept")
    tf.gfile.DeleteRecursively(tmp_path / "link")
    assert tf.gfile.ListDirectory(tmp_path) == ["kept"]


def test_compat():
    assert tf.compat.as_bytes("é") == b"\xc3\xa9"
    assert tf.compat.as_str(b"\xc3\xa9") == tf.compat.as_text("é") == "é"
    assert tf.compat.as_str_any(3) == "3"
    assert isinstance(3, tf.compat.integral_types)
    assert isinstance(2.5, tf.compat.real_types)
    for f in (tf.compat.as_bytes, tf.compat.as_text):
        with pytest.raises(errors.DTypeError):
            f(3)
