"""Runs inside a program's process, with a real TensorFlow or with tfnb, and records what its session runs give.

It is imported by `sitecustomize` before the program, under Python 3.6 and later. Invariant: it changes nothing of what
is recorded, but for initial values: those of the reference are kept in files, which the other run loads by name and
shape.
"""

import atexit
import importlib.abc
import importlib.util
import json
import os
import random
import re
import resource
import sys
import threading
import time
import traceback
from typing import Any, Callable  # noqa: UP035  # Python 3.6

import numpy as np
import stand_ins

HERE = os.path.dirname(os.path.abspath(__file__))
KEPT_RUNS = 60
KEPT_NUMBERS = 64
START = time.time()
# Ops whose values depend on random numbers, which no two implementations share.
RANDOM = re.compile(
    r"Random|Multinomial|TruncatedNormal|ParameterizedTruncated|StatelessRandom|Sampler|Shuffle|RefNextIter"
)
CHANGES = re.compile(r"Assign|Apply|Scatter")
# What fills a queue or gives an iterator its elements; a value that is taken from either depends on it.
FILLS = re.compile(r"Enqueue|MakeIterator|Insert")
LIBRARY = re.compile(r"[/\\](tensorflow|tensorflow_core|tensorflow_estimator|tfnb|contextlib\.py|_pytest)([/\\]|$)")


class Recorder:
    """The record of one program's session runs."""

    def __init__(self, settings: Any) -> None:
        self.settings = settings
        self.runs, self.times, self.own, self.outer, self.depth = [], {}, 0, 0, 0
        self.fresh, self.initial, self.synced = set(), 0, {}
        self.ended, self.error, self.process = "whole", "", os.getpid()

    def finish(self) -> None:
        """Writes the record."""
        record = {
            "runs": self.runs,
            "times": sorted(self.times.items()),
            "own": self.own,
            "outer": self.outer,
            "ended": self.ended,
            "error": self.error,
            "synced": self.synced,
            "seconds": time.time() - START,
        }
        # A process that the program has forked keeps no record, and a thread may end it while another writes one.
        if os.getpid() != self.process:
            return
        scratch = "{}.{}".format(self.settings["record"], threading.get_ident())
        with open(scratch, "w") as file:
            json.dump(record, file)
        os.replace(scratch, self.settings["record"])

    def cut(self) -> None:
        """Ends the program here, when the reference was ended after as many runs or its time is over."""
        own, outer, seconds = (self.settings.get(name) for name in ("own", "outer", "seconds"))
        over = seconds and time.process_time() > seconds
        if over or (own and self.own >= own) or (not own and outer and self.outer >= outer):
            self.ended = "cut"
            self.finish()
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(0)

    def run(self, original: Any, session: Any, arguments: Any, keywords: Any) -> Any:
        """Calls the session's own `run` and records the outermost call of the program itself."""
        if self.depth:
            return original(session, *arguments, **keywords)
        fetches = arguments[0] if arguments else keywords.get("fetches")
        feeds = arguments[1] if len(arguments) > 1 else keywords.get("feed_dict")
        own = called_by_program()
        elements = flat(fetches, session.graph)
        initial = is_initial(elements)
        self.depth += 1
        try:
            if own and not initial and id(session) in self.fresh:
                self.fresh.discard(id(session))
                self.share_values(session)
            if initial or not self.outer:
                self.fresh.add(id(session))
            begun = processor_time()
            result = original(session, *arguments, **keywords)
            spent = processor_time() - begun
        finally:
            self.depth -= 1
        if threading.current_thread() is threading.main_thread():  # the steps of queue runners are not the program's
            self.outer += 1
        if own:
            self.own += 1
            if len(self.runs) < KEPT_RUNS and not initial:
                self.runs.append(self.described(elements, feeds, result))
            self.times.setdefault(signature(elements, feeds), []).append(spent)
        self.cut()
        return result

    def described(self, elements: Any, feeds: Any, result: Any) -> Any:
        """Returns what is kept of a run."""
        values = []
        collect(result, values)
        fed = []
        for value in (feeds or {}).values() if isinstance(feeds, dict) else ():
            try:
                array = np.asarray(value, dtype=np.float64)
                places = np.cos(np.arange(array.size)).reshape(array.shape)
                fed.append([list(array.shape), float(np.abs(array).sum()), float((array * places).sum())])
            except (TypeError, ValueError):
                fed.append([[], 0.0, 0.0])
        entry = {"values": values, "feeds": sorted(fed)}
        if self.settings["implementation"] == "tensorflow":
            entry["random"], entry["changes"] = nature(elements)
        return entry

    def share_values(self, session: Any) -> None:
        """Keeps the values of the variables, or gives them those that the reference kept."""
        number, self.initial = self.initial, self.initial + 1
        file = os.path.join(self.settings["values"], f"{number}.npz")
        if number > 7:
            return
        try:
            if self.settings["implementation"] == "tensorflow" and not self.settings.get("again"):
                np.savez(file, **named(self.values_of(session)))
            elif os.path.exists(file):
                self.synced[number] = self.load(session, file)
        except Exception:
            self.synced[number] = traceback.format_exc()[-300:]

    def values_of(self, session: Any) -> Any:
        """Returns the variables of a session's graph that have a value."""
        tensorflow = sys.modules["tensorflow"]
        found = []
        with session.graph.as_default():
            for variable in tensorflow.global_variables():
                if not variable.dtype.base_dtype.is_floating:
                    continue
                try:
                    found.append((variable, session.run(variable)))
                except tensorflow.errors.OpError:
                    continue
        return found

    def load(self, session: Any, file: Any) -> str:
        """Gives variables the values of the same name and shape, or, where names differ, those of the same order."""
        mine, given = self.values_of(session), np.load(file)
        pairs = [(v, given[v.name]) for v, value in mine if v.name in given and given[v.name].shape == value.shape]
        if len(pairs) < len(mine) and [v.shape for _, v in mine] == [given[n].shape for n in given.files]:
            pairs = [(v, given[n]) for (v, _), n in zip(mine, given.files)]  # noqa: B905
        for variable, value in pairs:
            variable.load(np.nextafter(value, 2 * value) if self.settings.get("again") else value, session)
        return f"{len(pairs)} of {len(mine)}"


