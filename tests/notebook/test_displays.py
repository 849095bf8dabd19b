"""The formatters: what IPython shows for our objects, in a kernel-less shell of IPython."""

import subprocess
import sys

import numpy as np
import pytest

import tfnb as tf
from tfnb.notebook.displays import (
    caches_html,
    devices_html,
    operation_html,
    session_html,
    steps_html,
    variable_html,
)

IN_IPYTHON = """
import sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
import tfnb as tf
slow = {"bokeh", "ipywidgets", "anywidget", "pyopencl", "distributed"} & set(sys.modules)
assert not slow, slow
assert not {"tfnb.ops", "tfnb.session.default", "tfnb.notebook.displays"} & set(sys.modules)  # displays load on use
show = lambda x: shell.display_formatter.format(x)[0].get("text/html", "")
c = tf.constant(2.0, name="two")
assert "<svg" in show(tf.get_default_graph())
assert "Const" in show(c) and "two:0" in show(c.op)
with tf.Session() as sess:
    assert "CPU:0" in show(sess), show(sess)
    assert "CPU:0" in show(sess.list_devices()[0])
    assert "<td" in show(tf.list_caches()) and "compiled steps" in show(tf.list_caches())
    weights = tf.Variable(tf.ones([3, 4]), name="weights")
    assert "weights:0" in show(weights) and "uninitialized" in show(weights)
    metadata = tf.RunMetadata()
    assert show(metadata) == ""
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    sess.run(weights.initializer, options=options, run_metadata=metadata)
    assert "tfnb-timeline" in show(metadata) and "12 values" in show(weights)
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
        assert "graph: 0 operations" in html
        assert devices_html(session.list_devices()) in html
        assert f"</summary>{caches_html(session.list_caches())}</details>" in html


@pytest.mark.opencl
def test_variables_say_what_they_hold():
    with tf.Graph().as_default():
        big = tf.Variable(np.array([0.0, np.inf, 2] * 10, np.float32), trainable=False, name="big")
        text = tf.Variable("<b>", name="text")
        assert "30 values, 120 bytes" in variable_html(big) and ">now<" not in variable_html(big)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            html = variable_html(big)
            assert "from 0 to inf" in html and "10 are not finite" in html
            assert "test_displays.py" in html
            assert "&lt;b&gt;" in variable_html(text) and "<b>" not in variable_html(text)


@pytest.mark.opencl
def test_a_recording_is_shown_as_its_timeline():
    with tf.Graph().as_default(), tf.Session() as session:
        total = tf.reduce_sum(tf.ones([50]) * tf.placeholder_with_default(2.0, []), name="total")
        with tf.profile(session) as recording:
            session.run(total)
    assert "total" in steps_html(recording)
    assert steps_html(tf.RunMetadata()) is None


def test_operation():
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        y = tf.add(x, np.float32(1), name="y")
    html = operation_html(y.op)
    assert "x:0  float32" in html
    assert "test_displays.py" in html
