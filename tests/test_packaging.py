"""A wheel, a wheel by way of an sdist, and the checkout hold the same package, kernels, widgets and digits."""

import hashlib
import io
import json
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import tfnb as tf
from tfnb.release import VERSION

sys.path.append(str(Path(__file__).parents[1] / "scripts"))

from release_check import Wrong, build, check_contents, lowest, requirements_of, run, without_node

ROOT = Path(__file__).resolve().parents[1]
EXTENSION = "data/share/jupyter/labextensions/tfnb"
node_needed = pytest.mark.skipif(shutil.which("npm") is None, reason="no npm: what the browser runs cannot be built")


def digest(content):
    return hashlib.sha256(content).hexdigest()


def shipped(folder, suffixes):
    return {
        path.relative_to(ROOT).as_posix(): digest(path.read_bytes())
        for path in sorted((ROOT / folder).rglob("*"))
        if path.is_file() and path.suffix in suffixes
    }


@pytest.fixture(scope="module")
def wheels(tmp_path_factory):
    """The wheel built from the checkout, and the one built from the sdist."""
    out = tmp_path_factory.mktemp("dist")
    run([sys.executable, "-m", "build", "--no-isolation", "--wheel", ROOT, "--outdir", out / "direct"])
    _, by_sdist = build(out)
    return [*(out / "direct").glob("*.whl"), by_sdist]


@node_needed
def test_wheels_hold_the_package(wheels):
    direct, by_sdist = wheels
    expected = shipped("tfnb", {".py", ".js", ".css", ".csv", ".gz", ".json", ".md", ".pyi", ".txt", ".typed"})
    expected = {n: c for n, c in expected.items() if not n.startswith("tfnb/labextension/")}
    kernels = shipped("kernels_cl", {".cl", ".clh"})
    assert kernels
    expected |= {f"tfnb/{name}": content for name, content in kernels.items()}
    for wheel in (direct, by_sdist):
        with zipfile.ZipFile(wheel) as archive:
            found = {n: digest(archive.read(n)) for n in archive.namelist() if "dist-info" not in n}
        assert {n: c for n, c in found.items() if n in expected} == expected
        strangers = [n for n in found if n not in expected and not n.endswith(".md")]
        assert [n for n in strangers if ".data/data/" not in n] == []


@node_needed
def test_wheels_hold_the_extension(wheels):
    """Where JupyterLab looks: its description, the file that this names, and nothing from elsewhere."""
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            found = {
                n.split("/", 1)[1]: archive.read(n)
                for n in archive.namelist()
                if n.split("/", 1)[1].startswith(EXTENSION)
            }
        package = json.loads(found[f"{EXTENSION}/package.json"])
        assert package["name"] == "tfnb"
        assert package["version"] == VERSION
        assert f"-{VERSION}-" in wheel.name
        assert f"{EXTENSION}/{package['jupyterlab']['_build']['load']}" in found


@node_needed
def test_what_a_wheel_asks_for_is_read_from_it(wheels):
    """2.16.0 of tensorboard asks for a nightly Keras, and 2.16.1 for Keras: either brings TensorFlow."""
    asked = [r for r in requirements_of(wheels[1]) if "extra ==" not in r]
    assert len(asked) > 15 and "tensorboard==2.16.2" in lowest(asked)


@node_needed
def test_a_source_distribution_has_the_pages_of_the_project(wheels):
    with tarfile.open(next(wheels[1].parent.glob("*.tar.gz"))) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"README.md", "CHANGELOG.md", "SECURITY.md", "CITATION.cff", "LICENSE", "pyproject.toml"} <= names
    assert not [name for name in names if name.startswith(("tests/", ".venv"))]


def bundled():
    """The packages that the TypeScript imports and JupyterLab does not have, and what these depend on."""
    folder = ROOT / "labextension"
    text = "\n".join(path.read_text("utf-8") for path in (folder / "src").rglob("*.ts"))
    imported = re.findall(r"""^(?:import|export)\s(?!type\s)(?:[^;"']*\sfrom\s)?["']([^."'][^"'?]*)["']""", text, re.M)
    names = {"/".join(name.split("/")[: 2 if name.startswith("@") else 1]) for name in imported}
    names -= set(json.loads((folder / "package.json").read_text("utf-8"))["dependencies"])
    packages = json.loads((folder / "package-lock.json").read_text("utf-8"))["packages"]
    found = set()
    while names:
        found |= names
        names = {d for name in names for d in packages[f"node_modules/{name}"].get("dependencies", {})} - found
    return found


@node_needed
def test_licences_of_what_is_bundled_go_with_it(wheels):
    assert bundled() == {"@dagrejs/dagre", "@dagrejs/graphlib"}
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            files = [n for n in archive.namelist() if n.endswith("/third-party-licenses.json")]
            assert {"labextension" in n for n in files} == {True, False}
            for name in files:
                packages = {p["name"]: p for p in json.loads(archive.read(name))["packages"]}
                assert set(packages) == bundled(), name
                for package in packages.values():
                    assert package["licenseId"] == "MIT" and package["versionInfo"]
                    assert "Permission is hereby granted" in package["extractedText"]
            (own,) = [n for n in archive.namelist() if n.endswith(".dist-info/licenses/LICENSE")]
            assert archive.read(own) == (ROOT / "LICENSE").read_bytes()


