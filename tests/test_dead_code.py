"""What nobody uses is deleted: vulture finds definitions whose name stands nowhere else.

A public name may be unused here, since users have it.
"""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import vulture

import tfnb as tf

ROOT = Path(__file__).resolve().parents[1]
# Declarations from which scripts/browser_protocol.py writes the TypeScript: the page uses those that Python does not.
MESSAGES = ROOT / "tfnb" / "notebook" / "protocol"
# definition -> who uses it
USED_BY_NAME = {
    "LiveView._ipython_display_": "IPython",
    "Names.visit_AnnAssign": "ast.NodeVisitor",
    "BuilderView.to_cell": "users of front ends without the extension",
    "TfnbMagics.tfnb_build": "IPython, as %%tfnb_build",
    "TfnbMagics.tfnb_profile": "IPython, as %%tfnb_profile",
    "TfnbMagics.tensorflow": "IPython, as %%tensorflow",
    "_TaskPlugin.setup": "Dask, as a plugin of a worker",
    "_TaskPlugin.teardown": "Dask, as a plugin of a worker",
    "Server.server_def": "programs: tf.train.Server has it in TensorFlow",
    "TestCase.assertAllCloseAccordingToType": "tests of programs: tf.test.TestCase has it in TensorFlow",
    "TestCase.assertStartsWith": "tests of programs: tf.test.TestCase has it in TensorFlow",
    "NameScope._recreate_cm": "contextlib.ContextDecorator",
    "HelpHandler.compute_etag": "tornado",
    "HelpHandler.set_extra_headers": "tornado",
    "_Finder.create_module": "Python's import",
    "_Raw.readable": "io.BufferedReader",
    "_Raw.readinto": "io.BufferedReader",
    **dict.fromkeys(
        (
            "boston_housing_data",
            "fashion_mnist_data",
            "cifar10_data",
            "cifar100_data",
            "imdb_data",
            "reuters_data",
            "imdb_words",
            "reuters_words",
        ),
        "tf.keras.datasets, by the table of tfnb/v1/keras/names.py",
    ),
}


def public_names() -> set[str]:
    """The names in `tf` and its modules, and those of the classes that are found there."""
    names: set[str] = set()
    seen: set[int] = set()

    def visit(place: Any) -> None:
        for name in dir(place):
            value = getattr(place, name)
            if not name.startswith("_"):
                names.add(name)
            if inspect.isclass(value) and (value.__module__ or "").startswith("tfnb"):
                for base in value.__mro__:
                    if base.__module__.startswith("tfnb"):
                        names.update(vars(base), inspect.get_annotations(base))
            elif id(value) not in seen and is_place(value):
                seen.add(id(value))
                visit(value)

    visit(tf)
    return names


def is_place(value: Any) -> bool:
    """Is it a part of the public interface, as `tf.nn` is? Modules of the source below `tfnb.train` are not."""
    if not inspect.ismodule(value) or not value.__name__.startswith("tfnb."):
        return False
    return getattr(value, "__file__", None) is None or value.__name__.count(".") == 1


def unused(*folders: Path) -> list[vulture.core.Item]:
    """Functions, classes, methods, properties and the variables of modules; tests/test_ignored_parameters.py reads the rest.

    An attribute that is only set belongs to an object of another library.
    """
    search = vulture.Vulture()
    search.scavenge([str(f) for f in folders])
    found = [i for i in search.get_unused_code(min_confidence=60) if i.confidence < 100]  # 100: parameters
    return [i for i in found if i.typ not in ("attribute", "variable") or (i.typ == "variable" and is_global(i))]


def is_global(item: vulture.core.Item) -> bool:
    return not Path(item.filename).read_text(encoding="utf-8").splitlines()[item.first_lineno - 1].startswith(" ")


def test_the_search_finds_what_nobody_uses(tmp_path):
    (tmp_path / "a.py").write_text("def used(): ...\ndef unused(): ...\nALIAS = int\nused()\n")
    assert {i.name for i in unused(tmp_path)} == {"unused", "ALIAS"}


def test_every_definition_is_used():
    public = public_names() | {name.rpartition(".")[2] for name in USED_BY_NAME}
    dead = [
        f"{Path(i.filename).relative_to(ROOT)}:{i.first_lineno}: {i.typ} {i.name}"
        for i in unused(*(ROOT / part for part in ("tfnb", "tests", "scripts", "benchmarks", "hatch_build.py")))
        if Path(i.filename).is_relative_to(ROOT / "tfnb") and i.name not in public and not i.name.startswith("__")
        if not Path(i.filename).is_relative_to(MESSAGES)
    ]
    assert dead == []


def test_every_exception_is_needed():
    found = {i.name for i in unused(ROOT / "tfnb")}
    assert {name for name in USED_BY_NAME if name.rpartition(".")[2] not in found} == set()
