"""Caches in memory, with a registry: every cache has a name, a bound and counters, and one call empties them all.

A `Cache` is a dictionary that drops its oldest entry when it is full; `remembered` keeps the results of a function. The
registry refers to caches weakly, so a cache ends with its owner, for example a session. Invariant: an entry can be
computed again, so emptying a cache at any time changes the duration of the next call and nothing else.

`tf.list_caches()` shows how full the caches are, how often a value was found or computed, and how long computing took;
`tf.clear_caches()` empties all of them or those of one name, also while steps run. A notebook shows the caches of a
session with it (`sess.list_caches()`), and JupyterLab's side panel shows all. A value that is made once and never
again, such as the class of a protobuf message, is `functools.cache` of a function without parameters instead.
"""

from __future__ import annotations

import functools
import threading
import time
import weakref
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, NamedTuple, TypeVar, cast

from tfnb.system.live_objects import LiveObjects

__all__ = ["Cache", "CacheInfo", "Caches", "clear_caches", "forget_results", "list_caches", "remembered", "summary_of"]

K = TypeVar("K")
V = TypeVar("V")
F = TypeVar("F", bound=Callable[..., Any])

_lock = threading.RLock()  # held while the registry changes
_functions: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()  # remembered function -> name


class Cache(dict[K, V]):
    """A dictionary of at most `limit` values, which drops the oldest entry first.

    `hits` counts the lookups that found a value, and `seconds` is the time that was spent on computing values. A value
    is read with `find`, or, where every step reads it, with the dictionary's own `get`; the caller then adds 1 to
    `hits`. Neither takes a lock, so the count may be a little too low if several threads read at the same time. `put`,
    `renew`, `remove`, `clear`, `timed` and `add_seconds` may be called from any thread.
    """

    __slots__ = ("__weakref__", "_changing", "dropped", "hits", "limit", "name", "puts", "seconds")

    def __init__(self, name: str, limit: int) -> None:
        super().__init__()
        self.name, self.limit = name, limit
        self.puts = self.dropped = self.hits = 0
        self.seconds = 0.0
        self._changing = threading.RLock()
        with _lock:
            _caches.add(self)

    # The registry is a set of caches, so they are hashed and compared by identity and not by content.
    __hash__ = object.__hash__  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return self is other

    def find(self, key: K) -> V | None:
        """Returns the value of the key and counts the hit; returns None if the key is absent."""
        value = self.get(key)
        if value is not None:
            self.hits += 1
        return value

    def timed(self) -> AbstractContextManager[None]:
        """A context in which a value is computed; its duration is added to `seconds`, also if the computation fails."""
        return _Timed(self)

    def add_seconds(self, seconds: float) -> None:
        """Adds time that was spent on a value, perhaps after it was stored."""
        with self._changing:
            self.seconds += seconds

    def put(self, key: K, value: V) -> V:
        """Stores the value unless another thread has stored one for this key; returns the stored value."""
        evicted = None  # entries are destroyed after the lock is released, because their destructors may run any code
        with self._changing:
            stored = self.setdefault(key, value)
            if stored is value:
                self.puts += 1
            if len(self) > self.limit:
                evicted = self.pop(next(iter(self)))
                self.dropped += 1
        del evicted
        return stored

    def is_new(self, key: K, value: V) -> bool:
        """Stores the value if there is none for this key, and returns whether that is so; otherwise counts the hit."""
        evicted = None  # see `put`
        with self._changing:
            if key in self:
                self.hits += 1
                return False
            self[key] = value
            self.puts += 1
            if len(self) > self.limit:
                evicted = self.pop(next(iter(self)))
                self.dropped += 1
        del evicted
        return True

    def renew(self, key: K) -> V | None:
        """Returns the value of the key, counts the hit and makes the entry the newest; returns None if it is absent."""
        with self._changing:
            if key not in self:
                return None
            self.hits += 1
            value = self[key] = self.pop(key)
            return value

    def remove(self, unwanted: Callable[[V], bool]) -> None:
        """Removes the entries for whose value `unwanted` is true."""
        with self._changing:
            removed = [self.pop(key) for key, value in list(self.items()) if unwanted(value)]
        del removed

    def clear(self) -> None:
        """Removes all entries."""
        with self._changing:
            removed = list(self.values())
            super().clear()
        del removed


