"""Variables by container and name, random states."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import numpy as np

from tfnb.devices.null import NullDevice
from tfnb.runtime.resources import RandomStates, ResourceManager, reset_shared


def node(name, **attrs):
    return SimpleNamespace(name=name, attrs=SimpleNamespace(**attrs))


def test_a_variable_is_found_by_container_and_name():
    r = ResourceManager()
    a = r.variable(node("a", container="", shared_name=""))
    assert r.variable(node("a", container="", shared_name="")) is a
    assert r.variable(node("b", container="", shared_name="a")) is a
    assert r.variable(node("a", container="c", shared_name="")) is not a
    assert r.variable(node("b", container="", shared_name="")) is not a


def test_reset_empties_the_containers_it_names():
    r, device = ResourceManager(), NullDevice("/device:CPU:0")
    cells = {where: r.cell(where, "v") for where in ("", "x", "y")}
    for cell in cells.values():
        cell.tensor = device.from_numpy(np.ones(2))
    queue, own = r.get("x", "queue", list), r.get("", "queue", list)
    assert ResourceManager().get("x", "queue", list) is queue  # a named container is the process's
    assert ResourceManager().get("", "queue", list) is not own
    assert set(r.variables()) == {("", "v"), ("x", "v"), ("y", "v")}
    r.reset(["x"])
    assert set(r.variables()) == {("", "v"), ("y", "v")}
    assert r.cell("x", "v") is cells["x"]
    assert r.get("x", "queue", list) is queue
    reset_shared(["y"])
    assert r.get("x", "queue", list) is queue
    reset_shared(["x"])
    assert r.find("x", "queue") is None and r.find("", "queue") is own
    r.reset()
    assert r.variables() == {}
    assert r.others() == []


def test_resources_are_made_once():
    r, made = ResourceManager(), []
    threads = [threading.Thread(target=lambda: r.get("", "q", lambda: made.append(1) or object())) for _ in range(16)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert made == [1]


def test_random_states_count_calls_per_node():
    states = RandomStates()
    a, b = node("a", seed=1, seed2=2), node("b", seed=1, seed2=3)
    assert states.next(a).tolist() == [1, 2, 0, 0]
    assert states.table((a, b)).tolist() == [[1, 2, 1, 0], [1, 3, 0, 0]]
    assert states.table((a, b)).dtype == np.uint32
    assert states.table(()).shape == (0, 4)
    states.reset()
    assert states.next(a).tolist() == [1, 2, 0, 0]


def test_large_and_negative_seeds_are_words():
    states = RandomStates()
    assert states.next(node("a", seed=2**40 + 5, seed2=-1)).tolist() == [5, 2**32 - 1, 0, 0]


def test_unseeded_nodes_get_keys_of_their_own_per_session():
    n = [node(name, seed=0, seed2=0) for name in "abcdefgh"]
    one, other = RandomStates(), RandomStates()
    keys = {tuple(row[:2]) for s in (one, other) for row in s.table(n).tolist()}
    assert len(keys) == 16
    assert one.next(n[0])[2] == 1


def test_calls_from_threads_are_all_different():
    states, a, seen = RandomStates(), node("a", seed=3, seed2=0), []
    threads = [
        threading.Thread(target=lambda: seen.extend(int(states.next(a)[2]) for _ in range(50))) for _ in range(8)
    ]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert sorted(seen) == list(range(400))
