"""`tf.logging`: the logger of programs, implemented with Python's logging.

Invariant: messages go to the logger "tfnb", which writes to stderr only where the program configured no logging.
"""

from __future__ import annotations

import logging
import sys
import threading
from typing import Any

from tfnb.errors import InvalidArgumentError

__all__ = ["API", "info", "set_verbosity", "warning"]

DEBUG, INFO, WARN, ERROR, FATAL = 10, 20, 30, 40, 50
_LOGGER = logging.getLogger("tfnb")
_lock = threading.RLock()
_counts: dict[Any, int] = {}


class _Stderr(logging.Handler):
    """A handler that writes to the current `sys.stderr`, which a notebook replaces."""

    def emit(self, record: logging.LogRecord) -> None:
        if not logging.getLogger().handlers:  # else the program's own handlers write the message
            sys.stderr.write(self.format(record) + "\n")
            sys.stderr.flush()


def _logger() -> logging.Logger:
    with _lock:
        if not any(isinstance(h, _Stderr) for h in _LOGGER.handlers):
            handler = _Stderr()
            handler.setFormatter(logging.Formatter(logging.BASIC_FORMAT))
            _LOGGER.addHandler(handler)
            if _LOGGER.level == logging.NOTSET:
                _LOGGER.setLevel(WARN)
    return _LOGGER


def log(level: int, msg: str, *args: object, **kwargs: Any) -> None:
    """Logs `msg % args` at a level: DEBUG, INFO, WARN, ERROR or FATAL."""
    _logger().log(level, msg, *args, **kwargs)


def debug(msg: str, *args: object, **kwargs: object) -> None:
    """Logs `msg % args` at the level DEBUG."""
    log(DEBUG, msg, *args, **kwargs)


def info(msg: str, *args: object, **kwargs: object) -> None:
    """Logs `msg % args` at the level INFO."""
    log(INFO, msg, *args, **kwargs)


def warning(msg: str, *args: object, **kwargs: object) -> None:
    """Logs `msg % args` at the level WARN."""
    log(WARN, msg, *args, **kwargs)


def error(msg: str, *args: object, **kwargs: object) -> None:
    """Logs `msg % args` at the level ERROR."""
    log(ERROR, msg, *args, **kwargs)


def fatal(msg: str, *args: object, **kwargs: object) -> None:
    """Logs `msg % args` at the level FATAL; the program continues."""
    log(FATAL, msg, *args, **kwargs)


def vlog(level: int, msg: str, *args: object, **kwargs: object) -> None:
    """Logs `msg % args` at a level given as a number."""
    log(level, msg, *args, **kwargs)


def log_first_n(level: int, msg: str, n: int, *args: object) -> None:
    """Logs `msg % args` at a level, the first `n` times that this message is logged."""
    with _lock:
        _counts[msg] = count = _counts.get(msg, 0) + 1
    if count <= n:
        log(level, msg, *args)


def log_every_n(level: int, msg: str, n: int, *args: object) -> None:
    """Logs `msg % args` at a level, the first time and then every n-th time that this message is logged."""
    with _lock:
        _counts[msg] = count = _counts.get(msg, 0) + 1
    if (count - 1) % n == 0:
        log(level, msg, *args)


def log_if(level: int, msg: str, condition: bool, *args: object) -> None:
    """Logs `msg % args` at a level where `condition` is true."""
    if condition:
        log(level, msg, *args)


def set_verbosity(v: int | str) -> None:
    """Sets the lowest level whose messages are shown: a level, or its name ("INFO")."""
    try:
        _logger().setLevel(v)
    except (ValueError, TypeError):
        raise InvalidArgumentError(f"{v!r} is not a logging level; needed DEBUG, INFO, WARN, ERROR or FATAL") from None


def get_verbosity() -> int:
    """Returns the lowest level whose messages are shown."""
    return _logger().getEffectiveLevel()


def flush() -> None:
    """Writes out messages that are buffered."""
    for handler in _LOGGER.handlers:
        handler.flush()


_FUNCTIONS: dict[str, Any] = {
    "DEBUG": DEBUG,
    "INFO": INFO,
    "WARN": WARN,
    "ERROR": ERROR,
    "FATAL": FATAL,
    "log": log,
    "debug": debug,
    "info": info,
    "warn": warning,
    "warning": warning,
    "error": error,
    "fatal": fatal,
    "vlog": vlog,
    "log_first_n": log_first_n,
    "log_every_n": log_every_n,
    "log_if": log_if,
    "set_verbosity": set_verbosity,
    "get_verbosity": get_verbosity,
    "flush": flush,
}
API: dict[str, Any] = {f"logging.{name}": value for name, value in _FUNCTIONS.items()}
