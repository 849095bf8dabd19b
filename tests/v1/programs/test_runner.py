"""`python -m tfnb PROGRAM` runs programs in the style of the time, unchanged, each in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tfnb.v1.programs.command_line import main
from tfnb.v1.programs.hook import uninstall

ROOT = Path(__file__).resolve().parents[3]
PROGRAMS = Path(__file__).parent / "programs"


def tfnb(*arguments, cwd, check=True):
    """What the command `python -m tfnb` writes."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TFNB_QUIET": "1"}
    command = [sys.executable, "-m", "tfnb", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=environment, timeout=300, check=False)
    if check:
        assert done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.mark.opencl
def test_flags_and_digits(tmp_path):
    program = PROGRAMS / "mnist_softmax.py"
    done = tfnb("run", "--era", "0.12", program, "--steps=40", "--data_dir", tmp_path, cwd=tmp_path)
    lines = dict(line.split(" ", 1) for line in done.stdout.splitlines() if line.startswith(("v", "ac", "ar")))
    assert lines["version"] == "0.12.1" and float(lines["accuracy"]) > 0.8
    assert lines["arguments"] == str(["--steps=40", "--data_dir", str(tmp_path)])


@pytest.mark.opencl
def test_slim_and_a_module_beside_the_program(tmp_path):
    done = tfnb(PROGRAMS / "slim_digits.py", cwd=tmp_path)
    assert "falls True" in done.stdout
    assert "'small/conv1/weights'" in done.stdout and "'small/logits/biases'" in done.stdout


PROGRAM = """
import sys
before = set(sys.modules)
def new():
    return sorted(n for n in set(sys.modules) - before if not n.startswith("tensorflow"))
import tensorflow as tf
loaded = new()
def main(argv):
    import __main__
    print(__main__.__file__, argv[1:], __main__.main is main, sys.path[0])
    print(loaded)
    print(sorted({n.partition(".")[0] for n in new()} - sys.stdlib_module_names))
    print([n for n in new() if n.startswith("tfnb")])
    print([n for n in HEAVY if n in sys.modules])
    from tensorflow.contrib import nothing_like_this
if __name__ == "__main__":
    tf.app.run()
"""
# What a program that only builds and runs graphs on the host need not wait for.
HEAVY = (
    *("scipy", "pyopencl", "dask", "distributed", "pandas", "PIL", "google.protobuf", "tensorboard"),
    *("IPython", "bokeh", "ipywidgets", "anywidget", "jupyterlab", "tfnb.notebook"),
)


def test_the_program_is_main(tmp_path):
    """It sees itself as Python runs it, `import tensorflow` loads no module that tfnb had not loaded, and an error
    passes through with the status that Python gives it. `app.run` loads absl, which reads the flags, and nothing else
    but the place `tf.app`.
    """
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "program.py").write_text(f"HEAVY = {HEAVY}\n{PROGRAM}")
    done = tfnb("folder/program.py", "run", "-m", cwd=tmp_path, check=False)
    where, *loaded = done.stdout.splitlines()
    assert where == f"folder/program.py ['run', '-m'] True {tmp_path / 'folder'}"
    assert loaded == ["[]", "['absl', 'tfnb']", "['tfnb.app', 'tfnb.client.platform.flags']", "[]"]
    assert done.returncode == 1 and "'tensorflow.contrib.nothing_like_this': this program runs under tf" in done.stderr


def test_a_module_is_run(tmp_path):
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "train.py").write_text(
        "import sys, tensorflow as tf\nfrom package import other\nprint(sys.argv[1:], tf.VERSION)"
    )
    (tmp_path / "package" / "other.py").write_text("import tensorflow.contrib.rnn")
    assert tfnb("-m", "package.train", "--era", "x", cwd=tmp_path).stdout == "['--era', 'x'] 1.15.5\n"


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["program.py"], 1, "program.py:2: print 'hello'\nif this is a program of Python 2"),
        (["run", "no_such_file.py"], 1, "tfnb: there is no file no_such_file.py"),
        (["--era", "2.0", "program.py"], 2, "argument --era: invalid choice: '2.0'"),
        (["--help"], 0, "usage: tfnb [run]"),
        ([], 2, "usage: tfnb [run]"),
    ],
)
def test_what_does_not_run(tmp_path, monkeypatch, capsys, arguments, status, message):
    (tmp_path / "program.py").write_text("import tensorflow as tf\nprint 'hello'\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["tfnb", *arguments])
    try:
        returned = main()
    except SystemExit as error:  # from argparse
        returned = error.code
    finally:
        uninstall()
    written = capsys.readouterr()
    assert returned == status and message in written.out + written.err
