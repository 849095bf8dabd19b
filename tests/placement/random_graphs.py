"""The random programs of `random_programs`, cut into partitions: what must hold for them, and what they give.

`TFNB_OPTIMIZE=0 python tests/placement/random_graphs.py FIRST COUNT` runs that many, each dealt out to 2 to 4 devices.
"""

from __future__ import annotations

import sys
from typing import Any

from random_programs import Build

import tfnb as tf
from tfnb.ir.opdef import Kind
from tfnb.ir.step_graph.graph import Edge, Graph
from tfnb.ir.step_graph.verify import verify


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
