"""`tf.keras.utils.Progbar`: a line of text that grows with the steps of an epoch.

Invariant: values that are not stateful are shown as their mean over the steps so far.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

__all__ = ["Progbar"]


class Progbar:
    """Shows progress towards `target` steps (None: unknown).

    verbose: 1 for a bar, 2 for one line at the end, 0 for nothing. interval: seconds between two lines.
    """

    def __init__(
        self,
        target: int | None,
        width: int = 30,
        verbose: int = 1,
        interval: float = 0.05,
        stateful_metrics: Sequence[str] | None = None,
        unit_name: str = "step",
    ) -> None:
        self.target, self.width, self.verbose, self.interval = target, width, verbose, interval
        self.stateful_metrics, self.unit_name = set(stateful_metrics or ()), unit_name
        self._sums: dict[str, list[float]] = {}
        self._seen_so_far, self._start, self._shown, self._length = 0, time.time(), 0.0, 0

    def update(self, current: int, values: Iterable[tuple[str, Any]] | None = None, last: bool = False) -> None:
        """Shows that `current` steps are done, with pairs (name, value). `last` ends the line."""
        steps = current - self._seen_so_far
        for name, value in values or ():
            if name in self.stateful_metrics or last:
                self._sums[name] = [float(value), 1.0]
            else:
                total = self._sums.setdefault(name, [0.0, 0.0])
                total[0] += float(value) * max(steps, 1)
                total[1] += max(steps, 1)
        self._seen_so_far = current
        ended = last or (self.target is not None and current >= self.target)
        now = time.time()
        if not self.verbose or (self.verbose == 2 and not ended):
            return
        if now - self._shown < self.interval and not ended:
            return
        self._shown = now
        self._write(self._bar(current) + self._facts(now, current, ended), ended)

    def add(self, n: int, values: Iterable[tuple[str, Any]] | None = None) -> None:
        """Shows that `n` more steps are done."""
        self.update(self._seen_so_far + n, values)

    def _bar(self, current: int) -> str:
        if self.verbose != 1:
            return ""
        if self.target is None:
            return f"{current:>7}/Unknown"
        digits = len(str(self.target))
        done = int(self.width * min(current / max(self.target, 1), 1.0))
        bar = "=" * self.width if done >= self.width else "=" * max(done - 1, 0) + ">" * (done > 0)
        return f"{current:>{digits}}/{self.target} [{bar:.<{self.width}}]"

    def _facts(self, now: float, current: int, ended: bool) -> str:
        each = (now - self._start) / max(current, 1)
        if ended:
            unit = f"{each:.0f}s" if each >= 1 else f"{each * 1e3:.0f}ms" if each >= 1e-3 else f"{each * 1e6:.0f}us"
            text = f" - {now - self._start:.0f}s {unit}/{self.unit_name}"
        else:
            left = each * max((self.target or current) - current, 0)
            text = f" - ETA: {left:.0f}s"
        for name, (total, count) in self._sums.items():
            mean = np.mean(total / max(count, 1.0))
            text += f" - {name}: {mean:.4f}" if abs(mean) > 1e-3 else f" - {name}: {mean:.4e}"
        return text

    def _write(self, text: str, ended: bool) -> None:
        padding = " " * max(self._length - len(text), 0)
        self._length = len(text)
        start = "\r" if self.verbose == 1 else ""
        sys.stdout.write(f"{start}{text}{padding}" + ("\n" if ended else ""))
        sys.stdout.flush()
