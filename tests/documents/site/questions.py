"""Forty questions of somebody who is new, what he may type into the search for each, and the page that answers it."""

from __future__ import annotations

__all__ = ["QUESTIONS"]

_HOW = "docs/how-to/"
_WHY = "docs/explanation/graphs-and-sessions"
# (the whole question, some words of it, the page)
QUESTIONS = (
    ("How do I install it?", "install", _HOW + "install"),
    ("Do I need a GPU?", "need gpu", _HOW + "install"),
    ("Why is no OpenCL device found?", "no OpenCL device", _HOW + "install"),
    ("How do I use my NVIDIA card?", "nvidia", _HOW + "install"),
    ("What is a graph?", "what is a graph", _WHY),
    ("What is a session?", "what is a session", _WHY),
    ("Why does printing a tensor show no numbers?", "printing tensor", _WHY),
    ("How do I see a value in the middle of a graph?", "value in the middle", _HOW + "look-inside"),
    ("What must I feed?", "must feed", _WHY),
    ('Why "placeholder must be fed"?', "must feed a value for placeholder", _HOW + "look-inside"),
    ("How do I train a model?", "train a model", _HOW + "train"),
    ("How do I load my own pictures?", "load pictures", _HOW + "load-data"),
    ("How do I read a CSV file?", "read csv", _HOW + "load-data"),
    ("Why is the loss NaN?", "loss nan", _HOW + "train"),
    ("How do I stop a running cell without losing the model?", "stop a running cell", _HOW + "train"),
    ("How do I save and restore?", "save restore", _HOW + "save-and-restore"),
    ("How do I go on after a kernel restart?", "kernel restart", _HOW + "save-and-restore"),
    ("How do I use a trained model in another notebook?", "model in another notebook", _HOW + "save-and-restore"),
    ("How do I see curves live?", "curves live", _HOW + "watch-a-training"),
    ("How do I compare two runs?", "compare runs", _HOW + "watch-a-training"),
    ("Why is the first step slow?", "first step slow", _HOW + "speed-and-memory"),
    ("Where are compiled kernels kept, how do I clear them?", "clear compiled kernels", _HOW + "speed-and-memory"),
    ("How much memory does it use?", "memory use", _HOW + "speed-and-memory"),
    ("How do I find the slow operation?", "slow operation", _HOW + "watch-a-training"),
    ("How do I use all cores, or only one?", "use all cores", _HOW + "speed-and-memory"),
    ("How do I get the same numbers again?", "same numbers", _HOW + "train"),
    ("How do I write a loop in a graph?", "write a loop", _HOW + "loops-and-operations"),
    ("How do I write my own operation?", "own operation", _HOW + "loops-and-operations"),
    ("How do I get a gradient?", "get gradient", _HOW + "train"),
    ("What does this shape error mean?", "shape error", _HOW + "look-inside"),
    ("Which TensorFlow version is this like?", "tensorflow version", _HOW + "versions"),
    ("Does my old program run?", "old program", _HOW + "versions"),
    ("Why does a name from TensorFlow 2 fail?", "tensorflow 2", _HOW + "versions"),
    ("How do I use two machines?", "two machines", _HOW + "two-machines"),
    ("How do I draw a graph instead of writing it?", "draw a graph", _HOW + "draw-a-graph"),
    ("How do I turn the drawing into code?", "drawing into code", _HOW + "draw-a-graph"),
    ("How do I make a model small?", "model small", _HOW + "save-and-restore"),
    ("How do I serve it over HTTP?", "serve http", _HOW + "save-and-restore"),
    ("How do I export to ONNX?", "onnx", _HOW + "save-and-restore"),
    ("How do I report a bug, and what does doctor say?", "report bug", "docs/support"),
)
