"""The five commonest mistakes as a notebook shows them: at most twelve lines each, with the user's cell and line."""

CELLS = [
    "import tfnb as tf\n\nx = tf.ones([3, 4])\ny = tf.ones([5, 4])\n\nz = tf.matmul(x, y)\n\nprint(z)",
    "n = tf.constant([1, 2, 3])\nx = tf.constant([1., 2., 3.])\n\ntotal = n * x\n\nprint(total)",
    "v = tf.Variable(3.0, name='v')\nsession = tf.Session()\n\nsession.run(v + 1)\n\nsession.close()",
    "images = tf.placeholder(tf.float32, [None, 2], name='images')\n\nsession.run(images * 2)\n\nprint(images)",
    "with tf.Graph().as_default():\n    other = tf.constant(1.0)\n\nsession.run(other)\n\nprint(other)",
]
LINES = ["cell [1], line 6", "cell [2], line 2", "cell [3], line 1", "cell [4], line 1", "cell [5], line 2"]


def test_common_mistakes_are_short_and_name_the_line(notebook):
    notebook.lab.write("mistakes.ipynb", CELLS, tags=["raises-exception"])  # else a run stops at the first one
    notebook.open("mistakes.ipynb")
    notebook.run_all()
    assert len(notebook.errors()) == len(CELLS), notebook.errors()
    outputs = [notebook.page.locator(".jp-CodeCell").nth(k).locator(".jp-OutputArea-output") for k in range(len(CELLS))]
    for theme in ("Light", "Dark"):
        notebook.theme(f"JupyterLab {theme}")
        for k, (shown, place) in enumerate(zip(outputs, LINES, strict=True), 1):
            shown.scroll_into_view_if_needed()
            text = shown.inner_text()
            assert place in text and "tfnb/" not in text
            assert len(text.strip().splitlines()) <= 12, text
            notebook.shot(f"mistake-{k}-{theme.lower()}")
