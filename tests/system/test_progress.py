"""The line of a long compilation: when it appears, what it counts, how it ends, and that it leaves no thread."""

import io
import re
import threading
import time

import pytest
from waiting import until

import tfnb as tf
from tfnb.system import progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch):
    """A terminal on which waits appear after 50 ms."""
    monkeypatch.setattr(progress, "SECONDS_BEFORE", 0.05)
    monkeypatch.setattr(progress, "SECONDS_PER_DRAWING", 0.01)
    monkeypatch.delenv("TFNB_QUIET", raising=False)
    stream = Terminal()
    monkeypatch.setattr(progress._progress, "make_view", lambda: progress._Line(stream))
    time.sleep(progress._PAUSE)  # so that no compilation of an earlier test belongs to the wait
    yield stream
    progress.finish()


def threads():
    return [t for t in threading.enumerate() if t.name == "tfnb-progress"]


def until_shown(terminal, text):
    until(lambda: text in terminal.getvalue(), f"{text!r} was not shown")


def test_a_short_compilation_shows_nothing_and_leaves_no_thread(terminal, monkeypatch):
    monkeypatch.setattr(progress, "SECONDS_BEFORE", 2.0)
    with progress.compiling("a step"), progress.compiling("kernels"):
        assert len(threads()) == 1
        time.sleep(0.1)
    assert terminal.getvalue() == "" and not threads()


def test_the_end_of_a_step_whose_wait_was_shown_leaves_no_thread(terminal):
    for _ in range(50):
        with progress.compiling("a step"):
            until_shown(terminal, "compiling a step")
        assert len(threads()) == 1  # the next compilation of the step continues the wait
        progress.finish()
        assert not threads()
        terminal.truncate(0)


def test_a_compilation_that_ends_between_two_drawings_is_shown_and_leaves_no_thread(terminal, monkeypatch):
    monkeypatch.setattr(progress, "SECONDS_PER_DRAWING", 10.0)
    with progress.compiling("a step"):
        time.sleep(0.1)
    assert progress.shown and "compiling a step" in terminal.getvalue()  # a session calls `finish` if a wait is shown
    progress.finish()
    assert not threads()


def test_the_line_says_what_is_compiled_how_much_is_done_and_for_how_long(terminal):
    progress.expect("cluster", 2)
    with progress.compiling("first", "cluster") as outer:
        progress.expect("kernel", 3)
        with progress.compiling("inner"):
            until_shown(terminal, "tfnb: compiling first: inner · 0 of 2 clusters · 0 of 3 kernels · ")
        progress.advance("kernel")
        outer.text = "renamed"
        until_shown(terminal, "tfnb: compiling renamed · 0 of 2 clusters · 1 of 3 kernels · ")
    with progress.compiling("second", "cluster"):  # soon after the first: it belongs to the same wait
        until_shown(terminal, "tfnb: compiling second · 1 of 2 clusters · 1 of 3 kernels · ")
    assert "\n" not in terminal.getvalue()
    progress.finish()
    last = terminal.getvalue().split("\r")[-1]
    # Two of the kernels that were expected were not needed: what is said in the end is what was compiled.
    assert re.fullmatch(r"tfnb: compiled · 2 clusters · 1 kernel · [\d.]+ s *\n", last)
    with progress.compiling("another"):
        pass
    assert terminal.getvalue().endswith(last)


def test_a_wait_ends_by_itself_and_by_an_interrupt(terminal):
    with progress.compiling("one"):
        until_shown(terminal, "compiling one")
    until_shown(terminal, "tfnb: compiled · ")
    with pytest.raises(KeyboardInterrupt), progress.compiling("other"):
        until_shown(terminal, "compiling other")
        raise KeyboardInterrupt
    assert re.search(r"\rtfnb: stopped compiling other · [\d.]+ s *\n$", terminal.getvalue())


def test_a_step_that_an_interrupt_stops_between_two_compilations_is_not_compiled(terminal):
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [3])

        def interrupt(a):
            with progress.compiling("one"):
                until_shown(terminal, "compiling one")
            raise KeyboardInterrupt

        y = tf.py_func(interrupt, [x], tf.float32)
        with pytest.raises(KeyboardInterrupt):
            sess.run(y, {x: [1, 2, 3]})
    assert re.search(r"\rtfnb: stopped compiling … · .*\n$", terminal.getvalue())


def test_an_end_that_was_cut_off_leaves_nothing_behind(terminal):
    progress.compiling("lost").__enter__()  # as after an interrupt before the end of the block
    with progress.compiling("next"):
        until_shown(terminal, "compiling next")
    progress.finish()
    assert terminal.getvalue().count("\n") == 1


def test_quiet(terminal, monkeypatch):
    monkeypatch.setenv("TFNB_QUIET", "1")
    with progress.compiling("a step"):
        time.sleep(0.2)
    assert terminal.getvalue() == ""


def test_a_closed_stream_stops_nothing(terminal):
    terminal.close()
    with progress.compiling("a step"):
        time.sleep(0.2)


def test_many_short_compilations_are_one_wait_that_is_shown(terminal, monkeypatch):
    monkeypatch.setattr(progress, "SECONDS_PER_DRAWING", 0.25)  # longer than each of them
    progress.expect("cluster", 30)
    for _ in range(30):
        with progress.compiling("a cluster", "cluster"):
            time.sleep(0.01)
    progress.finish()
    assert "tfnb: compiled · 30 clusters" in terminal.getvalue()


def test_nothing_is_written_to_a_pipe(terminal, monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(progress._progress, "make_view", lambda: progress._Line(stream))
    with progress.compiling("a step"):
        time.sleep(0.2)
    progress.finish()
    assert stream.getvalue() == ""
