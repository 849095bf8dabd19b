"""The addresses of the server's part, asked of a real Jupyter server."""

import gzip
import json
import os
import re
import struct
import sys
import urllib.error
import urllib.request
from pathlib import Path

import numpy as np
import pytest
import servers
from servers import TOKEN

import tfnb as tf

ROOT = Path(__file__).resolve().parents[3]
HOSTILE = "<script>alert(1)</script>"
NAME = "document-of-the-tests"


class Server:
    """A running Jupyter server without a page."""

    def __init__(self, url, root):
        self.url, self.root = url, root

    def ask(self, path, request=None, token=TOKEN, method=None):
        """(status, headers, body)"""
        headers = {"Authorization": f"token {token}"} if token else {}
        body = None if request is None else json.dumps(request).encode()
        request = urllib.request.Request(f"{self.url}/tfnb/{path}", body, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, answer.headers, answer.read()
        except urllib.error.HTTPError as fault:
            with fault:
                return fault.code, fault.headers, fault.read()

    def exchange(self, kind, path, name=NAME, **request):
        status, _, body = self.ask("document", {"name": name, "kind": kind, "path": path, **request})
        assert status == 200, body
        return unpacked(body)

    def refused(self, kind, path, **request):
        """The status and the sentence."""
        status, _, body = self.ask("document", {"name": NAME, "kind": kind, "path": path, **request})
        return status, json.loads(body)["message"]


def unpacked(body):
    (length,) = struct.unpack_from("<I", body)
    head = json.loads(body[4 : 4 + length])
    arrays, at = [], 4 + length
    for size in head["sizes"]:
        arrays.append(body[at : at + size])
        at += -(-size // 8) * 8
    assert at == len(body)

    def whole(value):
        if isinstance(value, dict):
            return arrays[value["\0"]] if "\0" in value else {k: whole(v) for k, v in value.items()}
        return [whole(v) for v in value] if isinstance(value, list) else value

    return whole(head["value"])


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    root, config = tmp_path_factory.mktemp("root"), tmp_path_factory.mktemp("config")
    port = servers.free_port()
    places = {f"JUPYTER_{name}_DIR": str(config / name) for name in ("CONFIG", "DATA", "RUNTIME")}
    site = config / "DATA" / "tfnb" / "docs"
    (site / "how-to").mkdir(parents=True)
    (site / "index.html").write_text("<h1>the pages</h1>")
    (site / "how-to" / "train.html").write_text("<h1>a training</h1>")
    (site.parent / "secret.html").write_text("secret")
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    process = servers.start(
        [
            *(sys.executable, "-m", "jupyter_server", "--no-browser", "--allow-root"),
            *("--ip=127.0.0.1", f"--port={port}", "--ServerApp.port_retries=0"),
            *(f"--IdentityProvider.token={TOKEN}", f"--ServerApp.root_dir={root}"),
            "--ServerApp.jpserver_extensions={'tfnb.notebook.server': True}",
        ],
        config / "log",
        env={**os.environ, **places, "PYTHONPATH": path},
    )
    found = Server(f"http://127.0.0.1:{port}", root)
    try:
        servers.wait_for(f"{found.url}/{servers.STATUS}", process, config / "log")
        yield found
    finally:
        servers.end_group(process)


@pytest.fixture(scope="module")
def logs(server):
    with tf.summary.FileWriter(str(server.root / "logs" / "a")) as writer:
        for step in range(20):
            summary = tf.Summary()
            summary.value.add(tag="loss", simple_value=1 / (step + 1))
            summary.value.add(tag=HOSTILE, simple_value=step)
            writer.add_summary(summary, step)
    outside = server.root.parent / f"{server.root.name}-outside"
    with tf.summary.FileWriter(str(outside)) as writer:
        summary = tf.Summary()
        summary.value.add(tag="secret", simple_value=7)
        writer.add_summary(summary, 0)
    (file,) = outside.iterdir()
    (server.root / "logs" / "b").mkdir()
    (server.root / "logs" / "b" / file.name).symlink_to(file)
    return server.root / "logs"


def test_a_folder_of_runs(server, logs):
    first = server.exchange("events", "logs", first=True)
    catalogue = first["state"]["catalogue"]
    assert catalogue["tags"]["scalar"] == [HOSTILE, "loss"]
    assert "a" in catalogue["runs"] and first["again"] >= 1 and not first["renewed"]
    assert first["state"]["templates"]["charts"]
    wanted = {"kind": "scalar", "tags": ["loss"], "runs": [0]}
    (content,) = server.exchange("events", "logs", state={"wanted": wanted})["state"]["changes"]
    (curve,) = content["curves"]
    assert np.frombuffer(curve["value"]) == pytest.approx(1 / np.arange(1, 21))
    assert "changes" not in server.exchange("events", "logs")["state"]


def test_a_file_that_grows(server, logs):
    with tf.summary.FileWriter(str(server.root / "grows")) as writer:
        summary = tf.Summary()
        summary.value.add(tag="x", simple_value=1)
        writer.add_summary(summary, 0)
        writer.flush()
        (file,) = os.listdir(server.root / "grows")
        first = server.exchange("events", f"grows/{file}", first=True)["state"]
        assert first["catalogue"]["runs"] == ["grows"]
        writer.add_summary(summary, 1)
        writer.flush()
        (content,) = server.exchange("events", f"grows/{file}")["state"]["changes"]
        assert np.frombuffer(content["curves"][0]["step"]).tolist() == [0, 1]


def test_export_and_what_needs_a_kernel(server, logs):
    messages = [{"op": "csv", "tag": "loss"}, {"op": "frame", "tag": "loss"}, {"op": "hello"}, 7]
    csv, frame = server.exchange("events", "logs", first=True, messages=messages)["messages"]
    lines = csv["buffers"][0].decode().splitlines()
    assert lines[0] == "run,tag,step,wall_time,value" and len(lines) == 21
    assert lines[2].startswith("a,loss,1,") and lines[2].endswith(",0.5")
    assert "no kernel" in frame["content"]["text"]


def test_a_document_that_was_dropped_starts_anew(server, logs):
    server.exchange("events", "logs", first=True)
    for k in range(8):
        server.exchange("events", "logs", name=f"another-document-{k}", first=True)
    again = server.exchange("events", "logs")
    assert again["renewed"] and "catalogue" in again["state"]
    status, _, _ = server.ask(f"document?name={NAME}", method="DELETE")
    assert status == 204
    assert server.exchange("events", "logs")["renewed"]


@pytest.mark.opencl
def test_a_trace(server):
    graph = tf.Graph()
    with graph.as_default():
        y = tf.matmul(tf.ones([2, 3]), tf.Variable(tf.ones([3, 4])))
        init = tf.global_variables_initializer()
    with tf.Session(graph=graph) as sess, tf.profile() as recording:
        sess.run(init)
        sess.run(y)
    tf.timeline(recording).save(server.root / "a.trace.json")
    request = {"state": {"key": "k"}, "messages": [{"type": "ready"}, {"type": "card", "event": 0}]}
    reply = server.exchange("trace", "a.trace.json", first=True, **request)
    data, card = reply["messages"]
    assert len(data["buffers"]) == 8 and data["content"]["trace"]["steps"]
    assert card["content"]["card"]["device"] and reply["again"] == 0


def test_a_graph(server):
    graph = tf.Graph()
    with graph.as_default():
        tf.matmul(tf.placeholder(tf.float32, [2, 3]), tf.Variable(tf.ones([3, 4])), name="y")
    tf.train.write_graph(graph, str(server.root), "a.pb", as_text=False)
    messages = [{"type": "graph"}, {"type": "card", "stage": 0, "box": 1}, {"type": "card", "box": -1}]
    drawing, card = server.exchange("graph", "a.pb", first=True, messages=messages)["messages"]
    assert drawing["content"]["type"] == "graph" and len(drawing["buffers"]) == 1
    assert card["content"]["card"]["box"] == 1


@pytest.mark.parametrize(
    ("kind", "path", "status", "words"),
    [
        ("events", "../elsewhere", 404, "served folder"),
        ("events", "/etc/passwd", 404, "served folder"),
        ("graph", "logs/.hidden", 404, "served folder"),
        ("graph", "none.pb", 404, "served folder"),
        ("graph", "logs", 400, "folder"),
        ("strange", "logs", 400, "needed one of"),
    ],
)
def test_refused(server, logs, kind, path, status, words):
    found = server.refused(kind, path, first=True)
    assert found[0] == status and words in found[1]


def test_files_that_cannot_be_read_are_told_in_the_answer(server):
    (server.root / "bad.json").write_text("{ nothing")
    assert "no JSON" in server.exchange("trace", "bad.json", first=True)["fault"]
    assert "no GraphDef" in server.exchange("graph", "bad.json", first=True)["fault"]


def test_malformed_requests(server, logs):
    for request in ([], {}, {"name": NAME}, {"name": "a", "path": "logs"}, {"name": NAME, "path": 7}):
        assert server.ask("document", request)[0] == 400
    reply = server.exchange("events", "logs", first=True, state=7, messages={"a": 1})
    assert reply["messages"] == []
    for body in (b"\xff\xfe", b"{", b"[" * 100_000, b'{"name": "document-of-the-tests", "path": "\xff"}'):
        request = urllib.request.Request(f"{server.url}/tfnb/document", body, {"Authorization": f"token {TOKEN}"})
        with pytest.raises(urllib.error.HTTPError) as fault:
            urllib.request.urlopen(request, timeout=60)
        with fault.value as answer:
            assert answer.code == 400 and "Traceback" not in answer.read().decode()


@pytest.mark.parametrize("run", [99999, -1])
def test_runs_that_are_not_there(server, logs, run):
    asked = {"state": {"wanted": {"runs": [run]}}, "messages": [{"op": "csv", "tag": "loss"}]}
    status, sentence = server.refused("events", "logs", first=True, **asked)
    assert status == 400 and f"no run of the number {run}" in sentence


def test_a_key_that_is_no_text_is_not_sent_back(server):
    (server.root / "one.json").write_text('[{"ph": "X", "ts": 1, "dur": 1, "name": "a"}]')
    deep = json.loads("[" * 400 + "]" * 400)
    assert server.exchange("trace", "one.json", first=True, state={"key": deep})["state"] == {}


def test_links_that_lead_out_are_not_read(server, logs):
    state = server.exchange("events", "logs", first=True)["state"]
    assert "secret" not in state["catalogue"]["tags"]["scalar"]


def test_only_with_the_token(server, logs):
    for path, request in (
        ("document", {"name": NAME, "kind": "events", "path": "logs"}),
        ("bokeh", None),
        ("module/events", None),
    ):
        for token in ("", "wrong"):
            status, _, body = server.ask(path, request, token=token)
            assert status in (401, 403), path
            assert b"loss" not in body


def test_modules_and_bokeh(server):
    for kind in ("events", "trace"):
        status, headers, body = server.ask(f"module/{kind}")
        assert status == 200 and re.search(r"export ?(default|\{)", json.loads(body)["module"])
        assert headers["Content-Type"].startswith("application/json")
        assert headers["X-Content-Type-Options"] == "nosniff"
    assert server.ask("module/strange")[0] == 400
    assert server.ask("module/../../secret")[0] == 404
    assert b"Bokeh" in gzip.decompress(server.ask("bokeh")[2])


def test_the_help_is_served_to_those_who_are_logged_in(server):
    status, headers, body = server.ask("docs/")
    assert (status, body) == (200, b"<h1>the pages</h1>")
    assert "frame-ancestors 'self'" in headers["Content-Security-Policy"] and headers["Cache-Control"] == "no-cache"
    assert server.ask("docs/how-to/train.html")[2] == b"<h1>a training</h1>"
    status, headers, body = server.ask("docs/how-to/train.html", method="HEAD")
    assert (status, headers["Content-Length"], body) == (200, "19", b"")
    assert b"the pages" not in server.ask("docs/", token=None)[2]  # the page that asks for the token
    for path in ("docs/none.html", "docs/../secret.html", "docs/%2e%2e/secret.html", "docs//etc/hostname"):
        status, _, body = server.ask(path)
        assert status in (403, 404) and b"secret" != body, path
    assert server.ask("docs/", {"a": 1})[0] in (403, 405)
