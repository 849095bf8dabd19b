"""Flags of absl and of TensorFlow are one world: defined there and read here, parsed by either `app.run`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HEAD = "import sys\nfrom absl import app, flags\nimport tensorflow as tf\n"
# What real TensorFlow 1.15.5 with absl prints, for the arguments beside each program; it refuses the one that is defined
# after reading, since the argument was unknown when it read.
PROGRAMS = {
    "absl's flags under tf.app.run": (
        "flags.DEFINE_integer('n', 3, 'a number')\ntf.app.run(lambda _: print(flags.FLAGS.n, tf.flags.FLAGS.n))",
        ["--n=5"],
        "5 5",
    ),
    "tf.flags under absl.app.run": (
        "tf.flags.DEFINE_integer('n', 3, 'a number')\napp.run(lambda _: print(tf.flags.FLAGS.n, flags.FLAGS.n))",
        ["--n", "6"],
        "6 6",
    ),
    "unknown arguments are the program's": (
        "flags.DEFINE_bool('b', False, '')\ntf.app.run(lambda rest: print(flags.FLAGS.b, rest[1:]))",
        ["--other=1", "--b", "word"],
        "True ['--other=1', 'word']",
    ),
    "read on first use": (
        "tf.flags.DEFINE_string('s', 'a', '')\nprint(tf.flags.FLAGS.s)\nprint(flags.FLAGS.is_parsed(), flags.FLAGS.s)",
        ["--s=b"],
        "b\nTrue b",
    ),
    "absl's own error before reading": (
        "flags.DEFINE_integer('n', 3, '')\n"
        "try:\n    print(flags.FLAGS.n)\nexcept flags.UnparsedFlagAccessError:\n    print('unparsed')",
        [],
        "unparsed",
    ),
    "defined after reading": (
        "tf.flags.DEFINE_integer('n', 3, '')\nprint(tf.flags.FLAGS.n)\n"
        "flags.DEFINE_integer('m', 4, '')\ntf.app.run(lambda _: print(flags.FLAGS.m, tf.flags.FLAGS.n))",
        ["--n=1", "--m=2"],
        "1\n2 1",
    ),
    "values, holders and classes": (
        "held = flags.DEFINE_float('rate', 1, '')\ntf.flags.FLAGS(['program', '--rate=2'])\n"
        "print(held.value, tf.flags.FLAGS['rate'].value, tf.flags.FLAGS.flag_values_dict()['rate'], "
        "tf.flags.Flag is flags.Flag)",
        [],
        "2.0 2.0 2.0 True",
    ),
    "validators": (
        "flags.DEFINE_integer('n', 3, '')\nflags.register_validator('n', lambda n: n > 0, message='positive')\n"
        "try:\n    tf.flags.FLAGS(['program', '--n=-1'])\nexcept Exception as e:\n    print('positive' in str(e))",
        [],
        "True",
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_that_mixes_flags(name: str, tmp_path: Path) -> None:
    text, arguments, expected = PROGRAMS[name]
    (tmp_path / "program.py").write_text(HEAD + text + "\n")
    command = [sys.executable, "-m", "tfnb", "run", str(tmp_path / "program.py"), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, expected, "")


def test_help_lists_the_flags_of_the_program(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(
        "import tensorflow as tf\ntf.flags.DEFINE_integer('steps', 3, 'how many steps')\ntf.app.run(lambda _: print('ran'))\n"
    )
    command = [sys.executable, "-m", "tfnb", "run", str(tmp_path / "program.py"), "--help"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert "--steps: how many steps" in done.stdout and "ran" not in done.stdout
