"""The door by which a house beside the core brings its names and its commands, and the command `tfnb` that lists them."""

from __future__ import annotations

import subprocess
import sys

import pytest

import tfnb as tf
from tfnb.__main__ import main

HELP = """\
usage: tfnb [run] [--era ERA] PROGRAM [ARGUMENT ...]
       tfnb check [--era ERA] PROGRAM [PROGRAM ...]
       tfnb doctor [--fix] [--json] [CHECK ...]
       tfnb prepare [--again]
       tfnb --version

  run      run a program for TensorFlow 0.x or 1.x unchanged: its `import tensorflow` means tfnb
  check    read programs without running them, and say which names are missing and what will differ
  doctor   look at this installation, and name the command that mends what is wrong
  prepare  compile the kernels that first programs have in common, as when an image is built

`tfnb COMMAND --help` tells more of each.
"""


def test_the_core_works_without_the_house():
    """With no house a graph is built, differentiated, trained and saved, and no module of v1 is imported."""
    code = """
import sys, types, importlib.util, pathlib
root = pathlib.Path(importlib.util.find_spec("tfnb").origin).parent
text = (root / "frontend.py").read_text().replace('HOUSES = ("tfnb.v1",)', "HOUSES = ()")
class Door:
    def find_spec(self, name, path=None, target=None):
        return importlib.util.spec_from_loader(name, self) if name == "tfnb.frontend" else None
    def create_module(self, spec):
        return None
    def exec_module(self, module):
        exec(compile(text, "frontend.py", "exec"), module.__dict__)
sys.meta_path.insert(0, Door())
import tfnb as tf
x = tf.placeholder(tf.float32, [None, 3])
w = tf.get_variable("w", [3, 1], initializer=tf.zeros_initializer())
loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - 1.0))
step = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for _ in range(3):
        sess.run(step, {x: [[1.0, 2.0, 3.0]]})
    assert 0 < sess.run(loss, {x: [[1.0, 2.0, 3.0]]}) < 0.9
assert not [m for m in sys.modules if m.startswith("tfnb.v1")]
assert not hasattr(tf, "keras") and not hasattr(tf.contrib, "crf")
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("arguments", "status"), [(["--help"], 0), (["-h"], 0), ([], 2)], ids=["help", "short", "nothing"]
)
def test_the_commands_are_listed(capsys, arguments, status):
    assert main(arguments) == status
    assert capsys.readouterr().out == HELP


def test_the_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"tfnb {tf.__version__}\n"


@pytest.mark.parametrize("command", ["run", "check", "doctor", "prepare"])
def test_each_command_has_a_help_of_its_own(capsys, command):
    try:
        status = main([command, "--help"])
    except SystemExit as end:
        status = end.code
    assert status == 0
    assert f"tfnb {command}" in capsys.readouterr().out.replace("[run]", "run")


def test_a_program_needs_no_name_of_a_command(tmp_path):
    (tmp_path / "program.py").write_text("import sys; print(sys.argv)")
    command = [sys.executable, "-m", "tfnb"]
    for arguments in (["program.py", "--version"], ["run", "program.py", "--version"], ["--era", "1.5", "program.py"]):
        done = subprocess.run([*command, *arguments], cwd=tmp_path, capture_output=True, text=True, check=True)
        assert done.stdout.startswith("['program.py'")


def test_the_version_and_the_help_load_nothing():
    """Neither NumPy nor a command: they answer where something that these need is missing."""
    program = """
import sys
from tfnb.__main__ import main
main(["--version"]), main(["--help"])
assert not {"numpy", "argparse", "tfnb.doctor", "tfnb.v1.programs.command_line"} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)
