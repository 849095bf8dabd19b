"""Real Dask workers, and real servers in processes of their own."""

import contextlib
import time

import pytest
from distributed import Client
from preloaded import ServerProcess, local_cluster

import tfnb as tf
from tfnb.errors import UnavailableError
from tfnb.train.testing_tools import free_ports


@pytest.fixture(scope="session")
def dask():
    """A client of a Dask cluster with four workers, one process each."""
    cluster = local_cluster(4)
    try:
        with Client(cluster) as client:
            yield client
    finally:
        # Dask may hear of a worker's end that it does not know of, when some were killed and paused; it says so in the
        # last step of closing, when all processes and connections are gone.
        with contextlib.suppress(KeyError):
            cluster.close()


@pytest.fixture(autouse=True)
def no_event_files():
    """The hooks' event files, each with a thread, are kept for the process, as in TensorFlow."""
    yield
    tf.summary.FileWriterCache.clear()


@pytest.fixture
def addresses():
    """addresses(n) -> "localhost:port" of n ports that are free."""
    return lambda n: [f"localhost:{port}" for port in free_ports(n)]


@pytest.fixture
def serve():
    """serve(cluster, job, number) -> a process that hosts this task; with wait=True it does so already."""
    started = []

    def begin(cluster, job, number, wait=False):
        process = ServerProcess(cluster, job, number)
        started.append(process)
        end = time.monotonic() + 60
        while wait and not connects(cluster[job][number]):
            assert process.poll() is None and time.monotonic() < end
            time.sleep(0.05)
        return process

    def connects(address):
        try:
            tf.Session(f"grpc://{address}").close()
        except UnavailableError:
            return False
        return True

    yield begin
    for process in started:
        process.kill()
        process.wait()


@pytest.fixture(autouse=True)
def graph():
    """Each test builds into a graph of its own."""
    with tf.Graph().as_default():
        yield
