"""Caches: bounded, counted, listed while somebody uses them, and emptied at any time without another result."""

from __future__ import annotations

import ast
import gc
import threading
from pathlib import Path

import numpy as np
import pytest

import tfnb as tf
from tfnb.caches import Cache, clear_caches, list_caches, remembered

ROOT = Path(__file__).resolve().parents[1]


def info(name):
    return {i.name: i for i in list_caches()}[name]


def test_the_oldest_entry_goes_first():
    cache = Cache("of a test", 2)
    for k in "abc":
        cache.put(k, k.upper())
    assert dict(cache) == {"b": "B", "c": "C"}
    assert info("of a test") == ("of a test", 1, 2, 2, 3, 0, 0.0)
    assert cache.renew("b") == "B" and cache.renew("a") is None
    assert cache.find("c") == "C" and cache.find("a") is None and info("of a test").hits == 2
    cache.put("d", "D")
    assert list(cache) == ["b", "d"]
    cache.remove(lambda value: value == "B")
    assert list(cache) == ["d"]


def test_the_value_that_was_first_stays():
    cache = Cache("of a test", 2)
    first, second = [1], [1]
    assert cache.put("a", first) is first and cache.put("a", second) is first


def test_what_is_new_is_stored_once():
    cache = Cache("of a test", 2)
    assert [cache.is_new(key, True) for key in "abab"] == [True, True, False, False]
    assert cache.is_new("c", True) and list(cache) == ["b", "c"] and cache.is_new("a", True)
    assert info("of a test")[2:6] == (2, 2, 4, 2)


def test_a_function_is_remembered_until_the_caches_are_cleared():
    calls = []

    @remembered("squares of a test", 2)
    def square(x):
        calls.append(x)
        return x * x

    assert [square(x) for x in (1, 2, 2, 3, 1)] == [1, 4, 4, 9, 1]
    assert calls == [1, 2, 3, 1] and info("squares of a test") == ("squares of a test", 1, 2, 2, 4, 1, None)
    clear_caches()
    assert info("squares of a test").entries == 0
    assert square(1) == 1 and calls[-1] == 1 and len(calls) == 5


def test_caches_of_one_name_are_cleared_alone():
    calls = []

    @remembered("cubes of a test", 2)
    def cube(x):
        calls.append(x)
        return x**3

    cache, other = Cache("of one name", 2), Cache("of another name", 2)
    for one in (cache, other):
        one.put(1, 1)
    cube(1)
    clear_caches("of one name")
    assert not cache and other and cube(1) == 1 and calls == [1]
    clear_caches("cubes of a test")
    assert other and cube(1) == 1 and calls == [1, 1]
    clear_caches("of no cache")
    assert other


def test_caches_of_one_name_are_one_line_and_go_with_their_owners():
    a, b = Cache("of two", 3), Cache("of two", 3)
    a.put(1, 1)
    b.put(1, 2)
    assert b.find(1) == 2
    with pytest.raises(ValueError), a.timed():
        raise ValueError
    a.add_seconds(2.0)
    assert info("of two")[:6] == ("of two", 2, 2, 6, 2, 1)
    assert 2.0 < info("of two").seconds < 3.0
    table = repr(list_caches()).splitlines()
    assert table[0].split() == ["name", "caches", "entries", "limit", "misses", "hits", "seconds"]
    assert next(line.split()[2:] for line in table if line.startswith("of two ")) == ["2", "2", "6", "2", "1", "2.00"]
    del a, b
    gc.collect()
    assert "of two" not in {i.name for i in list_caches()}


def test_many_threads_stay_within_the_bound():
    cache = Cache("of threads", 8)
    wrong = []

    def work(seed):
        for i in range(3000):
            k = (i * seed) % 23
            if cache.put(k, k) != k or cache.get(k, k) != k:
                wrong.append(k)
            if i % 500 == 0:
                clear_caches()

    threads = [threading.Thread(target=work, args=(s,)) for s in (3, 5, 7, 11)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong and len(cache) <= 8


@pytest.mark.opencl
def test_steps_give_the_same_while_the_caches_are_cleared():
    x = tf.placeholder(tf.float32, [None, 3])
    w = tf.Variable(np.arange(6, dtype=np.float32).reshape(3, 2))
    loop = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * 2.0), [0, tf.matmul(x, w)])[1]
    with tf.Session() as sess:
        sess.run(w.initializer)
        feeds = [np.full((n, 3), n, np.float32) for n in (1, 2, 3)]
        wanted = [sess.run(loop, {x: f}) for f in feeds]
        assert info("compiled steps").entries >= 2 and info("programs of clusters").entries >= 1
        failed = []

        def work():
            try:
                for _ in range(4):
                    for f, want in zip(feeds, wanted, strict=True):
                        np.testing.assert_array_equal(sess.run(loop, {x: f}), want)
            except BaseException as e:
                failed.append(e)

        threads = [threading.Thread(target=work) for _ in range(2)]
        for t in threads:
            t.start()
        while any(t.is_alive() for t in threads):
            clear_caches()
            threads[0].join(0.02)
        assert not failed, failed


def decorators(tree: ast.AST):
    for f in ast.walk(tree):
        if isinstance(f, ast.FunctionDef):
            for d in f.decorator_list:
                yield f, ast.unparse(d.func if isinstance(d, ast.Call) else d).rpartition(".")[2]


def test_results_by_argument_are_remembered_in_the_registry():
    """`functools.cache` is for a value that is made once, which a function without parameters gives."""
    found = []
    for path in sorted((ROOT / "tfnb").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if path.name == "caches.py" or ("lru_cache" not in text and "cache" not in text):
            continue
        tree = ast.parse(text)
        names = {a.name for n in ast.walk(tree) if isinstance(n, ast.ImportFrom | ast.Import) for a in n.names}
        if "lru_cache" in names or "functools.lru_cache" in text:
            found.append(f"{path.name}: lru_cache")
        found += [f"{path.name}: {f.name}" for f, d in decorators(tree) if d == "cache" and f.args.args]
    assert found == []
