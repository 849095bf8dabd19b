"""ClusterSpec's views of a cluster, and where replica_device_setter puts operations."""

import pytest

import tfnb as tf
from tfnb.errors import DTypeError, InvalidArgumentError, NotFoundError

SPEC = {"worker": ["a:1", "b:1"], "ps": {0: "c:1", 2: "d:1"}}


def test_views():
    spec = tf.train.ClusterSpec(SPEC)
    assert spec.jobs == ["ps", "worker"]
    assert spec.as_dict() == {"ps": {0: "c:1", 2: "d:1"}, "worker": ["a:1", "b:1"]}
    assert spec.num_tasks("ps") == 2
    assert spec.task_indices("ps") == [0, 2]
    assert spec.task_address("ps", 2) == "d:1"
    assert spec.job_tasks("ps") == ["c:1", None, "d:1"]
    assert spec == tf.train.ClusterSpec(spec)
    assert spec != tf.train.ClusterSpec({})
    assert spec and not tf.train.ClusterSpec({})


@pytest.mark.parametrize(
    ("cluster", "error", "text"),
    [
        (["a:1"], DTypeError, "dict of jobs, got list"),
        ({"ps": "a:1"}, DTypeError, "list of addresses"),
        ({"ps": {"0": "a:1"}}, DTypeError, "got '0': 'a:1'"),
        ({"ps": [1]}, DTypeError, "got 0: 1"),
        ({"ps": ["a:1"], "worker": ["a:1"]}, InvalidArgumentError, r"more than once: \['a:1'\]"),
    ],
)
def test_what_is_no_cluster(cluster, error, text):
    with pytest.raises(error, match=text):
        tf.train.ClusterSpec(cluster)


def test_unknown_tasks():
    spec = tf.train.ClusterSpec(SPEC)
    with pytest.raises(NotFoundError, match="not 'gpu'"):
        spec.num_tasks("gpu")
    with pytest.raises(NotFoundError, match=r"tasks \[0, 2\], not 1"):
        spec.task_address("ps", 1)


def devices(setter, make):
    with tf.Graph().as_default(), tf.device(setter):
        return [op.device for op in make()]


def variables(*sizes):
    return lambda: [tf.get_variable(f"v{i}", [n]).op for i, n in enumerate(sizes)]


def test_variables_in_turn_and_the_rest_on_the_worker():
    setter = tf.train.replica_device_setter(cluster=tf.train.ClusterSpec({"ps": ["a:1", "b:1"], "worker": ["c:1"]}))
    assert devices(setter, variables(1, 2, 3)) == ["/job:ps/task:0", "/job:ps/task:1", "/job:ps/task:0"]
    assert devices(setter, lambda: [tf.constant(1.0).op]) == ["/job:worker"]


def test_the_users_own_devices_count():
    setter = tf.train.replica_device_setter(2, worker_device="/job:worker/task:3/gpu:0")

    def make():
        with tf.device("/cpu:0"):
            found = [tf.constant(1.0).op, tf.get_variable("v", [1]).op]
        with tf.device("/job:ps/task:1"):
            return [*found, tf.get_variable("w", [1]).op]

    assert devices(setter, make) == [
        "/job:worker/task:3/device:CPU:0",
        "/job:ps/task:0/device:CPU:0",
        "/job:ps/task:1",
    ]


def test_by_bytes():
    strategy = tf.contrib.training.GreedyLoadBalancingStrategy(2, tf.contrib.training.byte_size_load_fn)
    setter = tf.train.replica_device_setter(2, ps_strategy=strategy)
    tasks = [d[-1] for d in devices(setter, variables(100, 10, 20, 60, 5))]
    assert tasks == ["0", "1", "1", "1", "1"]


def test_no_servers_no_function():
    assert tf.train.replica_device_setter() is None
    assert tf.train.replica_device_setter(cluster={"worker": ["a:1"]}) is None
    with pytest.raises(DTypeError, match="must be callable"):
        tf.train.replica_device_setter(1, ps_strategy=3)


def test_servers_without_a_job_get_no_task():
    with tf.Graph().as_default(), tf.device(tf.train.replica_device_setter(ps_tasks=1, ps_device="/cpu:0")):
        assert tf.Variable(1.0).device == "/device:CPU:0"


def test_tasks_in_turn():
    """As in programs that hand out the variables of several towers by replica_device_setter's own strategy."""
    strategy = tf.python.training.device_setter._RoundRobinStrategy(3)
    assert [strategy(None) for _ in range(5)] == [0, 1, 2, 0, 1]
