"""What is computed once and kept in memory: every such cache has a name and a bound, and one call empties them all.

A `Cache` is a dictionary that drops its oldest entry when it is full; `remembered` keeps the results of a function. The
registry holds a cache as long as somebody uses it, as a session does. Invariant: an entry can be computed again, so
emptying a cache at any time changes how long the next call takes, and nothing else.
"""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, cast

__all__ = ["Cache", "CacheInfo", "Caches", "clear_caches", "forget_results", "list_caches", "remembered"]

K = TypeVar("K")
V = TypeVar("V")
F = TypeVar("F", bound=Callable[..., Any])

_lock = threading.RLock()  # around changes of the registry
_functions: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()  # remembered function -> name


class Cache(dict[K, V]):
    """At most `limit` values by key; the one that was put first goes first.

    Reading is a dictionary's own `get`, without a lock and uncounted, since some are read in every step. `put`, `renew`
    and `clear` may be called from any thread.
    """

    __slots__ = ("__weakref__", "_changing", "dropped", "limit", "name", "puts")

    def __init__(self, name: str, limit: int) -> None:
        super().__init__()
        self.name, self.limit = name, limit
        self.puts = self.dropped = 0
        self._changing = threading.RLock()
        with _lock:
            _caches.add(self)

    # The registry is a set of caches, two of which are never the same, whatever they hold.
    __hash__ = object.__hash__  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return self is other

    def put(self, key: K, value: V) -> V:
        """Keeps the value, unless another thread has put one for this key: the value that is kept."""
        old = None  # an entry is destroyed after the lock is given back, since that may run any code
        with self._changing:
            kept = self.setdefault(key, value)
            if kept is value:
                self.puts += 1
            if len(self) > self.limit:
                old = self.pop(next(iter(self)))
                self.dropped += 1
        del old
        return kept

    def renew(self, key: K) -> V | None:
        """The value of the key, which now counts as the newest; None if there is none."""
        with self._changing:
            if key not in self:
                return None
            value = self[key] = self.pop(key)
            return value

    def remove(self, unwanted: Callable[[V], bool]) -> None:
        """Forgets the values of which `unwanted` is true."""
        with self._changing:
            old = [self.pop(key) for key, value in list(self.items()) if unwanted(value)]
        del old

    def clear(self) -> None:
        """Forgets all values."""
        with self._changing:
            old = list(self.values())
            super().clear()
        del old


_caches: weakref.WeakSet[Cache[Any, Any]] = weakref.WeakSet()


def remembered(name: str, limit: int) -> Callable[[F], F]:
    """A decorator for a function of hashable arguments: its latest `limit` results are kept (`functools.lru_cache`)."""

    def decorate(function: F) -> F:
        wrapped: Any = functools.lru_cache(maxsize=limit)(function)
        with _lock:
            _functions[wrapped] = name
        kept: F = wrapped
        return kept

    return decorate


def forget_results(function: Callable[..., object]) -> None:
    """Empties the cache of a `remembered` function."""
    cast("functools._lru_cache_wrapper[object]", function).cache_clear()


class CacheInfo(NamedTuple):
    """All caches of one name together.

    `caches`: how many there are. `entries`: how many values they hold. `limit`: how many they may hold.
    `misses`: how many values were computed. `hits`: how many were found; None where they are not counted.
    """

    name: str
    caches: int
    entries: int
    limit: int
    misses: int
    hits: int | None


class Caches(tuple[CacheInfo, ...]):
    """The caches of a process by name; printed as a table."""

    __slots__ = ()

    def __repr__(self) -> str:
        rows = [CacheInfo._fields, *((*map(str, i[:-1]), "" if i.hits is None else str(i.hits)) for i in self)]
        widths = [max(len(row[c]) for row in rows) for c in range(len(CacheInfo._fields))]
        lines = ([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])] for row in rows)
        return "\n".join("  ".join(line).rstrip() for line in lines)


def list_caches() -> Caches:
    """What this process keeps in memory to be quick, by name: compiled steps, programs, results of functions.

    Compiled kernels on disk are not among them; see `TFNB_CACHE_DIR`.
    """
    objects, functions = _registered()
    found = [CacheInfo(c.name, 1, len(c), c.limit, c.puts, None) for c in objects]
    for function, name in functions:
        hits, misses, limit, size = function.cache_info()
        found.append(CacheInfo(name, 1, size, limit, misses, hits))
    by_name: dict[str, CacheInfo] = {}
    for info in found:
        known = by_name.get(info.name)
        by_name[info.name] = info if known is None else _sum(known, info)
    return Caches(by_name[name] for name in sorted(by_name))


def clear_caches() -> None:
    """Empties every cache of `list_caches()`, in all sessions: the next step of each is compiled again.

    What runs is not disturbed. Compiled kernels stay on disk.
    """
    objects, functions = _registered()
    for cache in objects:
        cache.clear()
    for function, _ in functions:
        cast("functools._lru_cache_wrapper[object]", function).cache_clear()


def _registered() -> tuple[list[Cache[Any, Any]], list[tuple[Any, str]]]:
    with _lock:
        return list(_caches), list(_functions.items())


def _sum(a: CacheInfo, b: CacheInfo) -> CacheInfo:
    hits = None if a.hits is None or b.hits is None else a.hits + b.hits
    return CacheInfo(a.name, a.caches + b.caches, a.entries + b.entries, a.limit + b.limit, a.misses + b.misses, hits)
