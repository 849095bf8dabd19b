"""`tfnb doctor` on machines that are broken for real: each fault has its line, and the command that mends it."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path

import pytest
from broken_machine import ROOT, SITE, Machine, linked

from tfnb.devices.opencl import trial
from tfnb.devices.opencl.platforms import units
from tfnb.disk_cache import DiskCache
from tfnb.doctor.checks import CHECKS, Check, records_here, records_of
from tfnb.doctor.memory import limit_of_group
from tfnb.doctor.records import Record
from tfnb.doctor.requirements import requirement_for, requirements
from tfnb.notebook.assets import WIDGETS
from tfnb.settings import load_settings

needs_opencl = pytest.mark.opencl
PIP = f"{sys.executable} -m pip install "


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


def may_unshare(*options):
    return subprocess.run(["unshare", *options, "true"], check=False, capture_output=True).returncode == 0


# ---- a machine that works --------------------------------------------------------------------


@needs_opencl
def test_a_machine_that_works(machine):
    """All checks have lines, nothing is wrong, and nothing stays behind; the secret is not told."""
    machine.env["TFNB_CLUSTER_SECRET"] = "only the tasks know this text"
    before = sorted(os.listdir("/tmp"))
    machine.doctor()
    assert machine.status == 0 and machine.states() <= {"ok", "warning"}, machine.records
    assert {r["check"] for r in machine.records} == set(CHECKS)
    assert [*machine.home.rglob("*")] == []
    assert "only the tasks" not in json.dumps(machine.records)
    assert [n for n in set(os.listdir("/tmp")) - set(before) if n.startswith("tfnb-doctor")] == []


def test_lines_and_a_name_that_is_no_check(machine):
    command = [sys.executable, "-m", "tfnb", "doctor"]
    machine.env["TFNB_OPTIMISE"] = "1"
    done = subprocess.run([*command, "environment"], env=machine.env, capture_output=True, text=True, check=True)
    assert done.stdout == (
        "warning  environment TFNB_OPTIMISE is set, which nothing reads; did you mean TFNB_OPTIMIZE?\n"
        "                     $ unset TFNB_OPTIMISE\n"
        "1 warning\n"
    )
    done = subprocess.run([*command, "opnecl"], env=machine.env, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "there is no check 'opnecl'" in done.stderr


def test_nothing_heavy_is_imported_by_the_command_itself():
    program = """
