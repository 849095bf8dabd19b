"""The view of a cluster in a real notebook: live while a cell runs, light and dark, by keys, a lost task, its picture."""

import re
import shutil

SETUP = """
import os, signal, time
import numpy as np
import tfnb as tf
from distributed import Client, LocalCluster
local = LocalCluster(n_workers=3, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0")
client = Client(local)
cluster = tf.train.DaskCluster(client, ps=1, worker=2)
with tf.device("/job:ps/task:0"):
    w = tf.Variable(np.ones([300, 100], np.float32), name="weights")
sums = []
for k in range(2):
    with tf.device(f"/job:worker/task:{k}"):
        sums.append(tf.reduce_sum(tf.matmul(tf.ones([64, 300]), w)))
sess = tf.Session(cluster.target)
sess.run(tf.global_variables_initializer())
sess.run(sums)  # which compiles
"""
LIVE = """
view = tf.show_cluster(cluster)
until = time.time() + 120
while time.time() < until and not os.path.exists("cluster-seen"):
    sess.run(sums)
"""
KILL = "os.kill(next(t['pid'] for t in view.refresh()['tasks'] if t['job'] == 'ps'), signal.SIGKILL)"
END = "sess.close(); cluster.close(); client.close(); local.close()"

# Whether the row of a task says more steps than that.
MORE_STEPS = """([task, steps]) => {
    const rows = [...document.querySelectorAll('.tfnb-cluster-page section:first-of-type tbody tr')];
    const row = rows.find(row => row.textContent.includes(task));
    return Number(row?.querySelectorAll('td')[3].textContent.replaceAll(',', '')) > steps;
}"""


def steps_of(page, task):
    """What the row of a task says under "steps"."""
    row = page.locator(".tfnb-cluster-page section:first-of-type tbody tr", has_text=task)
    return int(row.locator("td").nth(3).inner_text().replace(",", "") or -1)


def test_cluster(notebook):
    page = notebook.page
    notebook.lab.write("cluster.ipynb", [SETUP, LIVE])
    notebook.open("cluster.ipynb")
    notebook.command("notebook:run-all-cells")
    page.wait_for_selector(".tfnb-cluster-page tbody tr", timeout=120_000)
    page.wait_for_function("() => document.querySelector('.tfnb-cluster-page .matrix td')")
    first = steps_of(page, "worker 1")
    page.wait_for_function(MORE_STEPS, arg=["worker 1", max(first, 0)], timeout=30_000)
    assert page.locator(".jp-CodeCell .jp-InputPrompt", has_text="[*]").count() == 1, "it came when the cell was over"
    (notebook.lab.root / "cluster-seen").touch()  # which ends the cell
    notebook.wait_until_run()
    assert notebook.errors() == []
    summary = page.locator(".tfnb-cluster-page .summary")
    summary.get_by_text(re.compile(r"4 of 4 tasks alive.*1 variables of 117\.2 KiB")).wait_for(timeout=30_000)
    link = page.locator(".tfnb-cluster-page a", has_text="Dask's dashboard")
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/status", link.get_attribute("href"))
    # By keys: from task to task, and from pair to pair.
    rows = page.locator(".tfnb-cluster-page section:first-of-type tbody tr")
    rows.first.focus()
    page.keyboard.press("Enter")
    card = page.locator(".tfnb-cluster-page .card")
    assert "weights [300, 100]: 117.2 KiB" in card.inner_text()
    cells = page.locator(".jp-Cell").count()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("b")  # the notebook's shortcut for a new cell
    assert page.locator(".jp-Cell").count() == cells
    assert page.evaluate("document.activeElement.cells[0].textContent") == "worker 0"
    page.locator(".tfnb-cluster-page .matrix td").first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.ariaLabel").startswith("ps 0 to worker 0: ")
    card.get_by_text(re.compile(r"^weights.*: .* in [\d,]+ messages$")).wait_for()
    for theme in ("Light", "Dark"):
        notebook.theme(f"JupyterLab {theme}")
        page.locator(".tfnb-cluster-page").evaluate("e => e.scrollIntoView({block: 'start'})")
        notebook.wait_until_still(".tfnb-cluster-page .card")
        notebook.shot(f"cluster-{theme.lower()}")
    assert page.locator(".tfnb-cluster-picture").is_hidden()
    _lose_and_save(notebook)


def _lose_and_save(notebook):
    page = notebook.page
    for text, shown in ((KILL, "ps 0 is lost"), (END, "the cluster is closed")):
        page.evaluate(
            "code => window.jupyterapp.shell.currentWidget.sessionContext.session.kernel"
            ".requestExecute({code}).done.then(() => undefined)",
            text,
        )
        page.locator(".tfnb-cluster-page [role=status]", has_text=shown).wait_for(timeout=30_000)
        if shown == "ps 0 is lost":
            notebook.shot("cluster-lost-dark")
    notebook.save("cluster.ipynb")
    shutil.copy(notebook.lab.root / "cluster.ipynb", notebook.lab.root / "saved_cluster.ipynb")
    notebook.open("saved_cluster.ipynb")  # another file, so another kernel: the picture is left
    picture = notebook.show(".tfnb-cluster-picture")
    assert "worker 1" in picture.inner_text() and "per step, " in picture.inner_text()
    assert page.locator(".tfnb-cluster-page").count() == 0
    notebook.shot("cluster-saved")
