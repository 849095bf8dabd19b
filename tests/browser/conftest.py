"""A real JupyterLab in a real browser, for tests that run notebooks as their readers do.

The server has its own empty configuration and a copy of `examples/` as its root; the browser may
reach nothing but it. Every process ends with the tests.
"""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass, field
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import Page, sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))  # for benchmarks, which start the same Lab

import servers
from servers import TOKEN

ROOT = Path(__file__).resolve().parents[2]
SHOTS = Path(__file__).parent / "shots"
# The first draws no window of its own, and so loads a page in two thirds of the time.
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
VIEWPORT = {"width": 1280, "height": 900}
FAILED = pytest.StashKey[bool]()
# The notebook's own session, not the status bar, tells when cells can be run.
SESSION_READY = """() => {
    const widget = window.jupyterapp?.shell.currentWidget;
    const kernel = widget?.sessionContext?.session?.kernel;
    return kernel && widget.sessionContext.isReady && kernel.status === 'idle';
}"""
# How many charts BokehJS has drawn something in, on canvases inside open shadow roots.
CHARTS = """within => {
    const canvases = [];
    const walk = node => {
        if (node.shadowRoot) walk(node.shadowRoot);
        for (const child of node.children ?? []) {
            if (child.tagName === 'CANVAS') canvases.push(child);
            walk(child);
        }
    };
    walk(document.querySelector(within));
    return canvases.filter(c => c.width > 100 && c.getContext('2d').getImageData(
        0, 0, c.width, c.height).data.some(v => v)).length;
}"""
# Whether the texts and the pixels of all canvases in the first visible match were the same in the last three calls.
STILL = """within => {
    const places = [...document.querySelectorAll(within)];
    const root = places.find(place => place.checkVisibility()) ?? places[0];
    if (!root) return false;
    let sum = 0;
    const add = number => { sum = (Math.imul(sum, 31) + number) | 0; };
    const walk = node => {
        if (node.shadowRoot) walk(node.shadowRoot);
        for (const child of node.children ?? []) {
            if (child.tagName === 'CANVAS' && child.width && child.height) {
                // A copy, since the context of another thread's canvas cannot be had.
                const { width, height } = child;
                const copy = new OffscreenCanvas(width, height).getContext('2d');
                copy.drawImage(child, 0, 0);
                const { data } = copy.getImageData(0, 0, width, height);
                for (const four of new Int32Array(data.buffer)) add(four);
            }
            walk(child);
        }
    };
    walk(root);
    for (const letter of root.innerText) add(letter.codePointAt(0));
    const style = getComputedStyle(root);
    for (const letter of style.color + style.backgroundColor) add(letter.codePointAt(0));
    const last = window.tfnbLastPicture;
    const times = last?.within === within && last.sum === sum ? last.times + 1 : 1;
    window.tfnbLastPicture = {within, sum, times};
    return times >= 3;
}"""
# Ends the kernels of all that is open, and closes it without a question.
CLOSE_ALL = """async () => {
    for (const widget of [...window.jupyterapp.shell.widgets('main')]) {
        await widget.context?.sessionContext.shutdown().catch(() => {});
        widget.dispose();
    }
}"""
OPEN = "async path => { await window.jupyterapp.commands.execute('docmanager:open', {path}); }"
ALL_RUN = """() => {
    const prompts = [...document.querySelectorAll('.jp-CodeCell .jp-InputPrompt')];
    return prompts.length && prompts.every(p => /\\[\\d+\\]/.test(p.textContent));
}"""


def pytest_collection_modifyitems(items):
    for item in items:
        if Path(item.path).is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.browser)
            if item.get_closest_marker("film") and not os.environ.get("TFNB_FILMS"):
                item.add_marker(pytest.mark.skip(reason="a film takes a minute: make films"))


@pytest.fixture(scope="session")
def chromium():
    """The path of a chromium, or a skip (a failure where TFNB_REQUIRE_BROWSER is set)."""
    found = os.environ.get("TFNB_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if not found:
        message = f"none of {', '.join(NAMES)} is installed, and TFNB_CHROMIUM names none"
        if os.environ.get("TFNB_REQUIRE_BROWSER"):
            pytest.fail(message)
        pytest.skip(message)
    return found


@dataclass
class Lab:
    """A running server: its address and the folder it serves."""

    url: str
    root: Path

    def write(self, name, cells, tags=()):
        """Puts a notebook of code cells, each with these tags, into the folder."""
        notebook = nbformat.v4.new_notebook(
            cells=[nbformat.v4.new_code_cell(cell, metadata={"tags": list(tags)}) for cell in cells],
            metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}},
        )
        nbformat.write(notebook, self.root / name)


