"""A progress bar for training loops and for long compilations: HTML in a notebook, a line of text in a terminal.

Invariant: for a loop it costs well under a microsecond per iteration, and is drawn at most ten times a second.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sized
from html import escape
from typing import Generic, TextIO, TypeVar

from tfnb.errors import InvalidArgumentError
from tfnb.notebook.replaceable_output import Outlet
from tfnb.system.progress import Wait

__all__ = ["Progress", "WaitView", "progress"]

T = TypeVar("T")
SECONDS_PER_DRAWING = 0.1
TEXT_WIDTH = 20


class Progress(Generic[T]):
    """Iterates over an iterable and shows the progress; `note` is shown beside the numbers."""

    def __init__(
        self,
        iterable: Iterable[T],
        total: int | None = None,
        label: str = "",
        stream: TextIO | None = None,
    ) -> None:
        if total is None and isinstance(iterable, Sized):
            total = len(iterable)
        if total is not None and total < 0:
            raise InvalidArgumentError(f"a progress bar's total cannot be {total}")
        self.note = ""
        self.label = label
        self.total = total
        self.done = 0
        self._iterable = iterable
        self._outlet = Outlet("progress", stream)
        self._started = time.perf_counter()

    def __len__(self) -> int:
        if self.total is None:
            raise TypeError("this progress bar goes through an iterable of unknown length")
        return self.total

    def __iter__(self) -> Iterator[T]:
        self._started, self.done = time.perf_counter(), 0
        next_drawing = 0.0
        finished = False
        try:
            for item in self._iterable:
                now = time.perf_counter()
                if now >= next_drawing:
                    self._show()
                    next_drawing = time.perf_counter() + SECONDS_PER_DRAWING
                yield item
                self.done += 1
            finished = True
        finally:
            self._show("done" if finished else "stopped")

    def _show(self, state: str = "") -> None:
        text = self._text(state)
        self._outlet.show({"text/html": self._html(state, text), "text/plain": text}, bool(state))

    def _numbers(self, state: str) -> str:
        seconds = time.perf_counter() - self._started
        rate = self.done / seconds if seconds else 0.0
        of = f"/{self.total:,}" if self.total is not None else ""
        parts = [f"{self.done:,}{of}"]
        if self.done:
            parts.append(f"{rate:,.0f}/s" if rate >= 10 else f"{rate:.2g}/s")
        if state:
            parts.append(f"{state} in {_clock(seconds)}" if state == "done" else state)
        elif self.total and self.done:
            parts.append(f"{_clock((self.total - self.done) / rate)} left")
        return " · ".join([*parts, self.note] if self.note else parts)

    def _text(self, state: str) -> str:
        bar = ""
        if self.total:
            full = min(self.done * TEXT_WIDTH // self.total, TEXT_WIDTH)
            bar = f"[{'#' * full}{'.' * (TEXT_WIDTH - full)}] "
        return f"{self.label} {bar}{self._numbers(state)}".strip()

    def _html(self, state: str, text: str) -> str:
        share = self.done / self.total if self.total else 1.0 if state else None
        return _bar(share, self.label, self._numbers(state), text, state == "stopped")


class WaitView:
    """Shows in the output of the current cell what a long compilation is doing; see `tfnb/system/progress.py`."""

    def __init__(self) -> None:
        self._outlet = Outlet("compiling")

    def show(self, wait: Wait) -> None:
        """Replaces what is shown."""
        text, words = wait.text(), {"": "compiling", "done": "compiled", "stopped": "stopped compiling"}
        html = _bar(wait.share, words[wait.state], wait.numbers(), text, wait.state == "stopped")
        if not wait.state:
            style = "opacity:.75;overflow-wrap:anywhere;font-size:smaller"
            html += f'<div class="tfnb-compiling" style="{style}">{escape(wait.what)}</div>'
        self._outlet.show({"text/html": html, "text/plain": text}, bool(wait.state))


def _bar(share: float | None, label: str, numbers: str, text: str, is_stopped: bool) -> str:
    """Returns the HTML of a bar between a label and numbers. `share` is from 0 to 1; None: it is not known."""
    value = "" if share is None else f' value="{share:.4g}" max="1"'
    colour = "#c0392b" if is_stopped else "var(--jp-brand-color1, #4a8fd9)"
    return (
        '<div class="tfnb-progress" style="display:flex;align-items:center;gap:.8em">'
        f"<span>{escape(label)}</span>"
        f'<progress{value} aria-label="{escape(text)}" '
        f'style="width:16em;accent-color:{colour}"></progress>'
        f'<span style="font-variant-numeric:tabular-nums">{escape(numbers)}</span>'
        "</div>"
    )


def progress(
    iterable: Iterable[T],
    total: int | None = None,
    label: str = "",
    stream: TextIO | None = None,
) -> Progress[T]:
    """Returns a progress bar that yields the items of `iterable`.

    `total` is needed only where the iterable has no length. Assign to `note` inside the loop to show a
    few words beside the bar::

        for step in (bar := tf.notebook.progress(range(1000), label="training")):
            ...
            bar.note = f"loss {loss:.3f}"

    Raises `InvalidArgumentError` for a negative `total`.
    """
    return Progress(iterable, total, label, stream)


def _clock(seconds: float) -> str:
    total_seconds = round(seconds)
    if seconds < 10:
        return f"{seconds:.1f} s"
    if total_seconds < 60:
        return f"{total_seconds} s"
    minutes, rest = divmod(total_seconds, 60)
    return f"{minutes}:{rest:02d}" if minutes < 60 else f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}"
