"""The command `tfnb`: what it lists, which command it calls, and that this takes nothing with it."""

from __future__ import annotations

import subprocess
import sys

import pytest

import tfnb as tf
from tfnb.__main__ import main

HELP = """\
usage: tfnb [run] [--era ERA] PROGRAM [ARGUMENT ...]
       tfnb check [--era ERA] PROGRAM [PROGRAM ...]
       tfnb --version

  run    run a program for TensorFlow 0.x or 1.x unchanged: its `import tensorflow` means tfnb
  check  read programs without running them, and say which names are missing and what will differ

`tfnb COMMAND --help` tells more of each.
"""


@pytest.mark.parametrize(
    ("arguments", "status"), [(["--help"], 0), (["-h"], 0), ([], 2)], ids=["help", "short", "nothing"]
)
def test_the_commands_are_listed(capsys, arguments, status):
    assert main(arguments) == status
    assert capsys.readouterr().out == HELP


def test_the_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"tfnb {tf.__version__}\n"


@pytest.mark.parametrize("command", ["run", "check"])
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
assert not {"numpy", "argparse", "tfnb.v1.programs.command_line"} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)
