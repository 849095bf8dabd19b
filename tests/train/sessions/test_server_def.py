"""Clusters and servers as messages: ClusterDef and ServerDef."""

import pytest

import tfnb as tf


def test_a_cluster_as_a_message():
    cluster = tf.train.ClusterSpec({"ps": ["ps0:1", "ps1:1"], "worker": {0: "w0:1", 3: "w3:1"}})
    message = cluster.as_cluster_def()
    assert [(job.name, dict(job.tasks)) for job in message.job] == [
        ("ps", {0: "ps0:1", 1: "ps1:1"}),
        ("worker", {0: "w0:1", 3: "w3:1"}),
    ]
    assert tf.train.ClusterSpec(message) == cluster
    device = tf.train.replica_device_setter(cluster=message)
    with tf.Graph().as_default(), tf.device(device):
        assert [tf.Variable(1.0).device for _ in range(3)] == ["/job:ps/task:0", "/job:ps/task:1", "/job:ps/task:0"]
    with pytest.raises(ValueError, match="has the jobs"):
        cluster.num_tasks("unknown")


def test_a_server_is_described_by_a_message():
    config = tf.ConfigProto(gpu_options=tf.GPUOptions(per_process_gpu_memory_fraction=0.1))
    cluster = tf.train.ClusterSpec({"local": ["localhost:0"]}).as_cluster_def()
    given = tf.train.ServerDef(cluster=cluster, job_name="local", task_index=0, protocol="grpc")
    made = tf.train.Server(given, config=config, start=False).server_def
    assert (made.cluster, made.job_name, made.task_index, made.protocol) == (cluster, "local", 0, "grpc")
    assert made.default_session_config.gpu_options.per_process_gpu_memory_fraction == 0.1
    assert tf.train.ServerDef.FromString(made.SerializeToString()) == made
