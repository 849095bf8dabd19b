"""The progress bar's two forms, and its cost."""

import io
import time

import pytest

from tfnb.errors import InvalidArgumentError
from tfnb.notebook.progress import progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_lines_in_a_log():
    log = io.StringIO()
    bar = progress(range(3), label="training", stream=log)
    assert len(bar) == 3
    for item in bar:
        bar.note = f"loss {item}"
    first, last = log.getvalue().splitlines()
    assert first == "training [....................] 0/3"
    assert last.startswith("training [####################] 3/3")
    assert last.endswith("loss 2")
    assert "done in" in last


def test_one_line_in_a_terminal():
    terminal = Terminal()
    assert list(progress(iter("ab"), stream=terminal)) == ["a", "b"]
    assert terminal.getvalue().count("\n") == 1
    assert terminal.getvalue().startswith("\r0")
    assert "2 · " in terminal.getvalue().split("\r")[-1]


def test_a_break_is_told():
    log = io.StringIO()
    for item in progress(range(5), stream=log):
        if item == 2:
            break
    assert "2/5" in log.getvalue()
    assert log.getvalue().strip().endswith("stopped")


def test_html_escapes_texts():
    bar = progress(range(4), label="<b>", stream=io.StringIO())
    bar.note = "<script>"
    for _ in bar:
        pass
    html = bar._html("", bar._text(""))
    assert "<script>" not in html
    assert "&lt;b&gt;" in html
    assert 'value="1" max="1"' in html


def test_no_length_and_no_items():
    assert list(progress([], stream=io.StringIO())) == []
    with pytest.raises(TypeError, match="unknown length"):
        len(progress(iter([]), stream=io.StringIO()))
    with pytest.raises(InvalidArgumentError, match="-1"):
        progress([], total=-1)


def test_it_costs_little():
    begun = time.thread_time()
    for _ in progress(range(200_000), stream=io.StringIO()):
        pass
    assert time.thread_time() - begun < 1.0
