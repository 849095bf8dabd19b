"""The magics, in a kernel-less shell of IPython."""

import subprocess
import sys

import pytest

PROGRAM = r"""
import io, sys
from contextlib import redirect_stderr, redirect_stdout
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_line_magic("load_ext", "tfnb")
def cell(text):
    out = io.StringIO()
    with redirect_stdout(out), redirect_stderr(out):
        shell.run_cell(text)
    return out.getvalue()
assert "no open session" in cell("%%tfnb_profile\n1")
cell("import tfnb as tf\nsess = tf.Session()\ny = tf.reduce_sum(tf.ones([50]) * 2.0, name='total')")
told = cell("%%tfnb_profile\nvalue = sess.run(y)")
assert "tf.timeline: 1 step" in told, told
assert shell.user_ns["value"] == 100
assert "no session ran a step" in cell("%%tfnb_profile sess\n2")
assert "is no session" in cell("%%tfnb_profile y\n2")
told = cell("%%tfnb_profile sess\nsess.run(y)\n1 / 0")
assert "ZeroDivisionError" in told and "tf.timeline: 1 step" in told
assert "needs a folder" in cell("%tfnb")
cell("%%tensorflow 0.12\nimport tensorflow as old\nfrom tensorflow.contrib import slim")
assert shell.user_ns["old"].__version__ == "0.12.1" and shell.user_ns["slim"].conv2d
assert "tensorflow" not in sys.modules and shell.user_ns["old"].nn.relu
assert "era is '3'; needed one of" in cell("%%tensorflow 3\n1")
"""


@pytest.mark.opencl
def test_magics():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
