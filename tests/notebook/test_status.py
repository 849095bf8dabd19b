"""What the side panel is told of a kernel, and that both of its halves mean the same."""

import json
import re
from pathlib import Path

import pytest

import tfnb as tf
from tfnb.notebook.status import report

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
        told = report()
        assert repr(told) == str(told)  # so that an expression's answer is JSON
        found = json.loads(told)
        assert len(found["sessions"]) == before + 1
        assert 1 in [session["nodes"] for session in found["sessions"]]
    assert len(json.loads(report())["sessions"]) == before
    assert found["devices"] and found["fault"] == ""
    assert set(found) == fields("Report")
    assert all(set(device) == fields("Device") for device in found["devices"])
    assert all(set(session) == fields("OpenSession") for session in found["sessions"])


def test_without_a_device_the_reason_is_told(monkeypatch):
    monkeypatch.setenv("TFNB_DEVICES", "no such device")
    found = json.loads(report())
    assert found["devices"] == [] and found["fault"]
