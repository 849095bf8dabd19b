"""What a long compilation is doing: nothing is shown for two seconds, then a line that is rewritten until the end.

Code that may take long surrounds itself with `compiling`, which may be nested; `expect` and `advance` count the pieces
of work. A thread draws, because compilers do not return for seconds. Compilations that follow each other closely, as
those of the clusters of one step, count as one wait. Invariant: an interrupt at any place leaves no wait behind,
because the list of running compilations has only weak references to them.

The line, or a bar in the cell of a notebook, names what is compiled, how many of its clusters and kernels are done, and
the time. `TFNB_QUIET=1` turns it off. If standard error is a file or a pipe, nothing is written to it, neither by tfnb
nor by the OpenCL compiler. An interrupt takes effect at once in passes and code generation; a build or a first launch
is finished first.
"""

from __future__ import annotations

import atexit
import contextvars
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable
from types import TracebackType
from typing import Literal, NamedTuple, Protocol, TextIO

from tfnb.settings import load_settings
from tfnb.system import threads

__all__ = ["TextLine", "View", "Wait", "advance", "compiling", "expect", "finish", "set_view", "shown"]

SECONDS_BEFORE = 2.0  # a shorter wait is not shown
SECONDS_PER_DRAWING = 0.25
SECONDS_PER_LINE = 5.0  # the least time between two lines in a log file or a pipe
_PAUSE = 0.3  # seconds after which the next compilation is a wait of its own


shown: list[View] = []  # the view of the wait while it is shown; `if shown:` is the fastest test before `finish`


class TextLine:
    """A line of text that is replaced: rewritten in a terminal, and written again, but rarely, into a file or pipe."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._last_line = float("-inf")
        self._width = 0

    @property
    def is_terminal(self) -> bool:
        """Whether the line is rewritten in a terminal."""
        return self._stream.isatty()

    def write(self, text: str, last: bool) -> None:
        """Replaces the line. The `last` text is always written."""
        if self.is_terminal:
            self._stream.write("\r" + text.ljust(self._width) + ("\n" if last else ""))
            self._width = 0 if last else len(text)
        else:
            now = time.monotonic()
            if not last and now - self._last_line < SECONDS_PER_LINE:
                return
            self._last_line = now
            self._stream.write(text + "\n")
        self._stream.flush()


class Wait(NamedTuple):
    """The state of a wait: what is being compiled, how many pieces of each kind are done, and for how long.

    `counts` maps "cluster" and "kernel" to the number that is done and the number that is known. `state` is "" while
    the wait lasts, and "done" or "stopped" afterwards.
    """

    what: str
    counts: dict[str, tuple[int, int]]
    seconds: float
    state: str = ""

    @property
    def share(self) -> float | None:
        """The part of the work that is done, from 0 to 1; None if no number of pieces is known."""
        if self.state == "done":
            return 1.0
        shares = [done / known for done, known in self.counts.values() if known]
        return sum(shares) / len(shares) if shares else None

    def numbers(self) -> str:
        """How much is done, and for how long, as text.

        At the end of the work this is what was done: of the pieces that were expected some may not have been needed.
        """
        parts = []
        for kind, (done, known) in sorted(self.counts.items()):
            n = done if self.state == "done" else known
            if n:
                of = "" if self.state == "done" else f"{min(done, known):,} of "
                parts.append(f"{of}{n:,} {kind}{'s' * (n != 1)}")
        return " · ".join([*parts, f"{self.seconds:.1f} s"])

    def text(self) -> str:
        """The line of a terminal."""
        words = {"": f"compiling {self.what}", "done": "compiled", "stopped": f"stopped compiling {self.what}"}
        return f"tfnb: {words[self.state]} · {self.numbers()}"


class View(Protocol):
    """Shows a wait. `show` replaces what it has shown before."""

    def show(self, wait: Wait) -> None: ...


class _Line:
    """The view outside of notebooks: a line in a terminal.

    Nothing is written to a file or a pipe, where a person's own output would be mixed with it, and where the standard
    error of a process may end in red below the cell of another one.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._line = TextLine(stream)

    def show(self, wait: Wait) -> None:
        if self._line.is_terminal:
            self._line.write(wait.text(), bool(wait.state))


