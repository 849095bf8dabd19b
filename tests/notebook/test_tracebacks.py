"""Errors in a notebook: few lines, the user's cells and lines, no frames of tfnb unless they are asked for."""

import json
import subprocess
import sys
import traceback
from functools import partial
from pathlib import Path

import pytest

import tfnb
from tfnb import errors
from tfnb.notebook.tracebacks import without_our_frames

PACKAGE = Path(tfnb.__file__).parent

MISTAKES = {
    "shape": (
        "import tfnb as tf\nx = tf.ones([3, 4])\ny = tf.ones([5, 4])\n\nz = tf.matmul(x, y)\n\nprint(z)",
        ["5 z = tf.matmul(x, y)", "cell [1], line 5: z = tf.matmul(x, y)", "the second one transposed fits"],
    ),
    "dtype": (
        "import tfnb as tf\n\nn = tf.constant([1, 2])\nx = tf.constant([1., 2.])\nn * x\n\nprint(x)",
        ["5 n * x", "cell [1], line 4: x = tf.constant([1., 2.])", "cast those with tf.cast(..., tf.float32)"],
    ),
    "uninitialised": (
        "import tfnb as tf\nv = tf.Variable(3.0, name='v')\ns = tf.Session()\n\ns.run(v + 1)\n\ns.close()",
        ["5 s.run(v + 1)", "cell [1], line 2: v = tf.Variable", "session.run(tf.global_variables_initializer())"],
    ),
    "not fed": (
        "import tfnb as tf\nx = tf.placeholder(tf.float32, [2], name='x')\ns = tf.Session()\n\ns.run(x + 1)\n\nx",
        ["5 s.run(x + 1)", "cell [1], line 2: x = tf.placeholder", 'feed_dict={"x:0": value}'],
    ),
    "wrong graph": (
        "import tfnb as tf\nwith tf.Graph().as_default():\n    x = tf.constant(1.0)\ns = tf.Session()\ns.run(x)\n\nx",
        ["5 s.run(x)", "cell [1], line 3: x = tf.constant(1.0)", "tf.Session(graph=...)"],
    ),
}

SHELL = """
import sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance(colors="nocolor")
for cell in sys.argv[1:]:
    shell.run_cell(cell, store_history=True)
"""


def shown(*cells):
    """What IPython prints for these cells, run one after the other in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", SHELL, *cells], check=True, timeout=120, capture_output=True, text=True
    )
    assert "Handler failed" not in done.stderr, done.stderr
    return done.stdout


@pytest.mark.opencl
@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_common_mistake_takes_twelve_lines(mistake):
    cell, wanted = MISTAKES[mistake]
    text = shown(cell)
    assert len(text.rstrip().splitlines()) <= 12, text
    assert "tfnb/" not in text
    for part in wanted:
        assert part in text


def test_an_unknown_keyword_has_a_near_one():
    """Python calls no code of tfnb then, and names none; other errors, functions and keywords stay as they are."""
    cells = {
        "import tfnb as tf\ns = tf.Session()\nx = tf.zeros([2])": "",
        "y = tf.reduce_sum(\n    tf.reduce_max(x),\n    keep_dim=True)": "'keep_dim'; did you mean keep_dims or keepdims?",
        "tf.train.AdamOptimizer(learning_rat=0.1)": "'learning_rat'; did you mean learning_rate?",
        "s.run(x, fed_dict={})": "'fed_dict'; did you mean feed_dict?",
        "tf.train.Saver(name='a', max_to_kep=1)": "'max_to_kep'; did you mean max_to_keep?",
        "def mine(learning_rate): pass\nmine(learning_rat=1)": "'learning_rat'\n",
        "tf.identity(x, qqq=1)": "'qqq'\n",
    }
    text = shown(*cells)
    for part in cells.values():
        assert part in text
    assert text.count("did you mean") == 4


BODY = "def body(i):\n    return i + undefined\n\nr = tf.while_loop(lambda i: i < 3, body, [0])"


def test_the_users_function_that_tfnb_calls_is_shown():
    text = shown("import tfnb as tf", BODY)
    assert "----> 2     return i + undefined" in text and "----> 4 r = tf.while_loop" in text
    assert "while_context.py" not in text


def test_ipythons_switch_shows_all_frames():
    text = shown("import tfnb as tf", "%xmode --show", BODY, "%xmode --hide", BODY)
    first, second = text.split("NameError: name 'undefined' is not defined")[:2]
    assert "while_context.py" in first
    assert "while_context.py" not in second


def test_another_handler_of_exceptions_stays():
    text = shown(
        "get_ipython().set_custom_exc((Exception,), lambda *args, tb_offset=None: print('theirs'))",
        "import tfnb as tf",
        "tf.matmul(tf.ones([2, 3]), tf.ones([2, 3]))",
    )
    assert text.strip() == "theirs"


FRAMES = """
import sys, traceback
print([frame.f_code.co_name for frame, _ in traceback.walk_tb(sys.last_value.__traceback__)])
"""


def test_an_exception_keeps_its_traceback():
    text = shown("import tfnb as tf", "tf.matmul(tf.ones([2, 3]), tf.ones([2, 3]))", FRAMES)
    assert "_product_dims" in text.splitlines()[-1]


def test_errors_without_frames_of_tfnb_are_shown_as_ever():
    cells = "def f():\n    return 1 / 0", "f()"
    assert shown("import tfnb", *cells) == shown("import json", *cells)


def test_libraries_are_left_out_where_tfnb_called_them():
    namespace = {}
    exec(compile("def call(function):\n    return function()", f"{PACKAGE}/some_module.py", "exec"), namespace)

    def of_the_user():
        return json.loads("{")

    for function, shown_functions in (
        (partial(json.loads, "{"), ["test_libraries_are_left_out_where_tfnb_called_them"]),
        (of_the_user, ["test_libraries_are_left_out_where_tfnb_called_them", "of_the_user", "loads", "decode"]),
    ):
        with pytest.raises(json.JSONDecodeError) as caught:
            namespace["call"](function)
        frames = [f.f_code.co_name for f, _ in traceback.walk_tb(without_our_frames(caught.tb))]
        assert frames[: len(shown_functions)] == shown_functions and "call" not in frames
        assert len(frames) == 1 or function is of_the_user


def test_a_line_in_a_file_is_named_by_its_file():
    origin = errors.Origin(__file__, 3, "<module>")
    assert origin.cell is None and str(origin).startswith(f"{__file__}:3, in <module>")
