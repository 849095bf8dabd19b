"""`tfnb check` and `tfnb run` of notebooks, of today's format and of that of 2014, with magics and commands."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from tfnb.v1.programs.check import check_files
from tfnb.v1.programs.command_line import main
from tfnb.v1.programs.errors import BadNotebookError
from tfnb.v1.programs.notebooks import NotebookCode

code = nbformat.v4.new_code_cell


def write(path: Path, *cells: str, **metadata: object) -> Path:
    made = [nbformat.v4.new_markdown_cell("# A notebook"), *map(code, cells)]
    nbformat.write(nbformat.v4.new_notebook(cells=made, metadata=dict(metadata)), path)
    return path


def run(path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tfnb", "run", str(path), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)


def test_check_tells_cells_and_lines(tmp_path, capsys):
    write(
        tmp_path / "a.ipynb",
        "%load_ext x\nimport tensorflow as tf\n!pip install nothing\nfiles = !ls",
        "%%bash\ntf.nn.not_python(",
        "tf.constant?\n?tf.constant\nfor i in range(2):\n    %time tf.nn.not_looked_at(1)\n    tf.nn.no_such(i)\ntf.nn.relu",
    )
    assert check_files([str(tmp_path / "a.ipynb")]) == 1
    out = capsys.readouterr().out
    assert "1 missing" in out and "cell 3, line 5: tf.nn.no_such" in out and "not_" not in out


def test_check_of_a_folder_reads_its_notebooks_and_not_their_copies(tmp_path, capsys):
    (tmp_path / "below" / ".ipynb_checkpoints").mkdir(parents=True)
    write(tmp_path / "below" / "a.ipynb", "import tensorflow as tf\ntf.relu_99(1)")
    write(tmp_path / "below" / ".ipynb_checkpoints" / "a.ipynb", "import tensorflow as tf\ntf.old_copy(1)")
    assert check_files([str(tmp_path)]) == 1
    out = capsys.readouterr().out
    assert "cell 1, line 2: tf.relu_99" in out and "old_copy" not in out
    (tmp_path / "empty").mkdir()
    assert check_files([str(tmp_path / "empty")]) == 1  # nothing was looked at, and that is said
    assert "no program and no notebook" in capsys.readouterr().out


def test_a_cell_of_python_2_is_told(tmp_path, capsys):
    write(tmp_path / "a.ipynb", "import tensorflow as tf", "x = 1\nprint x")
    assert check_files([str(tmp_path / "a.ipynb")]) == 1
    out = capsys.readouterr().out
    assert "cell 2, line 2" in out and "Python 2" in out


def test_a_notebook_of_the_third_format(tmp_path):
    cell = {"cell_type": "code", "input": ["import tensorflow as tf\n", "print(tf.add(1, 2).name)"], "outputs": []}
    cell.update({"language": "python", "metadata": {}, "collapsed": False})
    old = {
        "metadata": {"name": ""},
        "nbformat": 3,
        "nbformat_minor": 0,
        "worksheets": [{"cells": [cell], "metadata": {}}],
    }
    (tmp_path / "old.ipynb").write_text(json.dumps(old))
    assert NotebookCode.read(tmp_path / "old.ipynb").text.startswith("import tensorflow as tf\n")
    done = run(tmp_path / "old.ipynb")
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "Add:0", "")


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"cells": 3}', "import tensorflow\n", '{"nbformat": 4, "cells": [{}]}']
)
def test_what_is_no_notebook_is_refused(text, tmp_path, capsys):
    (tmp_path / "bad.ipynb").write_text(text)
    with pytest.raises(BadNotebookError, match=r"bad\.ipynb is no notebook"):
        NotebookCode.read(tmp_path / "bad.ipynb")
    assert check_files([str(tmp_path / "bad.ipynb")]) == 1 and "is no notebook" in capsys.readouterr().out
    assert main(["run", str(tmp_path / "bad.ipynb")]) == 1
    assert capsys.readouterr().err.startswith("tfnb: ")


def test_the_command_refuses_what_is_no_notebook(tmp_path):
    (tmp_path / "bad.ipynb").write_text("{")
    done = run(tmp_path / "bad.ipynb")
    assert done.returncode == 1 and done.stderr.startswith("tfnb: ") and "Traceback" not in done.stderr


def test_a_notebook_of_another_language_is_refused(tmp_path):
    path = write(tmp_path / "r.ipynb", "x <- 1", kernelspec={"name": "ir", "display_name": "R", "language": "R"})
    with pytest.raises(BadNotebookError, match="a notebook of R"):
        NotebookCode.read(path)


@pytest.mark.opencl
def test_run_runs_the_cells_in_order_beside_their_notebook(tmp_path):
    (tmp_path / "helper_beside.py").write_text("three = 3.0\n")
    path = write(
        tmp_path / "a.ipynb",
        "import sys\nimport tensorflow as tf\nfrom helper_beside import three\n!echo from the shell",
        "%%time\nx = tf.constant(2.0)",
        "with tf.Session() as sess:\n    print('value', sess.run(x * three), sys.argv[1:], __name__)\nx.name",
        "import pickle\nclass Kept: pass\nprint(type(pickle.loads(pickle.dumps(Kept()))).__name__)",
    )
    done = run(path, "--n=1", "word")
    assert (done.returncode, done.stderr) == (0, "")
    assert "from the shell" in done.stdout and "value 6.0 ['--n=1', 'word'] __main__" in done.stdout
    assert done.stdout.strip().endswith("Kept")


def test_an_error_names_its_cell_and_ends_the_run(tmp_path):
    done = run(write(tmp_path / "a.ipynb", "x = 1", "y = x\ny / 0", "print('not reached')"))
    assert done.returncode == 1 and "not reached" not in done.stdout
    assert re.search(r"line 2.*\n.*y / 0", done.stdout.replace("\n      1 y = x", "")), done.stdout
    assert "ZeroDivisionError" in done.stdout and "\x1b" not in done.stdout
    assert run(write(tmp_path / "b.ipynb", "import sys\nsys.exit(3)", "print(1)")).returncode == 1  # as IPython ends
    assert "SyntaxError" in run(write(tmp_path / "c.ipynb", "x = = 1")).stdout
