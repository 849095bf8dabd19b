"""Every call of the package that deletes, moves, replaces or truncates a file, with the reason why it may.

The syntax tree of the whole package is read. A new call of that kind fails here until it has a row below that says
whose file it touches; docs/decisions/files-of-others.md has the rule.
"""

from __future__ import annotations

import ast
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "tfnb"

OWN_TOKEN = "under a name with a random token that this call made"
CALLER = "the caller names the file and asks for just this"
CHECKPOINTS = "a folder of its own for the checkpoints that an answer reads"
REPLACED = "the new file takes the name that the caller gave it; the old content goes, as documented"

# (file, function): (the calls in it, sorted; the reason)
REASONS: dict[tuple[str, str], tuple[str, str]] = {
    ("doctor/cache.py", "_entries"): (
        "path.unlink",
        "an entry of the kernel cache whose checksum is wrong, with `--fix` only",
    ),
    ("doctor/checks.py", "child"): ("os.fdopen", "the standard output of a child process"),
    ("doctor/dask.py", "_secret_file"): (
        "path.unlink",
        "the secret of the user's clusters, a file of the user's that others can read, with `--fix` only",
    ),
    ("doctor/opencl.py", "check"): ("tempfile.TemporaryDirectory", "a cache for the one kernel that is tried"),
    ("session/dask/round_trip.py", "round_trip"): (
        "tempfile.TemporaryDirectory",
        "the secret and the files of the one cluster that is tried",
    ),
    ("v1/estimators/early_stopping.py", "InMemoryEvaluatorHook._evaluate"): (
        "tempfile.TemporaryDirectory",
        "a folder of its own for the checkpoint of an evaluation",
    ),
    ("v1/estimators/exporters.py", "_SavedModel._write"): (
        "shutil.rmtree",
        "folders whose names are numbers, older exports than exports_to_keep, in the exporter's own folder",
    ),
    ("v1/learn/experiment.py", "make_export_strategy.export"): (
        "shutil.rmtree",
        "folders whose names are numbers, older exports than exports_to_keep, in the strategy's own folder",
    ),
    ("v1/keras/model_pictures.py", "plot_model"): ("write_bytes, write_text", "the picture that the caller named"),
    ("v1/keras/engine/saving.py", "SavedByKeras.save"): (
        "write_text",
        "the configuration in the folder that the caller named",
    ),
    ("lessons/exercises/save_and_restore.py", "_counted"): ("tempfile.TemporaryDirectory", CHECKPOINTS),
    ("lessons/exercises/save_and_restore.py", "_half"): ("tempfile.TemporaryDirectory", CHECKPOINTS),
    ("lessons/exercises/viewer.py", "_best"): (
        "tempfile.TemporaryDirectory",
        "a folder of its own for the event files among whose runs an answer chooses",
    ),
    ("lessons/progress_file.py", "_set_aside"): (
        "os.link, os.unlink",
        "a damaged file of the progress, which has a second name, a free one, by then",
    ),
    ("lessons/progress_file.py", "_write"): ("write_text", "a new file in a scratch folder"),
    ("preparation/command_line.py", "_alone"): (
        "open",
        "an empty file in the cache, which is locked and never written",
    ),
    ("ops/logging/print_assert.py", "_print_text"): ("open", "appends to the file that tf.print's caller named"),
    ("system/files.py", "replace_file"): ("os.replace", REPLACED),
    ("system/scratch.py", "Claim.__init__"): ("os.open", f"creates an owner file {OWN_TOKEN}; it must be new"),
    ("system/scratch.py", "Claim.release"): ("os.unlink", f"the owner file, {OWN_TOKEN}"),
    ("system/scratch.py", "remove_owners"): (
        "os.unlink",
        "owner files, by their exact form, in the folder of merged parts",
    ),
    ("system/scratch.py", "Scratch.__init__"): ("shutil.rmtree", f"the folder {OWN_TOKEN}"),
    ("system/scratch.py", "Scratch.remove"): ("os.rmdir, os.unlink, shutil.rmtree", f"the folder {OWN_TOKEN}"),
    ("system/scratch.py", "abandoned"): (
        "shutil.rmtree",
        "a scratch folder by its exact form, with an owner file of tfnb's that nobody holds locked",
    ),
    ("system/scratch.py", "_lock_owners"): ("os.open", "opens an owner file to lock it; nothing is written"),
    ("ops/checkpoint/shard.py", "write_shard"): ("open", "a new file in a scratch folder"),
    ("ops/checkpoint/files.py", "_publish"): (
        "open, open, os.replace, os.replace, os.replace",
        "new files in the scratch folder, which take the names of shards, with this save's token, and of the index",
    ),
    ("ops/checkpoint/files.py", "_remove"): (
        "os.unlink",
        "shards that the index of the same prefix named, in the form of a save's names, and that index",
    ),
    ("ops/checkpoint/files.py", "remove_own_checkpoint"): (
        "os.replace",
        "an index that was read as one of ours, into the scratch folder of this call",
    ),
    ("ops/checkpoint/files.py", "_merged"): ("shutil.copyfile", "into the scratch folder of this call"),
    ("ops/checkpoint/parts.py", "remove_folders"): (
        "os.rmdir",
        "the folder of merged parts, if empty, by its exact form",
    ),
    ("ops/checkpoint/tensorflow_v2.py", "remove_checkpoint"): (
        "os.unlink, os.unlink",
        "an index that was read as one of TensorFlow's, and the data files that it makes its own",
    ),
    ("ops/dataset/cache.py", "FileCached._write"): (
        "open, os.replace",
        "a new file in a scratch folder, which takes the name that the caller gave the cache",
    ),
    ("ops/io/files.py", "_write"): ("path.write_bytes", f"WriteFile: {CALLER}"),
    ("ops/logging/summary_messages.py", "_wav"): ("wave.open", "writes into memory"),
    ("client/graph/graph_def.py", "write_message.write"): ("open", "a new file in a scratch folder"),
    ("client/io/records.py", "TFRecordWriter.__init__"): ("open", f"TFRecordWriter: {CALLER}"),
    ("client/platform/gfile.py", "GFile._opened"): ("open", f"tf.gfile: {CALLER}"),
    ("client/platform/gfile.py", "Remove"): ("unlink", f"tf.gfile: {CALLER}"),
    ("client/platform/gfile.py", "DeleteRecursively"): ("path.unlink, shutil.rmtree", f"tf.gfile: {CALLER}"),
    ("client/platform/gfile.py", "Copy"): ("shutil.copyfile", f"tf.gfile: {CALLER}"),
    ("client/platform/gfile.py", "Rename"): ("os.replace", f"tf.gfile: {CALLER}"),
    ("datasets/vocabulary.py", "VocabularyProcessor.save"): ("open", CALLER),
    ("disk_cache.py", "write_atomically"): (
        "os.fdopen, os.replace, os.unlink, tempfile.mkstemp",
        f"in the folder of the kernel cache, {OWN_TOKEN}",
    ),
    ("devices/opencl/builtin_library.py", "BuiltinLibrary._linked"): (
        "link.symlink_to",
        "a link in the folder of this process; an existing one is kept",
    ),
    ("devices/opencl/kernel_folder.py", "KernelFolder.__init__"): (
        "os.symlink",
        f"in the process's folder, {OWN_TOKEN}",
    ),
    ("devices/opencl/kernel_folder.py", "KernelFolder._make"): (
        "os.open, tempfile.mkdtemp",
        "a new folder of a random name, and a lock file in it",
    ),
    ("devices/opencl/kernel_folder.py", "KernelFolder._move"): (
        "os.replace, os.symlink, shutil.copytree",
        "a link in the process's folder, and a copy into its new folder",
    ),
    ("devices/opencl/error_counts.py", "without_counts"): (
        "tempfile.TemporaryFile",
        "a file without a name, in which the compiler writes how many errors there were",
    ),
    ("devices/opencl/kernel_folder.py", "KernelFolder._forget"): (
        "shutil.rmtree",
        "a program that this process compiled, in the process's folder",
    ),
    ("devices/opencl/kernel_folder.py", "try_place"): (
        "tempfile.TemporaryFile",
        "a file without a name, to see whether the folder can be written",
    ),
    ("devices/opencl/kernel_folder.py", "_folder_of_temporary_files"): (
        "tempfile.gettempdir",
        "Python's own search for a folder, which writes a file of a random name and removes it",
    ),
    ("devices/opencl/kernel_folder.py", "_remove_if_dead"): (
        "os.open, shutil.rmtree",
        "in the kernel cache, a folder in the exact form of a process's, with a lock file that nobody holds locked",
    ),
    ("summary/events_writer.py", "EventsWriter._opened"): ("open", "appends to the file of its prefix and second"),
    ("summary/event_file.py", "EventFile._open"): ("open", "a new event file; one of that name is an error"),
    ("summary/event_file.py", "EventFile.leave_to_parent"): ("os.open", "the null device"),
    ("session/dask/transport/secret.py", "_read_or_made"): (
        "os.open",
        "the cluster's secret in the user's own folder; it is written only while it is empty, under a lock",
    ),
    ("train/saving/best_checkpoints.py", "_write"): ("write_text", "a new file in a scratch folder"),
    ("train/saving/checkpoint_state.py", "_write"): ("write_text", "a new file in a scratch folder"),
    ("train/saving/checkpoint_state.py", "delete_checkpoint"): (
        "path.unlink",
        "the MetaGraph beside a checkpoint, if its content is one",
    ),
    ("train/hooks/saving_hooks.py", "ProfilerHook.after_run"): (
        "open",
        "the timeline of a step in the folder that the user gives, named by the step as in TensorFlow",
    ),
    ("v1/estimators/estimator.py", "Estimator.__init__"): ("tempfile.mkdtemp", "a new folder of a random name"),
    ("v1/estimators/export.py", "add_extra_assets"): ("shutil.copyfile", "into the new folder of this export"),
    ("train/saving/saved_model.py", "SavedModelBuilder._add_asset"): ("shutil.copyfile", "into a scratch folder"),
    ("train/saving/saved_model.py", "SavedModelBuilder.save"): (
        "open, os.rename",
        "a new file in a scratch folder, which takes a name at which there was nothing",
    ),
    ("train/testing.py", "get_temp_dir"): ("tempfile.mkdtemp", "a new folder of a random name"),
    ("train/testing.py", "TestCase.get_temp_dir"): ("tempfile.mkdtemp", "a new folder of a random name"),
    ("notebook/traces/view.py", "Timeline.save"): ("write_text", CALLER),
    ("notebook/viewer/media.py", "audio_item"): ("wave.open", "writes into memory"),
}

