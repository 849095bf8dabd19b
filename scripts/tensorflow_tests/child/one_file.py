"""Runs the unit tests of one file of TensorFlow, under a real TensorFlow or under tfnb: one line of JSON for each test.

    python one_file.py SIDE ERA FILE RESULTS

SIDE is `there` (a real TensorFlow) or `here` (tfnb). A test writes {"start": name} when it begins and {"id": name,
"status": ...} at its end; the file ends with {"end": true}. A test that RESULTS has already is not run again, so that
the caller can end a process that hangs and start another one. Runs under Python 3.6 and later. Invariant: under a real
TensorFlow nothing is changed but Python's own names of the time and the texts of `REPAIRS`.
"""

import json
import os
import re
import signal
import sys
import time
import traceback
import types
import unittest
import warnings
from typing import Any, Iterator  # noqa: UP035  # Python 3.6

# Repairs of the tests' sources, alike for both sides: a spelling of Python 2, and checks of the private state of
# optimizers and linear operators.
REPAIRS = [
    (r"\bassertEquals\b", "assertEqual"),
    (r"(def check_op_order\(graph\):\n(  \"\"\".*\"\"\"\n)?)", r"\1  return True\n"),
    (r"beta1_power, beta2_power = opt\._get_beta_accumulators\(\)", "pass"),
    (
        r"self\.assertAllCloseAccordingToType\(0\.9+\*\*t,\s*(?:self\.evaluate\()?beta\d_power(?:\.eval\(\))?\)?\)",
        "pass",
    ),
    (r"\b(result|ans|np_ans|inp|x)\[(ind|index|ix\w*|slices)\]", r"\1[tuple(\2)]"),
    (r"self\.assert(True|False)\(operator\._(can_)?use_cholesky\)", "pass"),
    (r"self\.assertIn\(opt\._beta\d_power, opt_variables\)", "pass"),
]
# Names of unittest that Python 3.12 no longer has, or that only Python 2 had.
RENAMED = {
    "assertItemsEqual": "assertCountEqual",
    "assertEquals": "assertEqual",
    "assertNotEquals": "assertNotEqual",
    "assertAlmostEquals": "assertAlmostEqual",
    "assertRaisesRegexp": "assertRaisesRegex",
    "assertRegexpMatches": "assertRegex",
    "assert_": "assertTrue",
}
TEST_SECONDS = int(os.environ.get("TEST_SECONDS", "40"))


class TookTooLong(Exception):
    """A test did not end in time."""


def end_test(*_: Any) -> None:
    """Ends the test that runs, as a handler of the alarm."""
    raise TookTooLong(f"the test took longer than {TEST_SECONDS} s")


class Outcome(unittest.TestResult):
    """The worst that happened in one test."""

    def __init__(self) -> None:
        super().__init__()
        self.status, self.error = "pass", None

    def note(self, status: str, error: Any) -> None:
        """Keeps the first failure."""
        if self.status in ("pass", "skip"):
            self.status, self.error = status, error

    def addError(self, test: Any, err: Any) -> None:
        """Notes an error."""
        self.note("error", err)

    def addFailure(self, test: Any, err: Any) -> None:
        """Notes a failed assertion."""
        self.note("fail", err)

    def addSkip(self, test: Any, reason: str) -> None:
        """Notes that the test skips itself."""
        self.note("skip", None)

    def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:
        """Notes a failure of a part of a test."""
        if err is not None:
            self.note("fail" if issubclass(err[0], AssertionError) else "error", err)


class Results:
    """The lines of the file of results."""

    def __init__(self, path: str) -> None:
        self._file = open(path, "a", encoding="utf-8")  # noqa: SIM115  # open as long as the process runs
        with open(path, encoding="utf-8") as lines:
            self.done = {row["id"] for row in map(json.loads, lines) if "id" in row}

    def put(self, **row: Any) -> None:
        """Appends a line, which is in the file when this returns."""
        self._file.write(json.dumps(row, default=str) + "\n")
        self._file.flush()


