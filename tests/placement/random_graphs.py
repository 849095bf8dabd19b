"""Random graphs of all that a partition must cut: several outputs, control edges, state, branches, nested loops.

`TFNB_OPTIMIZE=0 python tests/placement/random_graphs.py FIRST COUNT` runs that many, each dealt out to 2 to 4 devices.
"""

from __future__ import annotations

import random
import sys
from typing import Any

import tfnb as tf
from tfnb.ir.opdef import Kind
from tfnb.ir.step_graph.graph import Edge, Graph
from tfnb.ir.step_graph.verify import verify

SHAPE = [4]


class Build:
    """Whole numbers, so that results are equal to the bit whatever is fused with what."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.last: Any = None  # of what touches state: it stays in order

    def graph(self) -> tuple[tf.Graph, list[Any], Any]:
        """(graph, fetches, initializer)."""
        rng = self.rng
        with tf.Graph().as_default() as graph:
            self.state = [tf.Variable([k, 2, -k, 1], name=f"v{k}", dtype=tf.int32) for k in range(2)]
            start = tf.placeholder_with_default(tf.constant([1, -2, 3, 5]), SHAPE)
            found = self.values([start, tf.constant([2, 0, -1, 4])], rng.randint(4, 9), 2)
            ends = [rng.choice(found) for _ in range(3)]  # one may be fetched twice
            return (
                graph,
                [*ends, found[-1], *([self.last] if self.last is not None else [])],
                tf.group(*(v.initializer for v in self.state)),
            )

    def values(self, known: list[Any], n: int, depth: int, state: bool = True) -> list[Any]:
        found = list(known)
        kinds = ["sum", "sum", "split", "wait", *(["branch", "loop", "loop"] if depth else [])]
        for _ in range(n):
            kind = self.rng.choice([*kinds, *(["write", "write"] if state else [])])
            found.extend(getattr(self, kind)(found, depth))
        return found

    def sum(self, known: list[Any], _: int) -> list[Any]:
        x, y = self.rng.choice(known), self.rng.choice(known)
        return [tf.floormod(x * self.rng.randint(-3, 3) + y, 1009)]

    def split(self, known: list[Any], _: int) -> list[Any]:
        a, b = tf.split(self.rng.choice(known), 2)
        return [tf.concat(self.rng.choice([[a, b], [b, a], [a, a], [b, a + b]]), 0)]

    def wait(self, known: list[Any], _: int) -> list[Any]:
        with tf.control_dependencies([self.rng.choice(known), self.rng.choice(known)]):
            return [tf.identity(self.rng.choice(known)), tf.constant([7, 7, 7, self.rng.randint(0, 9)]) + 0]

    def write(self, known: list[Any], _: int) -> list[Any]:
        before = [] if self.last is None else [self.last]
        v = self.rng.choice(self.state)
        with tf.control_dependencies(before):
            written = tf.assign_add(v, self.rng.choice(known))
        with tf.control_dependencies([written]):
            self.last = tf.identity(self.rng.choice(self.state).read_value())
        return [self.last]

    def branch(self, known: list[Any], depth: int) -> list[Any]:
        test = tf.reduce_sum(self.rng.choice(known)) > self.rng.choice([-3, 0, 3, 10**6])
        before = self.rng.sample(known, min(len(known), 2))
        made = [self.rng.randrange(10**6) for _ in range(2)]

        def side(k: int) -> Any:
            return lambda: Build(made[k]).values(list(before), 3, depth - 1, state=False)[-1]

        return [tf.cond(test, side(0), side(1))]

    def loop(self, known: list[Any], depth: int) -> list[Any]:
        outside = self.rng.sample(known, min(len(known), 2))  # what does not change
        made, rounds = self.rng.randrange(10**6), self.rng.randint(0, 4)

        def body(i: Any, x: Any, y: Any) -> list[Any]:
            found = Build(made).values([x, y, *outside], 3, depth - 1, state=False)
            return [i + 1, found[-1], found[-2] + i]

        start = [tf.constant(0), self.rng.choice(known), self.rng.choice(known)]
        return list(
            tf.while_loop(lambda i, *_: i < rounds, body, start, parallel_iterations=self.rng.choice([1, 10]))[1:]
        )


def check_parts(parts: list[Graph]) -> int:
    """Do the partitions of a step fit together? Gives the number of tensors that cross.

    Each Recv has one Send, no tensor comes twice to a device, and both ends are in the same frame.
    """
    sends: dict[Any, Any] = {}
    recvs: dict[Any, Any] = {}
    sources: set[Any] = set()
    for part in parts:
        verify(part)
        [device] = {n.device for n in part.nodes.values()}
        frames = part.frames
        for node in part.nodes.values():
            if node.opdef.kind not in (Kind.SEND, Kind.RECV):
                continue
            a = node.attrs
            is_send = node.opdef.kind is Kind.SEND
            table, own, other = (
                (sends, a.send_device, a.recv_device) if is_send else (recvs, a.recv_device, a.send_device)
            )
            key = a.tensor_name, a.send_device, a.recv_device
            assert key not in table, f"{node.type} of {key} twice"
            assert own == device != other
            e = node.inputs[0] if is_send else Edge(node.id, 0)
            spec = part.spec(e)
            table[key] = frames.inside[node.id], spec.dtype, spec.shape
            if is_send:
                source = e if not a.tensor_name.startswith("^") else part.nodes[e.id].control
                assert (source, a.recv_device) not in sources, f"{source} goes to {a.recv_device} twice"
                sources.add((source, a.recv_device))
    assert sends == recvs
    return len(sends)


def run(graph: Any, fetches: Any, init: Any, config: Any = None, policy: Any = None) -> tuple[list[Any], list[Graph]]:
    """What two steps give, and the partitions of the first. `policy` places the nodes, if given."""
    with tf.Session(graph=graph, config=config) as s:
        if policy is not None:
            s.compile_context.placing.policy = policy
        s.run(init)
        metadata = tf.RunMetadata()
        found = [*s.run(fetches, run_metadata=metadata), *s.run(fetches)]
    return found, [g for name, g in metadata.passes if name == "partition"]


def assert_equal(found: list[Any], wanted: list[Any]) -> None:
    for a, b in zip(found, wanted, strict=True):
        assert a.dtype == b.dtype and a.tolist() == b.tolist()


def check(program: int, seed: int, n: int) -> int:
    """A graph on one device and dealt out to `n`; gives the number of tensors that cross."""
    graph, fetches, init = Build(program).graph()
    wanted, _ = run(graph, fetches, init, tf.ConfigProto(device_count={"CPU": 1}))
    options = tf.GraphOptions(placement=f"random:{seed}")
    found, parts = run(graph, fetches, init, tf.ConfigProto(device_count={"CPU": n}, graph_options=options))
    assert_equal(found, wanted)
    return check_parts(parts)


def main(first: int, count: int) -> None:
    crossed = [check(k, k, 2 + k % 3) for k in range(first, first + count)]
    sys.stdout.write(f"{count} graphs, {sum(crossed)} tensors crossed, {sum(map(bool, crossed))} graphs were cut\n")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
