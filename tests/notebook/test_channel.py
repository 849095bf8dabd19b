"""A closed view leaves no widget in its kernel: a real one, since widgets without a kernel are not counted."""

from jupyter_client.manager import start_new_kernel

CODE = """
import gc, tempfile
import tfnb as tf
from ipywidgets.widgets import widget

folder, graph = tempfile.mkdtemp(), tf.Graph()
writer = tf.summary.FileWriter(folder, graph)
writer.flush()

def view():
    tf.view(folder).close()

def loss_plot():
    with tf.notebook.LossPlot() as plot:
        plot.add(0, loss=1.0)

def builder():
    tf.builder("import tfnb as tf").close()

def again():
    plot = tf.notebook.LossPlot()
    plot.add(0, loss=1.0)
    plot.close()
    plot.add(1, loss=2.0)  # starts it again
    plot.close()

for act in (view, loss_plot, builder, again):
    act()
    gc.collect()
    before = set(widget._instances)
    for _ in range(3):
        act()
    gc.collect()
    left = [type(widget._instances[k]).__name__ for k in set(widget._instances) - before]
    print(act.__name__, left)
"""


def test_a_closed_view_leaves_no_widget(tmp_path):
    manager, client = start_new_kernel(cwd=str(tmp_path))
    said = []

    def hook(message):
        if message["msg_type"] == "stream":
            said.append(message["content"]["text"])

    try:
        reply = client.execute_interactive(CODE, output_hook=hook, timeout=120)
        assert reply["content"]["status"] == "ok", reply["content"]
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    lines = "".join(said).split("\n")
    assert [line for line in lines if line] == ["view []", "loss_plot []", "builder []", "again []"]
