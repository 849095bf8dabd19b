"""The report that the side panel shows of a kernel, and that Python and TypeScript declare it alike."""

import json
import re
from pathlib import Path

import pytest

import tfnb as tf
from tfnb.caches import Cache
from tfnb.notebook.status import clear, report

PROTOCOL = Path(__file__).resolve().parents[2] / "labextension" / "src" / "protocol" / "status.ts"


def fields(name):
    """The fields of an interface in the TypeScript."""
    text = PROTOCOL.read_text("utf-8")
    body = re.search(rf"export interface {name} \{{(.*?)\n\}}", text, re.S)[1]
    return set(re.findall(r"readonly (\w+):", body))


@pytest.mark.opencl
def test_devices_and_sessions():
    graph = tf.Graph()
    with graph.as_default():
        tf.constant(1.0)
    before = len(json.loads(report())["sessions"])
    with tf.Session(graph=graph):
        text = report()
        assert repr(text) == str(text)  # so that an expression's answer is JSON
        found = json.loads(text)
        assert len(found["sessions"]) == before + 1
        assert 1 in [session["nodes"] for session in found["sessions"]]
    assert len(json.loads(report())["sessions"]) == before
    assert found["devices"] and found["fault"] == ""
    assert set(found) == fields("Report")
    assert all(set(device) == fields("Device") for device in found["devices"])
    assert all(set(session) == fields("OpenSession") for session in found["sessions"])


def test_caches_are_reported_and_cleared_by_name():
    def caches(text):
        return {cache.pop("name"): cache for cache in json.loads(text)["caches"]}

    a, b = Cache("first of a test", 4), Cache("second of a test", 4)
    a.put("x", 1)
    b.put("y", 2)
    shown = caches(report())
    assert all({"name", *cache} == fields("CacheUse") for cache in shown.values())
    assert shown["first of a test"] == {"caches": 1, "entries": 1, "limit": 4, "hits": 0, "misses": 1, "seconds": 0.0}
    assert shown["default attributes"]["seconds"] is None
    shown = caches(clear("first of a test"))
    assert (shown["first of a test"]["entries"], shown["second of a test"]["entries"]) == (0, 1)
    assert caches(clear())["second of a test"]["entries"] == 0
    assert not a and not b


def test_without_a_device_the_report_says_why(monkeypatch):
    monkeypatch.setenv("TFNB_DEVICES", "no such device")
    found = json.loads(report())
    assert found["devices"] == [] and found["fault"]