def start_server(root, config, port, *more, site=None):
    """Starts JupyterLab with what `make docs` has built as its help, or with a page that stands for it."""
    settings = config / "settings" / "@jupyterlab" / "apputils-extension"
    settings.mkdir(parents=True)
    (settings / "notification.jupyterlab-settings").write_text('{"fetchNews": "false", "checkForUpdates": false}')
    # The extension as this checkout has built it, wherever Jupyter's own folders are.
    (config / "jupyter" / "labextensions").mkdir(parents=True)
    (config / "jupyter" / "labextensions" / "tfnb").symlink_to(ROOT / "tfnb" / "labextension")
    (config / "jupyter" / "tfnb").mkdir()
    if site is None:
        site = config / "site"
        (site / "docs").mkdir(parents=True)
        (site / "index.html").write_text("<h1>The pages</h1><a href='docs/graph.html'>graphs</a>")
        (site / "docs" / "graph.html").write_text("<h1>The page on graphs</h1>")
    (config / "jupyter" / "tfnb" / "docs").symlink_to(site)
    places = {
        "JUPYTER_PATH": config / "jupyter",
        "JUPYTER_CONFIG_DIR": config,
        "JUPYTER_DATA_DIR": config / "data",
        "JUPYTER_RUNTIME_DIR": config / "runtime",
        "JUPYTERLAB_SETTINGS_DIR": config / "settings",
        "JUPYTERLAB_WORKSPACES_DIR": config / "workspaces",
        "IPYTHONDIR": config / "ipython",
    }
    # The kernels find the package also where it is not installed.
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    return servers.start(
        [
            *(sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"),
            *("--ip=127.0.0.1", f"--port={port}", "--ServerApp.port_retries=0"),
            *(f"--IdentityProvider.token={TOKEN}", f"--ServerApp.root_dir={root}"),
            *("--LabApp.expose_app_in_browser=True", "--LabApp.news_url=None"),
            "--LabApp.extension_manager=readonly",
            "--ServerApp.jpserver_extensions={'tfnb.notebook.server': True}",
            "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
            *more,
        ],
        config / "lab.log",
        env={**os.environ, **{k: str(v) for k, v in places.items()}, "PYTHONPATH": path},
        cwd=root,
    )


@pytest.fixture(scope="session")
def lab(tmp_path_factory, chromium):
    """A JupyterLab that serves a copy of the examples."""
    root = tmp_path_factory.mktemp("lab") / "examples"
    shutil.copytree(ROOT / "examples", root, ignore=shutil.ignore_patterns(".ipynb_checkpoints"))
    config = tmp_path_factory.mktemp("config")
    port = servers.free_port()
    url = f"http://127.0.0.1:{port}"
    process = start_server(root, config, port)
    try:
        servers.wait_for(f"{url}/{servers.STATUS}", process, config / "lab.log")
        yield Lab(url, root)
    finally:
        servers.end_group(process)


@pytest.fixture
def hub(tmp_path, chromium):
    """The address of a JupyterLab under the base URL that a hub gives, with the site that `make docs` has built."""
    port, root, config = servers.free_port(), tmp_path / "root", tmp_path / "config"
    root.mkdir()
    site = ROOT / os.environ["TFNB_SITE"]
    process = start_server(root, config, port, "--ServerApp.base_url=/user/x/", site=site)
    try:
        url = f"http://127.0.0.1:{port}/user/x"
        servers.wait_for(f"{url}/{servers.STATUS}", process, config / "lab.log")
        yield url
    finally:
        servers.end_group(process)


@pytest.fixture(scope="session")
def browser(chromium):
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium, args=list(FLAGS))
        yield launched
        launched.close()


def wait_until_still(page, within):
    """Waits until what the first visible match shows, drawings included, no longer changes."""
    page.evaluate("() => { delete window.tfnbLastPicture; }")
    page.wait_for_function(STILL, arg=within, polling=100, timeout=30_000)


