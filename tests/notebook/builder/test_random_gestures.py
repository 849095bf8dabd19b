"""Random gestures: undo gives the first bytes, redo the last, and the drawing is what Python builds from the source.

Each document gets 50 gestures. TFNB_GESTURES sets how many there are in all: 300 by default, 10,000 with `make gestures`,
and from 10,000 on, code and drawing are compared after each.
"""

from __future__ import annotations

import os
import random

import pytest
from builder_gestures import Editor

import tfnb as tf

GESTURES = int(os.environ.get("TFNB_GESTURES", "300"))
PER_DOCUMENT = 50
EVERY = 1 if GESTURES >= 10_000 else 5  # gestures after which code and drawing are compared
START = """import tfnb as tf

# the input
x = tf.placeholder(tf.float32, [None, 4])  # é is two bytes
ünï = tf.ones([4, 3]); w = tf.zeros([4, 3])
y = tf.matmul(x, w)
z = (y +
     1.0)
for k in range(2):
    z = z * 2.0
"""
CALLS = ["tf.nn.relu", "tf.matmul", "tf.add", "tf.concat", "tf.transpose", "tf.layers.dense", "tf.split", "tf.zeros"]
CALLS += ["tf.reduce_sum", "tf.reshape", "tf.cast", "tf.placeholder", "tf.train.AdamOptimizer", "tf.identity"]
TEXTS = ["2", "[2, 3]", "tf.float32", "tf.nn.relu", "'name'", "None", "-1", "(1, 2)", "x + 1.0", "", "1 +", "True"]


def random_edit(r, e):
    nodes = list(e.nodes)
    node, other = (r.choice(nodes), r.choice(nodes)) if nodes else ("", "")
    ports = [p["name"] for p in e.nodes[node]["inputs"]] if node else []
    parameters = [p["name"] for p in e.nodes[node]["parameters"]] if node else []
    port = r.choice([*ports, "", "nothing"])
    wire = {"node": other, "output": r.choice([0, 0, 0, 1])}
    some = r.sample(nodes, min(len(nodes), r.randint(1, 3)))
    place = [r.randint(0, 500), r.randint(0, 500)]
    fixes = [f["id"] for f in (e.nodes[node]["problem"] or {"fixes": []})["fixes"]] if node else []
    edits = [
        {"edit": "add", "call": r.choice(CALLS), "wires": [], "to": [], "position": place, "parameters": {}},
        {
            "edit": "add",
            "call": "tf.nn.relu",
            "wires": [("features", wire)],
            "to": [],
            "position": None,
            "parameters": {},
        },
        {"edit": "connect", "wire": wire, "node": node, "port": port},
        {"edit": "connect", "wire": wire, "node": node, "port": port},
        {"edit": "disconnect", "node": node, "port": port},
        {"edit": "set", "node": node, "name": r.choice([*parameters, *ports, "nothing"]), "text": r.choice(TEXTS)},
        {"edit": "rename", "node": node, "name": r.choice(["a", "b", "ñ", "x", "tf", "1", "h1", "h2"])},
        {"edit": "move", "positions": dict.fromkeys(some, place)},
        {"edit": "insert", "call": r.choice(CALLS), "node": node, "port": port, "position": None},
        {"edit": "replace", "node": node, "call": r.choice(CALLS)},
        {"edit": "fix", "node": node, "id": r.choice([*fixes, "none"])},
        {"edit": "group", "nodes": some, "name": ""},
        {"edit": "ungroup", "node": node},
        {"edit": "bypass", "nodes": some},
        {"edit": "duplicate", "nodes": some},
        {"edit": "paste", "text": "q = tf.ones([2])\nq2 = q + 1.0", "position": place},
        {"edit": "frame", "id": "", "title": "part", "colour": "#abc", "nodes": some},
        {"edit": "note", "id": r.choice(["", "note:1"]), "text": r.choice(["", "why"]), "before": r.choice(["", node])},
        {"edit": "minimize", "node": node, "optimizer": "tf.train.AdamOptimizer", "parameters": {}},
        {"edit": "device", "nodes": some, "device": r.choice(["", "/cpu:0", "bad"])},
        {"edit": "variant", "nodes": some},
        {"edit": "own", "node": node},
        {"edit": "pick", "operation": r.choice(["MatMul", "x", "add", "none"]), "output": 0},
        {"edit": "inside", "node": node, "edits": [{"edit": "rename", "node": other, "name": "inner"}]},
        {"edit": "route", "node": node, "port": port, "points": [place, place], "is_link": r.random() < 0.3},
    ]
    if len(nodes) > 25:
        return {"edit": "delete", "nodes": some, "heal": r.random() < 0.5}
    return r.choice([*edits, {"edit": "delete", "nodes": some[:1], "heal": r.random() < 0.5}])


def check_drawing(e):
    """The nodes are those that a new document draws, and built shapes are those that Python gives."""
    fresh = Editor(e.source, is_trusted=True)
    assert list(fresh.nodes) == list(e.nodes)
    for name, node in fresh.nodes.items():
        assert {k: v for k, v in node.items() if k != "operations"} == {
            k: v for k, v in e.nodes[name].items() if k != "operations"
        }
    if e.drawing["totals"]["problems"] or any(o.state not in ("built",) for o in fresh.document.built.outcomes):
        return
    with tf.Graph().as_default() as graph:
        exec(e.source, {"__name__": "test"})
    assert graph.as_graph_def() == e.document.built.graph.as_graph_def()


@pytest.mark.parametrize("seed", range(max(GESTURES // PER_DOCUMENT, 1)))
def test_undo_redo_and_the_drawing_after_random_gestures(seed):
    r = random.Random(seed)
    e = Editor(START, is_trusted=True)
    kept = [(e.source, dict(e.drawing["positions"]))]
    accepted = 0
    for k in range(PER_DOCUMENT):
        before = (e.source, dict(e.document.positions))
        drawing = e.attempt(*[random_edit(r, e) for _ in range(r.choice([1, 1, 1, 2]))])
        if drawing["is_refused"]:
            assert (e.source, e.document.positions) == before
        else:
            accepted += 1
            if (e.source, e.document.positions) != before:
                kept.append((e.source, dict(e.document.positions)))
        if k % EVERY == 0:
            check_drawing(e)
    assert accepted >= 5 and len(kept) >= 3
    last = (e.source, dict(e.document.positions))
    for source, positions in reversed(kept[:-1]):
        e.undo()
        assert e.source == source and {n: positions.get(n) for n in e.document.positions} == e.document.positions
    assert e.source.encode() == START.encode() and not e.drawing["can_undo"]
    while e.drawing["can_redo"]:
        e.redo()
    assert (e.source, e.document.positions) == last
    check_drawing(e)
