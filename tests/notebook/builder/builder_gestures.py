"""Gestures for the tests of the builder's document."""

from __future__ import annotations

from tfnb.notebook.builder import Document


def wire(node, output=0):
    return {"node": node, "output": output}


def add(call, wires=(), to=(), position=None, **parameters):
    return {
        "edit": "add",
        "call": call,
        "wires": [(p, wire(w) if isinstance(w, str) else w) for p, w in wires],
        "to": list(to),
        "position": position,
        "parameters": parameters,
    }


def connect(source, node, port="", output=0):
    return {"edit": "connect", "wire": wire(source, output), "node": node, "port": port}


def disconnect(node, port):
    return {"edit": "disconnect", "node": node, "port": port}


def setting(node, name, text):
    return {"edit": "set", "node": node, "name": name, "text": text}


def delete(*nodes, heal=False):
    return {"edit": "delete", "nodes": list(nodes), "heal": heal}


def renamed(node, name):
    return {"edit": "rename", "node": node, "name": name}


def moved(**positions):
    return {"edit": "move", "positions": positions}


class Editor:
    """A document, and the nodes that a browser would have after the messages so far."""

    def __init__(self, source="", **options):
        self.document = Document(source, **options)
        self.nodes = {}
        self.drawing = None
        self.take(self.document.apply({"type": "open"}))

    @property
    def source(self):
        return self.document.source

    def take(self, messages):
        for m in messages:
            if m["type"] == "drawing":
                self.drawing = m
                self.nodes.update({n["id"]: n for n in m["changed"]})
                self.nodes = {k: {**self.nodes[k], "line": n} for k, n in zip(m["order"], m["lines"], strict=True)}
        return messages

    def do(self, *edits):
        """One gesture, which must not be refused. Returns the drawing."""
        drawing = self.attempt(*edits)
        assert not drawing["is_refused"], drawing["message"]
        return drawing

    def attempt(self, *edits):
        self.take(self.document.apply({"type": "gesture", "gesture": 1, "edits": list(edits)}))
        return self.drawing

    def undo(self):
        self.take(self.document.apply({"type": "undo", "gesture": 1}))

    def redo(self):
        self.take(self.document.apply({"type": "redo", "gesture": 1}))

    def shape(self, node, output=0):
        return self.nodes[node]["outputs"][output]["shape"]

    def problem(self, node):
        problem = self.nodes[node]["problem"]
        return problem and problem["text"]

    def port(self, node, name):
        return next(p for p in self.nodes[node]["inputs"] if p["name"] == name)


def palette(editor, query="", wire=None, port=None, count=20):
    """The entries that the document offers."""
    request = {"type": "palette", "request": 1, "query": query, "wire": wire, "port": port, "count": count}
    (message,) = editor.document.apply(request)
    return message["entries"]
