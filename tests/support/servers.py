"""Servers of the tests: processes of their own, which end with the tests."""

import contextlib
import os
import signal
import subprocess
import time
import urllib.request

from tfnb.train.testing_tools import free_ports

TOKEN = "tests-only"
STATUS = f"api/status?token={TOKEN}"  # what a Jupyter server says when it has started


def free_port():
    return free_ports(1)[0]


def start(command, log, **how):
    """Starts a server, which leads a group with its kernels, to end them together; what it says goes to a file."""
    with log.open("w") as said:
        return subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT, start_new_session=True, **how)


def wait_for(page, process, log, wanted=b"", seconds=90):
    """Waits until a server's page has what is wanted; if that does not come, what it said is in the error."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and process.poll() is None:
        with contextlib.suppress(OSError), urllib.request.urlopen(page, timeout=5) as answer:
            if wanted in answer.read():
                return
        time.sleep(0.1)
    raise RuntimeError(f"no {wanted!r} at {page}:\n{log.read_text()}")


def end_group(process):
    """Ends the server, and whatever of its group is left."""
    process.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(15)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(5)
