"""Benchmarks, stand-ins and comparisons of graphs of `tf.test`."""

from __future__ import annotations

import socket
import types

import pytest

import tfnb as tf
from tfnb.train import testing_tools


def test_a_benchmark_reports_times(capsys):
    with tf.Graph().as_default(), tf.Session(config=tf.test.benchmark_config()) as sess:
        x = tf.placeholder(tf.float32, [])
        report = tf.test.Benchmark().run_op_benchmark(sess, x + 1.0, {x: 1.0}, min_iters=3, name="add", mbs=2)
    assert report["iters"] == 3 and report["wall_time"] > 0
    assert report["throughput"] == pytest.approx(2 / report["wall_time"])
    assert capsys.readouterr().out.startswith("name: add iters: 3")


def test_free_ports_are_not_those_of_outgoing_connections(monkeypatch):
    ports = testing_tools.free_ports(20)
    assert len(set(ports)) == 20 and max(ports) < 32768
    monkeypatch.setattr(testing_tools, "_PORTS", ports)
    with socket.create_server(("127.0.0.1", ports[0])), socket.create_server(("127.0.0.1", ports[1])):
        assert set(testing_tools.free_ports(18)) == set(ports[2:])
        with pytest.raises(tf.errors.ResourceExhaustedError, match="19 free ports are needed, and only 18"):
            testing_tools.free_ports(19)


def test_stand_ins_are_undone():
    class Base:
        @staticmethod
        def answer():
            return 42

    class Derived(Base):
        pass

    module = types.SimpleNamespace(value=1)
    with tf.test.StubOutForTesting() as stubs:
        stubs.Set(module, "value", 2)
        stubs.SmartSet(Derived, "answer", staticmethod(lambda: 0))
        assert (module.value, Base.answer()) == (2, 0)
        with pytest.raises(AttributeError):
            stubs.Set(module, "nothing", 3)
    assert (module.value, Base.answer(), "answer" in vars(Derived)) == (1, 42, False)


def graph(value, order=1):
    with tf.Graph().as_default() as g:
        for name in ("a", "b")[::order]:
            tf.constant(value, name=name)
        return g.as_graph_def()


def test_equal_graphs():
    tf.test.assert_equal_graph_def(graph(1), graph(1, -1))
    with pytest.raises(AssertionError, match="node a differs"):
        tf.test.assert_equal_graph_def(graph(1), graph(2))
    with pytest.raises(AssertionError, match=r"missing nodes: \['a', 'b'\]"):
        tf.test.assert_equal_graph_def(tf.GraphDef(), graph(2))
    with pytest.raises(TypeError):
        tf.test.assert_equal_graph_def(1, graph(2))


def test_what_the_build_has():
    assert tf.test.is_built_with_gpu_support() and not tf.test.is_built_with_rocm()
    assert tf.version.GRAPH_DEF_VERSION == tf.get_default_graph().as_graph_def().versions.producer
    assert tf.qint8 in tf.QUANTIZED_DTYPES and tf.int8 not in tf.dtypes.QUANTIZED_DTYPES