def processor_time() -> float:
    """Returns the seconds of all threads; `time.process_time` counts in ticks where processor time is limited."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def named(values: Any) -> Any:
    """Returns values by the names of their variables."""
    return {variable.name: value for variable, value in values}


def called_by_program() -> bool:
    """Says whether a session's run was asked for by the program itself and not by a part of the library for it."""
    frame, names = sys._getframe(2), []
    while frame is not None:
        path = frame.f_code.co_filename
        if path.endswith("threading.py"):  # a thread of the library, such as a queue runner's
            return False
        if not path.startswith(HERE) and not LIBRARY.search(path):
            break
        if LIBRARY.search(path):
            names.append(frame.f_code.co_name)
        frame = frame.f_back
    return all(re.search(r"run|eval|wrapped|__call__|_call|upcall|inner|execute", name) for name in names)


def flat(fetches: Any, graph: Any) -> Any:
    """Returns the graph elements among fetches; a name stands for the element that has it."""
    if isinstance(fetches, dict):
        fetches = list(fetches.values())
    if isinstance(fetches, (list, tuple)):
        return [element for part in fetches for element in flat(part, graph)]
    if isinstance(fetches, str):
        try:
            return [graph.as_graph_element(fetches)]
        except (KeyError, ValueError):
            return [fetches]  # the run raises the error
    return [fetches]


def operation(element: Any) -> Any:
    """Returns the operation of a fetch, or None."""
    found = getattr(element, "op", element)
    return found if hasattr(found, "control_inputs") else None


def is_initial(elements: Any) -> bool:
    """Says whether fetches give variables their first values."""
    ops = [operation(element) for element in elements]
    return bool(ops) and all(
        op is not None and (re.search(r"(^|/)(init|tables_init|.*Initializer)", op.name) or made_of_initialisers(op))
        for op in ops
    )


def made_of_initialisers(op: Any) -> bool:
    """Says whether an operation only waits for assignments."""
    return (
        op.type == "NoOp"
        and bool(op.control_inputs)
        and all(
            other.type in ("Assign", "AssignVariableOp") or re.search(r"(^|/)init", other.name)
            for other in op.control_inputs
        )
    )


def nature(elements: Any) -> Any:
    """Returns whether fetches depend on random numbers, and whether they change variables."""
    waiting = [op for op in map(operation, elements) if op is not None]
    seen, is_random, changes = set(), False, False
    while waiting:
        op = waiting.pop()
        if op.name in seen:
            continue
        seen.add(op.name)
        is_random = is_random or bool(RANDOM.search(op.type)) or random_function(op)
        changes = changes or bool(CHANGES.search(op.type))
        if op.type not in ("VariableV2", "Variable", "VarHandleOp"):
            waiting.extend(tensor.op for tensor in op.inputs)
            waiting.extend(fillers(op))
        waiting.extend(op.control_inputs)
    return is_random, changes


