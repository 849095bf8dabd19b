"""A step that gives on several devices what it does not give on one is found; what is left out is said."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

COMPARED = ("client", "train", "programs")  # the folders whose steps `make spread` compares
TESTS = """
import numpy as np
import pytest
import tfnb as tf

@pytest.fixture
def session(tmp_path):
    with tf.Graph().as_default(), tf.Session() as session:
        yield session

def test_the_same(session, tmp_path):
    x = tf.random_normal([3])
    assert session.run(tf.exp(x) + tf.sin(x)).shape == (3,)
    assert session.run(tf.constant(str(tmp_path))).decode() == str(tmp_path)

@pytest.mark.parametrize("k", range(2))
def test_numbers_of_a_test_alone(session, rng, k):
    session.run([tf.constant(np.random.random(2)), tf.constant(rng.random(2))])

def test_another_value(session):
    assert session.run(tf.constant(len(session.list_devices()))) > 0

def test_more_steps(session):
    for device in session.list_devices():
        session.run(tf.constant(1))

@pytest.mark.not_compared("devices are counted")
def test_left_out(session):
    assert session.run(tf.constant(len(session.list_devices()))) > 0
"""


@pytest.mark.opencl
def test_differences_are_found(tmp_path):
    tests = Path(__file__).parent
    (tmp_path / "test_it.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n    not_compared: a reason\n")
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tests), *sys.path]), "TFNB_OPTIMIZE": "0"}
    found = []
    for target in ([], ["--target=devices:2", "--deselect=test_it.py::test_numbers_of_a_test_alone[0]"]):
        command = [sys.executable, "-m", "pytest", "-q", "-rA", "-p", "conftest", "-p", "no:cacheprovider", "-n0"]
        done = subprocess.run(
            [*command, *target, f"--results={tmp_path / 'results'}", "test_it.py"],
            cwd=tmp_path,
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=300,
        )
        found.append(done.stdout)
    one, several = found
    assert "6 passed" in one
    assert "2 failed, 3 passed" in several, several
    assert "1 of 1 steps differ from one device's; step 0" in several
    assert "2 steps ran, on one device 1" in several
    assert "COMPARED 2 tests by 3 steps, 1 of them on several devices; 0 have no step" in several
    assert "NOT COMPARED [1] devices are counted" in several


def drawn_from_shared_generators(source):
    """The lines inside functions that draw from a generator which the file has made for all its tests."""
    tree = ast.parse(source)
    makers = ("default_rng", "RandomState", "Random")
    made = [x for x in tree.body if isinstance(x, ast.Assign) and isinstance(x.value, ast.Call)]
    shared = {t.id for x in made if ast.unparse(x.value.func).endswith(makers) for t in x.targets}
    functions = [x for x in ast.walk(tree) if isinstance(x, ast.FunctionDef)]
    inside = [x for f in functions if not shared & {a.arg for a in f.args.args} for s in f.body for x in ast.walk(s)]
    return [x.lineno for x in inside if isinstance(x, ast.Name) and x.id in shared]


def test_no_test_draws_from_a_generator_of_its_file():
    shared = (
        "import numpy as np\nRNG = np.random.default_rng(0)\nX = RNG.random(3)\ndef test_it():\n    x = RNG.random(3)\n"
    )
    assert drawn_from_shared_generators(shared) == [5]
    files = [path for folder in COMPARED for path in (Path(__file__).parent / folder).rglob("*.py")]
    assert files
    assert {str(path): lines for path in files if (lines := drawn_from_shared_generators(path.read_text()))} == {}
