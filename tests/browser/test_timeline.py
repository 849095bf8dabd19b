"""The timeline in a real notebook: it finds the most expensive operation, zooms, and stays as a picture."""

import shutil

import pytest

PROGRAM = """
import threading, time
import numpy as np
import tfnb as tf
x = tf.placeholder(tf.float32, [None, 256], name="x")
w = tf.Variable(tf.ones([256, 256]) / 256, name="weights")
h = x
for k in range(6):
    h = tf.nn.relu(tf.matmul(h, w), name=f"layer{k}")
slow = tf.matmul(tf.tile(h, [4, 16]), tf.ones([4096, 1500]), name="slow_product")
hostile = tf.reduce_sum(slow) + tf.py_func(lambda v: v, [tf.reduce_sum(h)], tf.float32, name="python")
queue = tf.FIFOQueue(1, [tf.float32], [[]], name="q")
put, taken = queue.enqueue(1.0), queue.dequeue()
sess = tf.Session()
sess.run(tf.global_variables_initializer())
feed = {x: np.ones((128, 256), np.float32)}
sess.run(hostile, feed), sess.run(put), sess.run(taken)
with tf.profile(sess) as recording:
    for step in range(3):
        sess.run(hostile, feed)
    late = threading.Thread(target=lambda: (time.sleep(0.03), sess.run(put)), name="feeder <b>")
    late.start()
    sess.run(taken)
    late.join()
"""
# Pixels of the canvas in the colour of kernels.
BLUE = """() => {
    const canvas = document.querySelector('.tfnb-tl canvas');
    const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
    let n = 0;
    for (let i = 0; i < data.length; i += 4) n += data[i] === 0x00 && data[i + 1] === 0x72 && data[i + 2] === 0xb2;
    return n;
}"""

# The page is busy for three seconds when it loads a widget's module: longer than anywidget waits.
BUSY = """
const real = URL.createObjectURL;
URL.createObjectURL = blob => {
    const url = real.call(URL, blob);
    if (blob.type === 'text/javascript' && sessionStorage.busy) {
        delete sessionStorage.busy;
        const until = performance.now() + 3000;
        while (performance.now() < until);
    }
    return url;
};
"""


@pytest.mark.own_page("the page is loaded again")
def test_a_live_timeline_comes_again_when_a_busy_page_is_reloaded(notebook):
    page = notebook.page
    page.add_init_script(BUSY)
    notebook.lab.write("reload.ipynb", [PROGRAM, "tf.timeline(recording)"])
    notebook.open("reload.ipynb")
    notebook.run_all()
    notebook.show(".tfnb-tl canvas")
    notebook.save("reload.ipynb")
    page.evaluate("sessionStorage.busy = 1")
    page.reload()
    notebook.show(".tfnb-tl canvas")
    assert page.evaluate("sessionStorage.busy") is None
    page.locator(".tfnb-tl button.slowest").click()
    page.locator(".tfnb-tl .card").get_by_text("slow = tf.matmul").wait_for()
    # What anywidget says of a model that took over two seconds, and after which it hears nothing by itself.
    late = "[anywidget] Failed to initialize model."
    notebook.complaints[:] = [c for c in notebook.complaints if c != late]


def test_timeline(notebook):
    page = notebook.page
    notebook.lab.write("timeline.ipynb", [PROGRAM, "view = tf.timeline(recording)\nview"])
    notebook.open("timeline.ipynb")
    notebook.run_all()
    assert notebook.errors() == []
    notebook.show(".tfnb-tl canvas")
    page.wait_for_function(f"() => ({BLUE})() > 50")
    first = page.locator(".tfnb-tl tbody tr").first
    assert "slow_product" in first.text_content() and "MatMul" in first.text_content()
    first.click()
    card = page.locator(".tfnb-tl .card")
    card.get_by_text("slow = tf.matmul").wait_for()
    assert "duration:" in card.text_content() and "size:" in card.text_content()
    before = page.evaluate(BLUE)
    canvas = page.locator(".tfnb-tl canvas")
    for theme in ("Light", "Dark"):
        notebook.theme(f"JupyterLab {theme}")
        card.scroll_into_view_if_needed()
        notebook.wait_until_still(".tfnb-tl")
        notebook.shot(f"timeline-event-{theme.lower()}")
    canvas.focus()
    for _ in range(4):
        page.keyboard.press("+")
    page.wait_for_function(f"n => ({BLUE})() !== n", arg=before)
    cells = page.locator(".jp-Cell").count()
    page.keyboard.press("a")  # the notebook's shortcut for a new cell
    page.keyboard.press("n")
    page.locator(".tfnb-tl [role=status]").filter(has_text=":").wait_for()
    assert page.locator(".jp-Cell").count() == cells
    page.locator(".tfnb-tl th button", has_text="count").click()
    assert page.locator(".tfnb-tl th[aria-sort=descending]").text_content() == "count"
    page.locator(".tfnb-tl button", has_text="Fit").click()
    notebook.wait_until_still(".tfnb-tl")
    notebook.shot("timeline-dark")
    notebook.theme("JupyterLab Light")
    notebook.wait_until_still(".tfnb-tl")
    notebook.shot("timeline-light")
    with page.expect_download() as saved:
        page.locator(".tfnb-tl button", has_text="Save Chrome trace").click()
    assert '"traceEvents"' in saved.value.path().read_text()

    notebook.save("timeline.ipynb")
    shutil.copy(notebook.lab.root / "timeline.ipynb", notebook.lab.root / "saved.ipynb")
    notebook.open("saved.ipynb", load=True)  # another file, so another kernel: the picture is left
    picture = notebook.show(".tfnb-timeline svg:has(text)")  # below the bar of kernels and gaps
    assert "slow_product" in picture.text_content()
    assert page.locator(".tfnb-tl").count() == 0
    notebook.shot("timeline-reopened")
