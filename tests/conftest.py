"""What holds for all tests: how hypothesis searches, where sessions run, and that Ctrl-C means what it does for a user."""

import gc
import os
import signal
import sys
from collections import Counter
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent / "support"))

from interpreting import Interpreting
from overwriting import overwriting
from scheduler import ByFolder
from targets import Target

# Machines differ and are shared, so no example fails for being slow; a failure in continuous
# integration comes back with the same examples on a developer's machine.
settings.register_profile("tfnb", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.register_profile("ci", settings.get_profile("tfnb"), derandomize=True)
os.environ.setdefault("TFNB_VERIFY", "1")  # graphs are verified after every stage of compiling a step
os.environ.setdefault("TFNB_PREPARE", "0")  # the kernels of the tests' notebooks would all compile the same beside them
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "tfnb"))


TARGET = pytest.StashKey[Target]()
INTERPRETING = Interpreting()


def pytest_xdist_make_scheduler(config, log):
    return ByFolder(config)


def pytest_addoption(parser):
    parser.addoption("--target", default="", help="where sessions run that do not say it: devices:N or tasks:N")
    parser.addoption(
        "--results", default="", help="a folder for what steps return on one device; see tests/support/targets.py"
    )
    parser.addoption(
        "--overwrite", action="store_true", help="overwrite what was fed and fetched; see tests/support/overwriting.py"
    )


def pytest_configure(config):
    config.stash[TARGET] = Target(config.getoption("--target"), config.getoption("--results"))


def pytest_collection_modifyitems(config, items):
    if not config.stash[TARGET].is_tasks:
        return
    for item in items:
        for mark in item.iter_markers("one_process"):
            item.add_marker(pytest.mark.skip(reason=f"in one process only: {mark.args[0]}"))


@pytest.fixture
def rng():
    """Random numbers of the test's own: those of a generator that tests share depend on which tests ran before."""
    return np.random.default_rng(0)


@pytest.fixture(autouse=True)
def global_generator():
    """What a test draws from NumPy's global generator depends on the test alone, too."""
    np.random.seed(0)


@pytest.fixture(autouse=True)
def collector_as_it_was():
    """A library that a test calls, as mypy does, may change when Python looks for garbage; tests that follow count."""
    thresholds = gc.get_threshold()
    yield
    after = gc.get_threshold()
    gc.set_threshold(*thresholds)
    assert after == thresholds


@pytest.fixture(autouse=True)
def library_as_it_was():
    """Operations that a test registers, as a program does, are forgotten after it: others look at the library's alone."""
    yield
    registering = sys.modules.get("tfnb.client.graph.register_op")
    if registering is not None:
        for name in registering._mine - _at_import:
            registering.CATALOG._ops.pop(name, None)
            registering._mine.discard(name)


_at_import: set[str] = set()  # the operations that modules of tests register while they are collected


def pytest_collection_finish(session):
    registering = sys.modules.get("tfnb.client.graph.register_op")
    if registering is not None:
        _at_import.update(registering._mine)


@pytest.fixture(scope="session", autouse=True)
def target(pytestconfig):
    """Sessions run where `--target` says."""
    end = pytestconfig.stash[TARGET].install()
    yield
    end()


@pytest.fixture(scope="session", autouse=True)
def owners(pytestconfig):
    """With `--overwrite`, what passes between tests and tfnb changes afterwards."""
    with overwriting() if pytestconfig.getoption("--overwrite") else nullcontext():
        yield


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    INTERPRETING.begin(item)
    results = item.config.stash[TARGET].results
    if results is not None:
        results.begin()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    results = item.config.stash[TARGET].results
    if results is not None:
        results.has_folder(item.funcargs.get("tmp_path"))
    found = yield
    if results is not None:
        excepted = item.get_closest_marker("not_compared")
        found_out = ("compared", results.end(item.nodeid)) if excepted is None else ("not compared", excepted.args[0])
        item.user_properties.append(found_out)
    return found


def pytest_terminal_summary(terminalreporter, config):
    results = config.stash[TARGET].results
    if results is None or not results.compares:
        return
    passed = [report for report in terminalreporter.getreports("passed") if report.when == "call"]
    told = [pair for report in passed for pair in report.user_properties]
    pairs = [found for name, found in told if name == "compared"]
    steps, apart, idle = sum(s for s, _ in pairs), sum(a for _, a in pairs), sum(not s for s, _ in pairs)
    write = terminalreporter.write_line
    write(
        f"COMPARED {len(pairs) - idle} tests by {steps} steps, {apart} of them on several devices; {idle} have no step"
    )
    for reason, count in Counter(found for name, found in told if name == "not compared").items():
        write(f"NOT COMPARED [{count}] {reason}")


@pytest.fixture(scope="session", autouse=True)
def interrupts():
    """A shell's background job is started with interrupts ignored; tests of Ctrl-C need them."""
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before if before is not None else signal.SIG_DFL)


@pytest.fixture
def no_collector():
    """The collector of garbage rests: Ctrl-C during a callback of it, such as that of hypothesis, would be lost."""
    gc.disable()
    yield
    gc.enable()