@dataclass
class Notebook:
    """A notebook open in the browser, with what its page complained of and asked for."""

    page: Page
    lab: Lab
    complaints: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)

    def watch(self):
        for event, handler in self._handlers().items():
            self.page.on(event, handler)

    def stop_watching(self):
        for event, handler in self._handlers().items():
            self.page.remove_listener(event, handler)

    def _handlers(self):
        return {"console": self._console, "pageerror": self._error, "request": self._request}

    def _error(self, error):
        self.complaints.append(str(error))

    def _console(self, message):
        if message.type == "error":
            self.complaints.append(f"{message.text} ({message.location.get('url', '')})")

    def _request(self, request):
        own = (self.lab.url, self.lab.url.replace("http", "ws"), "data:", "blob:")
        if not request.url.startswith(own):
            self.foreign.append(request.url)

    def open(self, name, load=False):
        """Opens a notebook; JupyterLab is not loaded again where the page has it, unless `load` says so."""
        if self.has_lab() and not load:
            self.page.evaluate(CLOSE_ALL)
            self.page.evaluate(OPEN, name)
        else:
            self.page.goto(f"{self.lab.url}/doc/tree/{name}?token={TOKEN}&reset")
        self.page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=60_000)
        self.wait_for_session()

    def has_lab(self):
        """Whether the page shows JupyterLab with one document, and nothing that waits for an answer."""
        return self.page.url.startswith(f"{self.lab.url}/doc/") and not self.page.locator(".jp-Dialog").count()

    def wait_for_session(self):
        self.page.wait_for_function(SESSION_READY, timeout=60_000)

    def theme(self, name):
        """Changes JupyterLab's theme, "JupyterLab Light" or "JupyterLab Dark"."""
        self.page.evaluate(
            "name => void window.jupyterapp.commands.execute('apputils:change-theme', {theme: name})",
            name,
        )
        light = str("Light" in name).lower()
        body = f"body[data-jp-theme-light={light}]"
        self.page.wait_for_selector(body, state="attached")

    def command(self, name):
        # Not awaited inside the page: a long run would outlast the call.
        self.page.evaluate(f"void window.jupyterapp.commands.execute('{name}')")

    def run_all(self, seconds=120):
        self.command("notebook:run-all-cells")
        self.page.wait_for_function(ALL_RUN, timeout=seconds * 1000)

    def run_all_but_the_last(self, seconds=120):
        content = "window.jupyterapp.shell.currentWidget.content"
        self.page.evaluate(f"() => {{ {content}.activeCellIndex = {content}.widgets.length - 1; }}")
        self.command("notebook:run-all-above")
        run = f"{content}.model.toJSON().cells.filter(c => c.cell_type === 'code').slice(0, -1).every(c => c.execution_count)"
        self.page.wait_for_function(f"() => {run}", timeout=seconds * 1000)

    def wait_until_run(self, seconds=120):
        self.page.wait_for_function(ALL_RUN, timeout=seconds * 1000)

    def show(self, selector):
        """Scrolls to the first match and waits until it is visible."""
        place = self.page.locator(selector).first
        place.wait_for(timeout=20_000)
        place.scroll_into_view_if_needed()
        return place

    def wait_for_charts(self, many=1, within=".jp-Notebook"):
        """Waits until so many charts in the first match are drawn."""
        drawn = f"([within, many]) => ({CHARTS})(within) >= many"
        self.page.wait_for_function(drawn, arg=[within, many], timeout=30_000)

    def wait_until_still(self, within):
        """Waits until what the first visible match shows, drawings included, no longer changes."""
        wait_until_still(self.page, within)

    def shot(self, name):
        SHOTS.mkdir(exist_ok=True)
        self.page.screenshot(path=SHOTS / f"{name}.png")

    def outputs(self):
        """What cells have shown, in the notebook's format."""
        return self.page.evaluate(
            "() => window.jupyterapp.shell.currentWidget.content.model.toJSON()"
            ".cells.flatMap(cell => cell.outputs ?? [])"
        )

    def text(self):
        """What cells have printed, as one text."""
        texts = (o.get("text") or o.get("data", {}).get("text/plain", "") for o in self.outputs())
        return "".join("".join(text) for text in texts)

    def errors(self):
        """The errors that cells raised."""
        return [f"{o['ename']}: {o['evalue']}" for o in self.outputs() if o["output_type"] == "error"]

    def save(self, name):
        """Saves the notebook and reads the file."""
        self.command("docmanager:save")
        self.page.wait_for_function("() => window.jupyterapp.shell.currentWidget.context.model.dirty === false")
        return nbformat.read(self.lab.root / name, as_version=4)


@pytest.fixture(scope="session")
def pages(browser):
    """The page that the next test goes on with, if the one before has left it in order."""
    kept = []
    yield kept
    for page in kept:
        page.context.close()


def pytest_runtest_makereport(item, call):
    if call.excinfo is not None:
        item.stash[FAILED] = True


@pytest.fixture
def notebook(browser, lab, pages, request):
    """A page that must have been quiet and have stayed at home at the end.

    Most tests share one page, since loading JupyterLab takes longer than most of what they do; those with the mark
    `own_page`, or with a parameter, which gives the options of the page's context, have their own.
    """
    mark = request.node.get_closest_marker("own_page")
    options = getattr(request, "param", {})
    shares = mark is None and not options
    page = pages.pop() if shares and pages else browser.new_context(viewport=VIEWPORT, **options).new_page()
    opened = Notebook(page, lab)
    opened.watch()
    yield opened
    is_in_order = not opened.page.is_closed() and opened.page.url.startswith(lab.url)
    if is_in_order:
        opened.theme("JupyterLab Light")  # the server remembers it
        opened.stop_watching()  # what is said of an end that we make is no complaint
        opened.page.evaluate(CLOSE_ALL)
    if shares and is_in_order and FAILED not in request.node.stash and opened.has_lab():
        opened.page.set_viewport_size(VIEWPORT)
        opened.page.mouse.move(0, 0)
        pages.append(opened.page)
    else:
        page.context.close()
    assert opened.complaints == []
    assert opened.foreign == []