class _Progress:
    """The wait of this process. All methods may be called from any thread."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.running: list[weakref.ref[compiling]] = []  # from the outermost to the innermost, of all threads
        self.counts: dict[str, list[int]] = {}  # of each kind of piece the number that is done, and that is known
        self.begin, self.idle_since = float("inf"), float("-inf")
        self.view: View | None = None  # while the wait is shown
        self.make_view: Callable[[], View] = _Line
        self.thread: threading.Thread | None = None
        self.changed = threading.Event()

    def items(self) -> list[compiling]:
        """The running compilations."""
        self.running = [reference for reference in self.running if reference() is not None]
        return [item for reference in self.running if (item := reference()) is not None]

    def begin_or_continue(self) -> None:
        """Continues the wait, or begins a new one if nothing was compiled for a while."""
        now = time.monotonic()
        if not self.items() and now - self.idle_since > _PAUSE:
            self.end("done")
            self.begin, self.counts = now, {}
        self.idle_since = now

    def wait(self, state: str = "") -> Wait:
        """The present state."""
        items = self.items()
        thread = items[-1].thread if items else 0
        what = ": ".join(item.text for item in items if item.thread == thread) or "…"
        counts = {kind: (done, max(done, known)) for kind, (done, known) in self.counts.items()}
        return Wait(what, counts, time.monotonic() - self.begin, state)

    def is_long(self) -> bool:
        """Returns whether the wait lasts so long that it is shown."""
        return time.monotonic() - self.begin >= SECONDS_BEFORE

    def draw(self) -> None:
        """Shows the wait if it is long enough. A view that fails, as when its stream is closed, is not used again."""
        if not self.is_long():
            return
        try:
            if load_settings().quiet:
                return
            if self.view is None:
                self.view = self.make_view()
                shown[:] = [self.view]
            self.view.show(self.wait())
        except Exception:
            self.view = None
            shown.clear()
            self.begin = float("inf")

    def end(self, state: str, what: str = "") -> None:
        """Shows the end of the wait, if it was shown."""
        view, self.view = self.view, None
        shown.clear()
        wait = self.wait(state)
        self.begin, self.idle_since = float("inf"), float("-inf")  # the next compilation begins a new wait
        if view is not None:
            try:
                view.show(wait._replace(what=what or wait.what))
            except Exception:
                return

    def watch(self) -> None:
        """Draws until the wait is over. This is the work of the thread."""
        while True:
            self.changed.wait(SECONDS_PER_DRAWING)
            with self.lock:
                self.changed.clear()
                if self.items():
                    self.draw()
                elif time.monotonic() - self.idle_since > _PAUSE:
                    self.end("done")
                    self.thread = None
                    return
                elif self.view is None:
                    self.draw()  # between many compilations, each of which is shorter than the time until a drawing
                    if self.view is None:
                        self.thread = None  # a compilation that follows closely continues the wait in another thread
                        return


_progress = _Progress()


def _after_fork() -> None:
    global _progress
    make_view = _progress.make_view
    shown.clear()
    _progress = _Progress()
    _progress.make_view = make_view


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class compiling:
    """A context manager around work that may take long; `text` says what is compiled and may be changed meanwhile.

    With `piece`, the work is one piece of this kind, "cluster" or "kernel", that is done at the end of the block.
    """

    __slots__ = ("__weakref__", "_piece", "text", "thread")

    def __init__(self, text: str, piece: str = "") -> None:
        self.text = text
        self.thread = threading.get_ident()
        self._piece = piece

    def __enter__(self) -> compiling:
        p = _progress
        if threads.are_over():  # the one that draws may have stopped with the lock
            return self
        with p.lock:
            p.begin_or_continue()
            p.running.append(weakref.ref(self))
            if p.thread is None:
                # In a notebook the context tells to which cell an output belongs.
                run = contextvars.copy_context().run
                p.thread = threading.Thread(target=run, args=(p.watch,), name="tfnb-progress", daemon=True)
                p.thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        p = _progress
        if threads.are_over():
            return
        with p.lock:
            if kind is None and self._piece:
                p.counts.setdefault(self._piece, [0, 0])[0] += 1
            what = p.wait().what
            if p.view is None:
                p.draw()  # a wait that just became long is shown, so that `finish` is called at the end of the step
            p.running = [reference for reference in p.running if reference() is not self]
            if p.items():
                return
            p.idle_since = time.monotonic()
            if kind is not None and issubclass(kind, KeyboardInterrupt):
                p.end("stopped", what)
            thread = p.thread if p.view is None else None
            p.changed.set()
        if thread is not None:
            thread.join(1.0)  # it ends at once; so a compilation that is not shown leaves no thread


def expect(piece: str, n: int) -> None:
    """Notes that `n` more pieces of work of this kind will have to be done."""
    p = _progress
    if threads.are_over():
        return
    with p.lock:
        p.begin_or_continue()
        p.counts.setdefault(piece, [0, 0])[1] += n


def advance(piece: str) -> None:
    """Notes that a piece of work of this kind is done."""
    p = _progress
    if threads.are_over():
        return
    with p.lock:
        p.counts.setdefault(piece, [0, 0])[0] += 1


def finish(state: Literal["done", "stopped"] = "done") -> None:
    """Ends the wait of the calling thread, whose step has ended or was stopped."""
    p = _progress
    if threads.are_over():
        return
    with p.lock:
        thread = threading.get_ident()  # an interrupt may have cut off the end of a `compiling` block of this thread
        p.running = [r for r in p.running if (item := r()) is not None and item.thread != thread]
        if p.items():
            return
        p.end(state)
        drawing = p.thread
        p.changed.set()
    if drawing is not None:
        drawing.join(1.0)  # it ends at once; so a step leaves no thread


def set_view(make_view: Callable[[], View]) -> None:
    """Lets every later wait be shown by the object that `make_view` returns; a notebook calls this."""
    _progress.make_view = make_view


atexit.register(finish)