def test_the_lock_file_names_no_place():
    """Packages come from wherever npm is told to look, and are the ones with these digests."""
    lock = json.loads((ROOT / "labextension" / "package-lock.json").read_text("utf-8"))
    fetched = [p for name, p in lock["packages"].items() if name and not p.get("link")]
    assert len(fetched) > 50
    assert all("resolved" not in p and p["integrity"].startswith("sha512-") for p in fetched)
    # Those of other systems too: `npm ci` refuses a lock file that lacks them.
    names = {name.rpartition("node_modules/")[2] for name in lock["packages"]}
    assert {d for p in fetched for d in p.get("optionalDependencies", {})} <= names


def test_the_versions_are_one():
    """It stands in tfnb/release.py alone, and npm's files follow."""
    assert re.fullmatch(r"\d+\.\d+\.\d+", VERSION) and tf.__version__ == VERSION
    assert VERSION not in (ROOT / "pyproject.toml").read_text("utf-8").split("[project.optional-dependencies]")[0]
    for name in ("package.json", "package-lock.json"):
        told = json.loads((ROOT / "labextension" / name).read_text("utf-8"))
        assert told["version"] == VERSION, name
    assert f"\nversion: {VERSION}\n" in (ROOT / "CITATION.cff").read_text("utf-8")
    assert re.search(rf"^## (?:next \()?{re.escape(VERSION)}\b", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M)


def test_without_node_the_program_says_so(tmp_path):
    """A checkout in which nothing is built: an install goes on, a wheel is not made."""
    for name in ("scripts", "labextension/src", "labextension/scripts"):
        shutil.copytree(ROOT / name, tmp_path / name)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(ROOT / "labextension" / name, tmp_path / "labextension")
    told = subprocess.run(
        [sys.executable, tmp_path / "scripts" / "frontend.py"],
        capture_output=True,
        text=True,
        env=without_node(),
        check=True,
    )
    assert "node and npm was not found" in told.stdout
    for name in ("hatch_build.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / "kernels_cl").mkdir()
    (tmp_path / "tfnb").mkdir()
    for name in ("tfnb/__init__.py", "tfnb/release.py"):
        shutil.copy(ROOT / name, tmp_path / name)
    done = subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--wheel", tmp_path],
        capture_output=True,
        text=True,
        env=without_node(),
        check=False,
    )
    assert done.returncode and "node and npm was not found" in done.stdout + done.stderr


@node_needed
@pytest.mark.opencl
def test_the_wheel_works_away_from_the_checkout(wheels, tmp_path):
    """Unpacked elsewhere, it finds its kernels and digits: a matrix product is a library kernel."""
    with zipfile.ZipFile(wheels[1]) as archive:
        archive.extractall(tmp_path / "site")
    program = tmp_path / "program.py"
    program.write_text(
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import numpy as np, tfnb as tf\n"
        "assert tf.__file__.startswith(sys.argv[1]), tf.__file__\n"
        "x = np.ones((64, 64), np.float32)\n"
        "p = tf.placeholder(tf.float32, [64, 64])\n"
        "with tf.Session() as sess:\n"
        "    assert (sess.run(tf.matmul(p, p), {p: x}) == 64).all()\n"
        "assert tf.datasets.mnist.read_data_sets().train.num_examples == 8000\n"
        "assert tf.notebook.LossPlot\n"
    )
    done = subprocess.run(
        [sys.executable, program, tmp_path / "site"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


NEEDED = ("tfnb/__init__.py", "tfnb/notebook/static/viewer.js", "tfnb/public_names.txt")


@pytest.mark.parametrize(
    ("files", "told"),
    [
        (NEEDED, ""),
        (NEEDED[1:], r"lacks \['tfnb/__init__.py'\]"),
        ((*NEEDED, "tests/test_x.py"), "has tests/test_x.py"),
        ((*NEEDED, "tfnb/notebook/static/viewer.js.map"), "has tfnb/notebook/static/viewer.js.map"),
        ((*NEEDED, "labextension/node_modules/a.js"), "has labextension/node_modules/a.js"),
        ((*NEEDED, "notes.md"), "has notes.md"),
        ((*NEEDED, "tfnb/place.js"), "tfnb/place.js in .* names /home/builder"),
    ],
)
def test_a_source_distribution_with_a_fault_is_not_published(tmp_path, files, told):
    archive = tmp_path / "tfnb-1.0.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        for name in files:
            content = b"/home/builder/tfnb" if "place" in name else b"x"
            member = tarfile.TarInfo(f"tfnb-1.0/{name}")
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    if told:
        with pytest.raises(Wrong, match=told):
            check_contents(archive, "1.0", ["/home/builder"])
    else:
        assert check_contents(archive, "1.0", ["/home/builder"]).startswith("3 files")


def test_the_lowest_versions_are_those_that_are_permitted():
    requirements = ["numpy<3,>=1.26", "pyopencl[pocl]>=2025.1", "scipy>=1.11", 'twine>=5; extra == "release"']
    assert lowest(requirements) == ["numpy==1.26", "pyopencl==2025.1", "scipy==1.11"]