class _Timed:
    """The context that `Cache.timed` returns. A generator takes three times as long, in every step on a new shape."""

    __slots__ = ("_cache", "_start")

    def __init__(self, cache: Cache[Any, Any]) -> None:
        self._cache = cache

    def __enter__(self) -> None:
        self._start = time.perf_counter()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._cache.add_seconds(time.perf_counter() - self._start)


_caches: LiveObjects[Cache[Any, Any]] = LiveObjects()


def remembered(name: str, limit: int) -> Callable[[F], F]:
    """Returns a decorator that keeps the `limit` latest results of a function of hashable arguments
    (`functools.lru_cache`).
    """

    def decorate(function: F) -> F:
        wrapped: Any = functools.lru_cache(maxsize=limit)(function)
        with _lock:
            _functions[wrapped] = name
        function_with_cache: F = wrapped
        return function_with_cache

    return decorate


def forget_results(function: Callable[..., object]) -> None:
    """Empties the cache of a `remembered` function."""
    cast("functools._lru_cache_wrapper[object]", function).cache_clear()


class CacheInfo(NamedTuple):
    """The sums over all caches of one name.

    `caches`: the number of caches. `entries`: the number of values in them. `limit`: the largest possible number.
    `misses`: the number of values that were computed. `hits`: the number of values that were found in a cache.
    `seconds`: the time that computing the values took; None if it is not measured.
    """

    name: str
    caches: int
    entries: int
    limit: int
    misses: int
    hits: int
    seconds: float | None


class Caches(tuple[CacheInfo, ...]):
    """The caches of a process by name, which are printed as a table."""

    __slots__ = ()

    def __repr__(self) -> str:
        rows = [
            CacheInfo._fields,
            *((*map(str, i[:-1]), "" if i.seconds is None else f"{i.seconds:.2f}") for i in self),
        ]
        widths = [max(len(row[c]) for row in rows) for c in range(len(CacheInfo._fields))]
        lines = ([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])] for row in rows)
        return "\n".join("  ".join(line).rstrip() for line in lines)


def list_caches() -> Caches:
    """Returns the caches in the memory of this process, sorted by name: compiled steps, programs and results of
    functions.

    The compiled kernels on disk are not included; see `TFNB_CACHE_DIR`.
    """
    objects, functions = _registered()
    of_functions = []
    for function, name in functions:
        hits, misses, limit, size = function.cache_info()
        of_functions.append(CacheInfo(name, 1, size, limit, misses, hits, None))
    by_name = {info.name: info for info in _sums([*map(_info, objects), *of_functions])}
    return Caches(by_name[name] for name in sorted(by_name))


def summary_of(caches: Iterable[Cache[Any, Any]]) -> Caches:
    """Returns the sums over these caches by name, in the order of the first cache of each name."""
    return Caches(_sums(map(_info, caches)))


def _info(cache: Cache[Any, Any]) -> CacheInfo:
    return CacheInfo(cache.name, 1, len(cache), cache.limit, cache.puts, cache.hits, cache.seconds)


def _sums(infos: Iterable[CacheInfo]) -> Iterable[CacheInfo]:
    by_name: dict[str, CacheInfo] = {}
    for info in infos:
        previous = by_name.get(info.name)
        by_name[info.name] = info if previous is None else _sum(previous, info)
    return by_name.values()


def clear_caches(name: str | None = None) -> None:
    """Empties every cache of `list_caches()`, in all sessions, or only the caches of the given name.

    The next step of each session is compiled again. Steps that are running are not disturbed, and compiled kernels stay
    on disk. A name that no cache has, perhaps no longer because its session was closed, changes nothing.
    """
    objects, functions = _registered()
    for cache in objects:
        if name is None or cache.name == name:
            cache.clear()
    for function, cache_name in functions:
        if name is None or cache_name == name:
            cast("functools._lru_cache_wrapper[object]", function).cache_clear()


def _registered() -> tuple[list[Cache[Any, Any]], list[tuple[Any, str]]]:
    with _lock:
        return _caches.list(), list(_functions.items())


def _sum(a: CacheInfo, b: CacheInfo) -> CacheInfo:
    seconds = None if a.seconds is None or b.seconds is None else a.seconds + b.seconds
    n_caches, entries, limit, misses, hits = (x + y for x, y in zip(a[1:6], b[1:6], strict=True))
    return CacheInfo(a.name, n_caches, entries, limit, misses, hits, seconds)
