"""The formatters: what IPython shows for our objects, in a kernel-less shell of IPython."""

import subprocess
import sys

import numpy as np
import pytest

import tfnb as tf
from tfnb.notebook.displays import devices_html, operation_html, session_html

IN_IPYTHON = """
import sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
import tfnb as tf
slow = {"bokeh", "ipywidgets", "anywidget", "pyopencl", "distributed"} & set(sys.modules)
assert not slow, slow
show = lambda x: shell.display_formatter.format(x)[0].get("text/html", "")
c = tf.constant(2.0, name="two")
assert "<svg" in show(tf.get_default_graph())
assert "Const" in show(c) and "two:0" in show(c.op)
with tf.Session() as sess:
    assert "CPU:0" in show(sess), show(sess)
    assert "CPU:0" in show(sess.list_devices()[0])
"""


def test_formatters_are_there_after_import():
    subprocess.run([sys.executable, "-c", IN_IPYTHON], check=True, timeout=120)


def test_import_stays_light():
    code = (
        "import sys, tfnb;"
        "heavy = {'IPython', 'bokeh', 'ipywidgets', 'anywidget', 'dask', 'distributed', 'pyopencl',"
        " 'google.protobuf'} & set(sys.modules); assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@pytest.mark.opencl
def test_session_and_devices():
    with tf.Session(graph=tf.Graph()) as session:
        html = session_html(session)
        assert "device:CPU:0" in html
        assert "a graph of 0 operations" in html
        assert devices_html(session.list_devices()) in html


def test_operation():
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        y = tf.add(x, np.float32(1), name="y")
    html = operation_html(y.op)
    assert "x:0  float32" in html
    assert "test_displays.py" in html