import sys
from tfnb.__main__ import main
main(["doctor", "python", "environment", "memory", "cache"])
assert not {"numpy", "pyopencl", "distributed", "packaging", "jupyter_server"} & set(sys.modules), sys.modules.keys()
"""
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)


def test_a_line_is_one_line():
    lines = Record("opencl", "wrong", "first\n   second", "unset X").lines()
    assert lines == "wrong    opencl      first second\n                     $ unset X"


# ---- Python and its packages -----------------------------------------------------------------


def test_an_old_python_and_another_version_of_tfnb(machine):
    machine.metadata("tfnb", "0.0.7", Requires_Python=">=3.99")
    machine.doctor("python")
    assert "python3.12 -m venv" in machine.find("wrong", "is too old", ">=3.99")
    assert machine.find("warning", "installed as 0.0.7") == f"{PIP}--editable {ROOT}"


def test_packages_that_do_not_import(machine):
    machine.block("bokeh", "ipywidgets", "anywidget", "distributed")
    machine.doctor("packages", "dask")
    for name in ("bokeh", "ipywidgets", "anywidget", "distributed"):
        version = metadata.version(name)
        again = f"{PIP}--force-reinstall --no-deps {name}=={version}"
        assert machine.find("wrong", f"{name} {version} does not import") == again
    assert machine.find("wrong", "distributed cannot be imported").startswith(f"{PIP}--upgrade 'distributed>=")


def test_packages_that_are_too_old_or_missing(machine):
    """A folder with all packages but one, in the Python beside which none is installed; and an old `ipywidgets`."""
    files = [path.name for path in SITE.iterdir() if path.name.startswith("pandas")]
    machine.env["PYTHONPATH"] += os.pathsep + str(linked(SITE, machine.folder / "site", files))
    machine.metadata("ipywidgets", "7.6.0")
    python = sys._base_executable
    machine.doctor("packages", python=python)
    assert machine.find("wrong", "pandas is missing") == f"{python} -m pip install --upgrade 'pandas>=2.1'"
    command = machine.find("wrong", "ipywidgets is 7.6.0; needed <9,>=8.1")
    assert command == f"{python} -m pip install --upgrade 'ipywidgets<9,>=8.1'"


def test_requirements_by_the_module_that_is_missing():
    assert requirement_for("bokeh.plotting").startswith("bokeh")
    assert requirement_for("PIL.Image") == "pillow>=10" and requirement_for("re2") == "google-re2>=1.1"
    assert requirement_for("jupyter_server.serverapp").startswith("jupyterlab<5")
    assert requirement_for("somebody_elses") == "somebody_elses"
    assert len(requirements()) >= 19 and not any("pytest" in text for text in requirements())


# ---- variables and memory --------------------------------------------------------------------


def test_variables(machine):
    machine.env |= {"TFNB_VERIFY": "maybe", "OMP_NUM_THREADS": "1", "TFNB_CACHEDIR": "/x"}
    machine.doctor("cache")
    assert machine.find("wrong", "TFNB_VERIFY is 'maybe'") == "tfnb doctor environment"
    machine.doctor("environment")
    assert machine.find("wrong", "TFNB_VERIFY is 'maybe'") == "unset TFNB_VERIFY"
    assert machine.find("warning", "TFNB_CACHEDIR", "did you mean TFNB_CACHE_DIR?") == "unset TFNB_CACHEDIR"
    if len(os.sched_getaffinity(0)) > 1:
        assert machine.find("warning", "NumPy uses 1 of") == "unset OMP_NUM_THREADS"
    machine.env |= {"TFNB_VERIFY": "0", "TFNB_OPTIMIZE": "0"}
    machine.doctor("environment")
    assert machine.find("warning", "TFNB_OPTIMIZE is set to 0: no folding") == "unset TFNB_OPTIMIZE"


@pytest.mark.parametrize(("megabytes", "state"), [(256, "wrong"), (700, "warning")])
def test_little_memory(machine, megabytes, state):
    nbytes = megabytes << 20
    machine.limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (nbytes, resource.RLIM_INFINITY))
    machine.doctor("memory")
    assert machine.find(state, f"{megabytes} MB by ulimit -v") == "ulimit -v unlimited"


def test_limits_of_control_groups(tmp_path):
    """Of both versions; the least of all groups above the process counts."""
    files = {
        "two/proc/self/cgroup": "0::/a/b\n",
        "two/sys/fs/cgroup/a/b/memory.max": "max\n",
        "two/sys/fs/cgroup/a/memory.max": "268435456\n",
        "one/proc/self/cgroup": "9:name=systemd:/\n4:cpu,memory:/docker/x\n",
        "one/sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
        "one/sys/fs/cgroup/memory/docker/x/memory.limit_in_bytes": "536870912\n",
        "none/proc/self/cgroup": "0::/\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert limit_of_group(tmp_path / "two") == 256 << 20
    assert limit_of_group(tmp_path / "one") == 512 << 20
    assert limit_of_group(tmp_path / "none") == limit_of_group(tmp_path / "nowhere") == 0


# ---- the folder of compiled kernels ----------------------------------------------------------


def test_damaged_entries(machine):
    for key in ("a", "b"):
        DiskCache(machine.cache / "kernels").put(key, b"kernel" * 100)
    DiskCache(machine.cache / "programs").put("c", b"program")
    damaged = machine.cache / "kernels" / "b.bin"
    damaged.write_bytes(damaged.read_bytes()[:-1])
    of_others = machine.cache / "kernels" / "model.bin"
    of_others.write_bytes(b"weights")
    machine.doctor("cache")
    assert machine.find("warning", "1 of 3 entries are damaged") == f"rm {damaged}"
    assert damaged.exists()
    machine.doctor("cache", fix=True)
    machine.find("mended", "1 damaged entries have been removed")
    assert not damaged.exists() and (machine.cache / "kernels" / "a.bin").exists()
    assert of_others.read_bytes() == b"weights"
    machine.doctor("cache")
    machine.find("ok", "2 entries", "none damaged")


def test_a_folder_that_is_named_and_not_there(machine):
    folder = machine.folder / "a disk" / "cache"
    machine.env["TFNB_CACHE_DIR"] = str(folder)
    machine.doctor("cache")
    assert machine.find("warning", "TFNB_CACHE_DIR names", "not there") == f"mkdir -p '{folder}'"
    assert not folder.exists()
    machine.doctor("cache", fix=True)
    machine.find("mended", "has been made")
    machine.doctor("cache")
    assert machine.states() == {"ok"} and folder.is_dir()


def test_a_file_in_place_of_the_folder(machine):
    machine.cache.parent.mkdir()
    machine.cache.write_text("")
    machine.doctor("cache", fix=True)
    assert machine.find("wrong", "cannot be used: Not a directory") == f"mv {machine.cache} {machine.cache}.old"
    assert machine.cache.is_file()
    machine.env["TFNB_CACHE_DIR"] = str(machine.cache / "below")
    machine.doctor("cache")
    assert machine.find("wrong", "is no folder") == f"mv {machine.cache} {machine.cache}.old"


@pytest.fixture
def nobody():
    """The machine of a user whom modes of files bind; tests may run as one whom they do not."""
    with tempfile.TemporaryDirectory() as folder:
        machine = Machine(Path(folder))
        if os.getuid() == 0:
            probe = ["test", "-r", f"{ROOT}/tfnb/__init__.py", "-a", "-x", sys.executable]
            if subprocess.run(probe, user=65534, check=False).returncode:
                pytest.skip("another user cannot read this checkout")
            Path(folder).chmod(0o755)
            machine.user = 65534
        yield machine
        for path in (machine.cache.parent, machine.cache):
            if path.exists():
                path.chmod(0o755)


def test_folders_that_cannot_be_written(nobody):
    nobody.cache.mkdir(parents=True)
    nobody.cache.chmod(0o555)
    nobody.doctor("cache")
    shown = {f"chmod u+rwx {nobody.cache}", f"sudo chown -R $(id -u) {nobody.cache}"}
    assert nobody.find("wrong", "cannot be used: Permission denied") in shown
    nobody.cache.rmdir()
    nobody.cache.parent.chmod(0o555)
    nobody.doctor("cache", fix=True)
    shown = {f"chmod u+rwx {nobody.cache.parent}", f"sudo chown -R $(id -u) {nobody.cache.parent}"}
    assert nobody.find("wrong", "cannot be made", "cannot be written") in shown


def test_a_limit_on_the_size_of_files(machine):
    machine.limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))
    machine.doctor("cache")
    assert machine.find("wrong", "a file may have 100,000 bytes") == "ulimit -f unlimited"


@pytest.mark.skipif(not may_unshare("-m"), reason="a disk cannot be mounted here")
def test_a_full_disk(machine):
    machine.cache.mkdir(parents=True)
    mount = f'mount -t tmpfs -o size=1m none {machine.cache} && exec "$@"'
    machine.before = ["unshare", "-m", "sh", "-c", mount, "sh"]
    machine.doctor("cache")
    assert machine.find("wrong", "less than 32 MB are free").startswith("export TFNB_CACHE_DIR=")


# ---- OpenCL ----------------------------------------------------------------------------------


@needs_opencl
def test_no_driver_where_a_variable_says(machine):
    machine.env["OCL_ICD_VENDORS"] = str(machine.folder / "nowhere")
    machine.doctor("opencl")
    assert machine.find("wrong", "OCL_ICD_VENDORS names", "not there") == "unset OCL_ICD_VENDORS"
    assert machine.find("wrong", "no OpenCL platform was found") == "unset OCL_ICD_VENDORS"


@needs_opencl
def test_no_driver_is_installed(machine):
    """PoCL's own file is gone; another driver's names a library that is not there."""
    first = machine.first_on_path("drivers/old.icd", "/opt/gone/libdriver.so\n").parent
    linked(SITE / "pyopencl", first.parent / "pyopencl", [".libs/pocl.icd"])
    machine.env["OCL_ICD_VENDORS"] = str(first)
    machine.doctor("opencl")
    assert f"sudo rm {first}/old.icd" in machine.find("warning", "names /opt/gone/libdriver.so, which is not there")
    assert machine.find("wrong", "no OpenCL platform was found") == "unset OCL_ICD_VENDORS"
    (first / "old.icd").unlink()
    machine.doctor("opencl")
    pip = f"{PIP}--force-reinstall --no-deps pyopencl pocl-binary-distribution"
    assert machine.find("wrong", "no driver is installed") == pip


@needs_opencl
@pytest.mark.parametrize(
    ("variable", "value", "state", "text"),
    [
        ("POCL_DEVICES", "none-such", "wrong", "no OpenCL device was found"),
        ("TFNB_DEVICES", "vega", "wrong", "no OpenCL device matches 'vega'"),
        ("POCL_DEVICES", "basic", "warning", "alone; tfnb uses two"),
    ],
)
def test_devices_that_a_variable_hides(machine, variable, value, state, text):
    machine.env[variable] = value
    machine.doctor("opencl")
    assert machine.find(state, text) == f"unset {variable}"


@needs_opencl
def test_a_driver_that_aborts_the_process(machine):
    """PoCL pins more threads than there are cores; what was found before that is kept."""
    machine.env |= {"POCL_AFFINITY": "1", "POCL_MAX_PTHREAD_COUNT": str((os.cpu_count() or 1) + 1)}
    machine.doctor("environment", "opencl")
    assert machine.find("wrong", "PoCL aborts the process") == "unset POCL_AFFINITY"
    assert "pip install" in machine.find("wrong", "its process was ended by SIGABRT: PTHREAD ERROR")
    machine.find("ok", "pyopencl", "loader")


@needs_opencl
def test_a_device_whose_results_are_wrong(monkeypatch):
    units(load_settings())  # so that the folder of the check does not become that of all that follows in this process
    monkeypatch.setattr(trial, "_KERNEL", trial._KERNEL.replace("3.0f", "3.001f"))
    records = list(records_here(CHECKS["opencl"], fix=False))
    wrong = [record for record in records if record.state == "wrong"]
    assert len(wrong) == len(records) - 1 >= 1
    assert all("the result of a kernel is wrong" in r.text and "TFNB_DEVICES" in r.command for r in wrong)


def test_libraries_that_do_not_load(machine):
    broken = machine.first_on_path("pyopencl/__init__.py", "raise ImportError('libOpenCL.so.1: no such file')")
    machine.doctor("opencl")
    assert "pip install" in machine.find("wrong", "libOpenCL.so.1: no such file")
    broken.write_text(f"import os; os.kill(os.getpid(), {signal.SIGSEGV.value})")
    machine.doctor("opencl")
    assert "pip install" in machine.find("wrong", "its process was ended by SIGSEGV")


def test_a_check_that_does_not_end(monkeypatch, tmp_path):
    (tmp_path / "sleeping.py").write_text(
        "import time\nfrom tfnb.doctor.records import Record\n"
        "def check(fix):\n    yield Record('slow', 'ok', 'begun')\n    time.sleep(60)\n"
    )
    (tmp_path / "sitecustomize.py").write_text(
        "from tfnb.doctor import checks\nchecks.CHECKS['slow'] = checks.Check('slow', '', 'sleeping', True)\n"
    )
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(tmp_path), str(ROOT))))
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr("tfnb.doctor.checks._SECONDS", 2.0)
    begun, late = records_of(Check("slow", "", "sleeping", True, "kill it"), fix=False)
    assert begun.text == "begun" and begun.state == "ok"
    assert late == Record("slow", "wrong", "it gave no answer within 2 seconds", "kill it")


# ---- what the browser runs -------------------------------------------------------------------


def test_a_front_end_that_is_not_built(machine):
    """A package without two of its widgets, and an extension of JupyterLab whose first file is missing."""
    without = ["notebook/static/viewer.js", "notebook/static/timeline.js"]
    linked(ROOT / "tfnb", machine.first_on_path("x").parent / "tfnb", without)
    extension = machine.folder / "jupyter" / "labextensions" / "tfnb"
    extension.mkdir(parents=True)
    (extension / "package.json").write_text(
        json.dumps({"name": "tfnb", "version": "0.1.0", "jupyterlab": {"_build": {"load": "static/remote.js"}}})
    )
    machine.env["JUPYTER_PATH"] = str(machine.folder / "jupyter")
    machine.doctor("frontend")
    command = f"python {ROOT}/scripts/frontend.py"
    assert machine.find("wrong", "timeline.js, viewer.js missing") == command
    assert machine.find("wrong", "half built: static/remote.js") == command


def test_widgets_of_other_sources(machine):
    """A checkout in which a source has gone since the front end was built."""
    source = "labextension/src/widgets/viewer.ts"
    checkout = linked(ROOT, machine.folder / "checkout", ["tfnb/doctor", source])
    shutil.copytree(ROOT / "tfnb" / "doctor", checkout / "tfnb" / "doctor")
    machine.env["PYTHONPATH"] = str(checkout)
    machine.doctor("frontend")
    command = f"python {checkout}/scripts/frontend.py"
    assert machine.find("warning", "built of other sources") == command


def test_an_extension_of_another_version_that_the_server_lacks(machine):
    extension = machine.folder / "jupyter" / "labextensions" / "tfnb"
    (extension / "static").mkdir(parents=True)
    (extension / "static" / "remote.js").write_text("//")
    (extension / "package.json").write_text(
        json.dumps({"name": "tfnb", "version": "0.0.9", "jupyterlab": {"_build": {"load": "static/remote.js"}}})
    )
    config = machine.folder / "config"
    config.mkdir()
    (config / "jupyter_server_config.json").write_text(
        json.dumps({"ServerApp": {"jpserver_extensions": {"tfnb.notebook.server": False}}})
    )
    machine.env |= {"JUPYTER_PATH": str(extension.parents[1]), "JUPYTER_CONFIG_PATH": str(config)}
    machine.doctor("frontend")
    assert (
        machine.find("wrong", "the extension of version 0.0.9") == f"{PIP}--no-deps --force-reinstall --editable {ROOT}"
    )
    command = "jupyter server extension enable tfnb.notebook.server --sys-prefix"
    assert machine.find("wrong", "server is not enabled") == command


def test_extensions_that_are_disabled(machine):
    config = machine.folder / "config" / "labconfig"
    config.mkdir(parents=True)
    names = {"@jupyter-widgets/jupyterlab-manager": True, "tfnb:documents": True, "anywidget": False}
    (config / "page_config.json").write_text(json.dumps({"disabledExtensions": names}))
    machine.env["JUPYTER_CONFIG_DIR"] = str(config.parent)
    machine.doctor("frontend")
    enable = "jupyter labextension enable"
    assert machine.find("wrong", "disables tfnb:documents") == f"{enable} tfnb:documents"
    manager = "@jupyter-widgets/jupyterlab-manager"
    assert machine.find("wrong", f"disables {manager}") == f"{enable} {manager}"


def test_extensions_that_are_not_installed(machine):
    """The packages are on the path, but what belongs to Jupyter lies where this Python does not look."""
    machine.env["PYTHONPATH"] += os.pathsep + str(SITE)
    python = sys._base_executable
    machine.doctor("frontend", python=python)
    again = f"{python} -m pip install --force-reinstall --no-deps"
    assert machine.find("wrong", "does not find anywidget") == f"{again} anywidget"
    assert machine.find("wrong", "does not find @jupyter-widgets/jupyterlab-manager") == f"{again} jupyterlab_widgets"
    assert "pip install" in machine.find("wrong", "does not find the extension tfnb")


# ---- Dask ------------------------------------------------------------------------------------


@pytest.mark.skipif(not may_unshare("-n"), reason="a network without loopback cannot be made here")
def test_no_loopback(machine):
    machine.before = ["unshare", "-n"]
    machine.doctor("dask")
    assert machine.find("wrong", "no process can reach another one at 127.0.0.1") == "sudo ip link set lo up"


def test_a_secret_that_others_can_read(machine):
    machine.cache.mkdir(parents=True)
    secret = machine.cache / "cluster-secret"
    secret.write_text("0" * 64)
    secret.chmod(0o644)
    machine.doctor("dask")
    assert machine.find("wrong", "is not yours alone", "mode 644") == f"rm {secret}"
    assert secret.exists()
    machine.doctor("dask", fix=True)
    machine.find("mended", "has been removed")
    assert machine.status == 0 and not secret.exists()


def test_files_that_the_package_of_the_browser_consists_of():
    sources = sorted(path.stem for path in (Path(ROOT) / "labextension/src/widgets").glob("*.ts"))
    assert sorted(WIDGETS) == sources