def fillers(op: Any) -> Any:
    """Returns the operations that put elements into the queue or iterator that an operation makes."""
    if not re.search("Queue|Iterator", op.type):
        return []
    return [user for tensor in op.outputs for user in tensor.consumers() if FILLS.search(user.type)]


def random_function(op: Any) -> bool:
    """Says whether a function that an operation calls, such as that of a data set's map, has random numbers."""
    known = getattr(op.graph, "_functions", {})
    waiting, seen = called(op.node_def), set()
    while waiting:
        name = waiting.pop()
        if name in seen or name not in known:
            continue
        seen.add(name)
        for node in known[name].definition.node_def:
            if RANDOM.search(node.op):
                return True
            waiting.extend(called(node))
    return False


def called(node: Any) -> Any:
    """Returns the names of the functions that a node calls. TensorFlow 0.12 has no lists of functions."""
    lists = [getattr(value.list, "func", ()) for value in node.attr.values()]
    names = [value.func.name for value in node.attr.values()] + [f.name for part in lists for f in part]
    return [name for name in names if name]


def collect(value: Any, found: Any) -> None:
    """Appends what is kept of a result to `found`: of each array of floats its shape, mean size and first elements."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        for part in value:
            collect(part, found)
    elif isinstance(value, (np.ndarray, np.floating)) and np.asarray(value).dtype.kind == "f" and np.size(value):
        array = np.asarray(value, dtype=np.float64)
        found.append([list(array.shape), float(np.abs(array).mean()), array.ravel()[:KEPT_NUMBERS].tolist()])


def signature(elements: Any, feeds: Any) -> str:
    """Returns a text that is equal for equal work: number of the fetches and shapes of the feeds."""
    shapes = sorted(str(np.shape(v)) for v in feeds.values() if not is_ragged(v)) if isinstance(feeds, dict) else []
    return f"{len(elements)}|{','.join(shapes)}"


def is_ragged(value: Any) -> bool:
    """Says whether a list has no shape."""
    try:
        np.shape(value)
    except ValueError:
        return True
    return False


class Hook(importlib.abc.MetaPathFinder):
    """Calls a function with a module when it has been imported."""

    def __init__(self, after: Any) -> None:
        self.after = after

    def find_spec(self, name: Any, path: Any = None, target: Any = None) -> Any:
        """Finds one of the modules with the other finders and adds the function to its loader."""
        if name not in self.after:
            return None
        after = self.after.pop(name)
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def exec_module(module: Any) -> None:
            execute(module)
            after(module)

        spec.loader.exec_module = exec_module
        return spec


def wrap_sessions(recorder: Any, name: Any) -> Callable[[Any], None]:
    """Returns a function that makes the class `name` of a module record its runs."""

    def wrap(module: Any) -> None:
        kind = getattr(module, name)
        original = kind.run

        def run(self: Any, *arguments: Any, **keywords: Any) -> Any:
            return recorder.run(original, self, arguments, keywords)

        kind.run = run

    return wrap


def start() -> None:
    """Prepares the process for a program."""
    with open(os.environ["OLD_PROGRAM_SETTINGS"]) as file:
        settings = json.load(file)
    recorder = Recorder(settings)
    random.seed(0)
    seed = np.random.seed
    np.random.seed = lambda value=None: seed(0 if value is None else value)
    np.random.seed(0)
    stand_ins.install(settings["data"])
    after = {
        "tensorflow.python.client.session": wrap_sessions(recorder, "BaseSession"),
        "tfnb.session.session": wrap_sessions(recorder, settings.get("class", "Session")),
    }
    digits = stand_ins.with_digits(settings["data"])
    after["tensorflow.contrib.learn.python.learn.datasets.mnist"] = digits
    after["tensorflow_core.contrib.learn.python.learn.datasets.mnist"] = digits
    after["tensorflow_core.python.client.session"] = after["tensorflow.python.client.session"]
    after["tfnb.datasets.mnist"] = digits
    for package in ("tensorflow", "tensorflow_core"):
        after[package + ".python.keras.utils.data_utils"] = stand_ins.without_checksums
        after[package + ".python.lib.io.file_io"] = stand_ins.sort_listings
    after["gym.core"] = stand_ins.without_screen
    after["gym.utils.seeding"] = stand_ins.with_one_seed
    sys.meta_path.insert(0, Hook(after))
    previous = sys.excepthook

    def failed(kind: Any, value: Any, trace: Any) -> None:
        recorder.error = "".join(traceback.format_exception(kind, value, trace))[-4000:]
        previous(kind, value, trace)

    sys.excepthook = failed
    atexit.register(recorder.finish)