OF_PATHS = {"rmdir", "touch", "unlink", "write_bytes", "write_text", "symlink_to", "hardlink_to", "link_to"}
OF_OS = {
    "link",
    "remove",
    "removedirs",
    "rename",
    "renames",
    "replace",
    "rmdir",
    "symlink",
    "truncate",
    "ftruncate",
    "unlink",
}
OF_SHUTIL = {"copy", "copy2", "copyfile", "copytree", "move", "rmtree", "unpack_archive"}
ONLY_READS = {"O_CLOEXEC", "O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK", "O_RDONLY"}


class Calls(ast.NodeVisitor):
    """The calls of a module that may change what is on the disk, by the function that they are in."""

    def __init__(self) -> None:
        self.found: dict[str, list[str]] = {}
        self._inside: list[str] = []

    def _enter(self, node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self._inside.append(node.name)
        self.generic_visit(node)
        self._inside.pop()

    visit_ClassDef = visit_FunctionDef = visit_AsyncFunctionDef = _enter

    def visit_Call(self, node: ast.Call) -> None:
        name = changing(node)
        if name:
            self.found.setdefault(".".join(self._inside), []).append(name)
        self.generic_visit(node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """`from os import unlink` would hide a call from the test."""
        names = {alias.name for alias in node.names}
        hidden = {"os": OF_OS, "shutil": names, "tempfile": names}.get(node.module or "", set()) & names
        assert not hidden, f"{sorted(hidden)} must be called by the name of the module"


def changing(node: ast.Call) -> str:
    """The name of a call that may change what is on the disk, or ""."""
    function = node.func
    if isinstance(function, ast.Name):
        return "open" if function.id == "open" and writes(node, 1) else ""
    if not isinstance(function, ast.Attribute):
        return ""
    owner, name = ast.unparse(function.value), function.attr
    if owner == "os":
        opened = name == "open" and not {n for n in flags(node.args[1]) if n.startswith("O_")} <= ONLY_READS
        return f"os.{name}" if name in OF_OS or opened or (name == "fdopen" and writes(node, 1)) else ""
    if owner == "shutil":
        return f"shutil.{name}" if name in OF_SHUTIL else ""
    if owner == "tempfile":
        return f"tempfile.{name}"
    if name == "open":
        return f"{owner}.open" if owner in ("gzip", "wave", "io", "bz2", "lzma", "codecs") and writes(node, 1) else ""
    of_path = name in OF_PATHS or (name in ("rename", "replace") and len(node.args) == 1 and not node.keywords)
    return (f"{owner}.{name}" if owner.isidentifier() else name) if of_path else ""


def writes(node: ast.Call, place: int) -> bool:
    """Does the mode of a call of `open` let it write, or can it not be known?"""
    mode = (
        node.args[place] if len(node.args) > place else next((k.value for k in node.keywords if k.arg == "mode"), None)
    )
    if mode is None:
        return False
    return not isinstance(mode, ast.Constant) or any(c in str(mode.value) for c in "wax+")


def flags(node: ast.expr) -> set[str]:
    return {n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)}


def test_each_call_that_changes_the_disk_has_its_reason():
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        calls = Calls()
        calls.visit(ast.parse(path.read_text(encoding="utf-8")))
        for function, names in calls.found.items():
            found[str(path.relative_to(PACKAGE)), function] = ", ".join(sorted(names))
    assert found == {place: calls for place, (calls, _) in REASONS.items()}


def test_a_new_call_is_found():
    for text, name in (
        ("os.unlink(path)", "os.unlink"),
        ("path.replace(other)", "path.replace"),
        ("(a / b).unlink()", "unlink"),
        ("open(path, 'r+')", "open"),
        ("open(path, mode)", "open"),
        ("os.open(p, os.O_WRONLY)", "os.open"),
        ("text.replace(a, b)", ""),
        ("open(path, 'rb')", ""),
        ("open(path)", ""),
        ("os.open(p, os.O_RDONLY)", ""),
    ):
        (node,) = (n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Call))
        assert changing(node) == name
