"""A trial of Dask on this machine: a scheduler, a worker and a client on loopback, and a task that goes round.

The comm is that of clusters that ask for a secret. Invariant: nothing stays: the folder of the worker is a temporary
one, and the secret is made for the trial, so that the user's is neither read nor made.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import tempfile
import time
from collections.abc import Iterator

import dask
import distributed
from distributed import Client, LocalCluster

from tfnb.session.dask.transport.comm import SECRET, offer_schemes

__all__ = ["VERSION", "round_trip"]

VERSION: str = distributed.__version__
_VARIABLE = "TFNB_CLUSTER_SECRET"


def round_trip(timeout: float = 30.0) -> float:
    """Sends numbers to a worker, which returns their sum; returns the seconds that this took once all were connected.

    Raises `RuntimeError` for another sum, `TimeoutError`, and what Dask raises.
    """
    offer_schemes()
    with contextlib.ExitStack() as open_ones:
        open_ones.enter_context(_secret())
        folder = open_ones.enter_context(tempfile.TemporaryDirectory(prefix="tfnb-doctor-", ignore_cleanup_errors=True))
        open_ones.enter_context(dask.config.set({"distributed.comm.timeouts.connect": timeout}))
        cluster = open_ones.enter_context(
            LocalCluster(
                n_workers=1,
                threads_per_worker=1,
                processes=False,
                protocol=SECRET,
                host="127.0.0.1",
                dashboard_address=None,
                local_directory=folder,
            )
        )
        client = open_ones.enter_context(Client(cluster, timeout=timeout))
        start = time.perf_counter()
        found = client.submit(sum, range(1000)).result(timeout=timeout)
        seconds = time.perf_counter() - start
    if found != 499_500:
        raise RuntimeError(f"a worker added the numbers below 1000 to {found!r}")
    return seconds


@contextlib.contextmanager
def _secret() -> Iterator[None]:
    """A context in which clusters have a secret of their own."""
    former = os.environ.get(_VARIABLE)
    os.environ[_VARIABLE] = secrets.token_hex()
    try:
        yield
    finally:
        if former is None:
            del os.environ[_VARIABLE]
        else:
            os.environ[_VARIABLE] = former