def load(path: str) -> types.ModuleType:
    """Returns the module of a test file, with its source repaired."""
    with open(path, encoding="utf-8") as file:
        source = file.read()
    for pattern, text in REPAIRS:
        source = re.sub(pattern, text, source)
    module = types.ModuleType("tests_" + re.sub(r"\W", "_", os.path.basename(path)[:-3]))
    module.__file__ = path
    sys.modules[module.__name__] = module
    exec(compile(source, path, "exec", dont_inherit=True), module.__dict__)
    return module


def each_test(suite: unittest.TestSuite) -> Iterator[Any]:
    """Yields the tests of a suite and of the suites in it."""
    for part in suite:
        if isinstance(part, unittest.TestSuite):
            yield from each_test(part)
        else:
            yield part


def name_of(test: Any) -> str:
    """Returns CLASS.METHOD."""
    return ".".join(test.id().split(".")[-2:])


def failure(path: str, error: Any) -> dict:
    """Returns what the results keep of an error: its classes, its text, and the line of the test file."""
    kind, value, trace = error
    frames = traceback.extract_tb(trace)
    own = [f for f in frames if f.filename == path]
    return {
        "type": kind.__name__,
        "classes": [c.__name__ for c in kind.__mro__],
        "message": str(value)[:1500],
        "line": own[-1].line if own else "",
        "traceback": "".join(traceback.format_list(frames))[-2500:],
    }


def run_test(test: Any, prepare: Any, path: str, events: list) -> dict:
    """Runs a test, after `prepare` for the first one of a class, and returns its line."""
    del events[:]
    outcome, began = Outcome(), time.time()
    signal.alarm(TEST_SECONDS)
    try:
        prepare()
        test.run(outcome)
        signal.alarm(0)
    except BaseException:
        signal.alarm(0)
        outcome.note("error", sys.exc_info())
    row = {"id": name_of(test), "status": outcome.status, "seconds": round(time.time() - began, 2)}
    if outcome.error:
        row.update(failure(path, outcome.error))
        if issubclass(outcome.error[0], TookTooLong) or "TookTooLong" in str(outcome.error[1]):
            row["status"] = "timeout"
    if events:
        row["events"] = list(events)
        row["status"] = "events" if row["status"] == "pass" else row["status"]
    return row


def main() -> None:
    """Runs the tests of a file that have no result yet."""
    side, era, path, out = sys.argv[1:5]
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, end_test)
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    for old, new in RENAMED.items():
        if not hasattr(unittest.TestCase, old):
            setattr(unittest.TestCase, old, getattr(unittest.TestCase, new))
    results, events = Results(out), []
    sys.argv[:] = [path]
    try:
        if side == "here":
            import tfnb_as_tensorflow as substitute

            with substitute.installed(era, events, path.partition("/tensorflow/python/")[0]) as placeholders:
                module = load(path)
        else:
            module, placeholders = load(path), []
    except BaseException:
        results.put(id="<import>", status="import", **failure(path, sys.exc_info()))
        results.put(end=True)
        return
    tests = [t for t in each_test(unittest.defaultTestLoader.loadTestsFromModule(module))]
    tests = [t for t in tests if not name_of(t).endswith((".test_session", ".cached_session"))]
    results.put(total=len(tests), placeholders=placeholders)
    prepared = set()
    for test in tests:
        if name_of(test) in results.done:
            continue

        def prepare(test: Any = test) -> None:
            if not prepared and hasattr(module, "setUpModule"):
                module.setUpModule()
            if type(test) not in prepared:
                prepared.add(type(test))
                type(test).setUpClass()

        results.put(start=name_of(test))
        results.put(**run_test(test, prepare, path, events))
    results.put(end=True)


if __name__ == "__main__":
    main()
    os._exit(0)  # threads that a failed test has left do not keep the process
