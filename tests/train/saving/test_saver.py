"""Saver: what is saved comes back; names, shards, what is kept, best ones, saving beside the training."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

import tfnb as tf
from tfnb.errors import (
    DTypeError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
)
from tfnb.system.scratch import Claim

pytestmark = pytest.mark.opencl


@pytest.fixture
def sess():
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def start(sess):
    sess.run(tf.global_variables_initializer())


VALUES = {
    "floats": np.arange(6, dtype="f").reshape(2, 3),
    "doubles": np.array([1.5, -2.5]),
    "scalar": np.array(7, np.int64),
    "flags": np.array([True, False]),
    "halfs": np.array([0.5, 2.0], np.float16),
    "empty": np.zeros((0, 4), "f"),
    "complex": np.array([[1 + 2j, 3 - 1j]], np.complex64),
    "texts": np.array([b"", b"\x00bytes", "grün".encode()], object),
    "bytes": np.arange(5, dtype=np.uint8),
    "brain": np.array([1.0, -0.5], tf.bfloat16.np),
}


@pytest.mark.parametrize("options", [{}, {"sharded": True}, {"restore_sequentially": True}], ids=str)
def test_every_dtype_comes_back(sess, tmp_path, options):
    made = {k: tf.Variable(v, name=k) for k, v in VALUES.items()}
    saver = tf.train.Saver(**options)
    start(sess)
    path = saver.save(sess, tmp_path / "model.ckpt", global_step=3)
    assert path == str(tmp_path / "model.ckpt-3")
    with tf.Session() as other:  # nothing is initialised there
        saver.restore(other, path)
        for k, v in made.items():
            np.testing.assert_array_equal(other.run(v), VALUES[k], err_msg=k)
    reader = tf.train.NewCheckpointReader(path)
    assert reader.get_variable_to_shape_map() == {k: list(v.shape) for k, v in VALUES.items()}
    assert reader.get_variable_to_dtype_map()["brain"] is tf.bfloat16
    assert not list(tmp_path.glob("*temp*")) and not list(tmp_path.glob("*.tmp-*"))


def test_parts_that_a_killed_training_left_go_with_the_next_save(tmp_path):
    v = tf.Variable(1.0, name="v")
    saver = tf.train.Saver([v], sharded=True)
    dead, alive, foreign = (tmp_path / f"m-{k}_temp_{k * 32}" for k in "345")
    for folder in (dead, alive, foreign, tmp_path / "m-3_temp_results"):
        folder.mkdir()
        (folder / "part-00000-of-00002.index").write_text("unfinished")
    Claim(str(dead)).leave()  # as the operating system does for a process that ends
    claim = Claim(str(alive))
    with tf.Session() as sess:
        sess.run(v.initializer)
        saver.save(sess, str(tmp_path / "m"), 3)
    assert {p.name for p in tmp_path.glob("*_temp_*")} == {alive.name, foreign.name, "m-3_temp_results"}
    claim.release()


def test_a_sharded_save_that_failed_leaves_nothing_after_the_next(tmp_path):
    v = tf.Variable(1.0, name="v")
    w = tf.Variable(1.0, name="w")
    saver = tf.train.Saver([v, w], sharded=True)
    with tf.Session() as sess:
        sess.run(v.initializer)
        for step in (1, 2):
            with pytest.raises(FailedPreconditionError):
                saver.save(sess, str(tmp_path / "m"), step)
        sess.run(w.initializer)
        saver.save(sess, str(tmp_path / "m"), 3)
    assert not list(tmp_path.glob("*_temp_*"))


def test_sharded_over_devices(tmp_path):
    config = tf.ConfigProto(device_count={"CPU": 2}, allow_soft_placement=True)
    with tf.Graph().as_default(), tf.Session(config=config) as sess:
        with tf.device("/cpu:0"):
            a = tf.Variable([1.0, 2.0], name="a")
        with tf.device("/cpu:1"):
            b = tf.Variable([[3.0]], name="b")
        saver = tf.train.Saver(sharded=True)
        start(sess)
        path = saver.save(sess, tmp_path / "m")
        assert len(list(tmp_path.glob("m.data-*-of-00002-*.safetensors"))) == 2
        sess.run([a.assign([0.0, 0.0]), b.assign([[0.0]])])
        saver.restore(sess, path)
        assert [x.tolist() for x in sess.run([a, b])] == [[1, 2], [[3]]]
        saver.save(sess, tmp_path / "m")
        assert len(list(tmp_path.glob("m.data-*"))) == 2


@pytest.mark.parametrize("options", [{}, {"sharded": True}], ids=str)
def test_missing_folders_are_made(sess, tmp_path, options):
    v = tf.Variable(1.0, name="v")
    start(sess)
    saver = tf.train.Saver(**options)
    path = saver.save(sess, str(tmp_path / "run" / "one" / "m"))
    saver.restore(sess, tf.train.latest_checkpoint(tmp_path / "run" / "one"))
    other = saver.save_async(sess, str(tmp_path / "run" / "two" / "m")).result()
    assert tf.train.load_variable(path, "v") == tf.train.load_variable(other, "v") == sess.run(v)
    saver.close()


def test_checkpoints_of_another_folder_are_not_removed(sess, tmp_path):
    """A pointer file that came with a copied folder may name the checkpoints of the run that it is a copy of."""
    tf.Variable(1.0, name="v")
    start(sess)
    first = [tf.train.Saver().save(sess, str(tmp_path / "a" / "m"), k) for k in range(2)]
    second = [tf.train.Saver().save(sess, str(tmp_path / "b" / "m"), k) for k in range(2)]
    saver = tf.train.Saver(max_to_keep=1)
    saver.recover_last_checkpoints(first + second)
    path = saver.save(sess, str(tmp_path / "b" / "m"), 7)
    assert [p for p in first + second if tf.train.checkpoint_exists(p)] == first
    assert saver.last_checkpoints == [path]


def test_some_variables_and_other_names(sess, tmp_path):
    a, b = tf.Variable(1.0, name="a"), tf.Variable(2.0, name="b")
    start(sess)
    path = tf.train.Saver({"first": a, "second": b}).save(sess, str(tmp_path / "m"))
    assert tf.train.list_variables(path) == [("first", []), ("second", [])]
    sess.run([a.assign(10.0), b.assign(20.0)])
    tf.train.Saver({"second": a}).restore(sess, path)
    assert sess.run([a, b]) == [2.0, 20.0]
    with pytest.raises(NotFoundError, match=r"Key a not found in checkpoint .*m \(and 1 more"):
        tf.train.Saver().restore(sess, path)


def test_max_to_keep_and_the_pointer_file(sess, tmp_path):
    step = tf.Variable(0, name="step")
    saver = tf.train.Saver(max_to_keep=2)
    start(sess)
    paths = []
    for _ in range(4):
        sess.run(step.assign_add(1))
        paths.append(saver.save(sess, str(tmp_path / "m"), step))
    assert [p.rpartition("-")[2] for p in paths] == list("1234")
    assert saver.last_checkpoints == paths[2:]
    assert [tf.train.checkpoint_exists(p) for p in paths] == [False, False, True, True]
    assert sum("safetensors" in p.name for p in tmp_path.iterdir()) == 2
    assert tf.train.latest_checkpoint(tmp_path) == paths[3]
    state = tf.train.get_checkpoint_state(str(tmp_path))
    assert state.model_checkpoint_path == paths[3]
    assert list(state.all_model_checkpoint_paths) == paths[2:]
    later = tf.train.Saver(max_to_keep=2)
    later.recover_last_checkpoints(["no such", *state.all_model_checkpoint_paths])
    assert later.last_checkpoints == paths[2:]
    later.save(sess, str(tmp_path / "m"), 5)
    assert not tf.train.checkpoint_exists(paths[2])
    assert tf.train.latest_checkpoint(tmp_path / "none") is None


def test_one_per_hour_stays(sess, tmp_path, monkeypatch):
    tf.Variable(0.0)
    now = time.time()
    clock = [now]
    monkeypatch.setattr(time, "time", lambda: clock[0])
    saver = tf.train.Saver(max_to_keep=1, keep_checkpoint_every_n_hours=1.0)
    start(sess)
    paths = []
    for i in range(6):  # every 25 minutes
        clock[0] = now + i * 1500.0
        paths.append(saver.save(sess, str(tmp_path / "m"), i))
    kept = [tf.train.checkpoint_exists(p) for p in paths]
    assert kept == [False, False, False, True, False, True]


def test_the_best_stay(sess, tmp_path):
    v = tf.Variable(0.0)
    saver = tf.train.Saver(max_to_keep=1, keep_best=2)
    start(sess)
    metrics = [0.5, 0.9, 0.7, 0.8, 0.1]
    for i, metric in enumerate(metrics):
        sess.run(v.assign(metric))
        saver.save(sess, str(tmp_path / "m"), i, metric=metric)
    assert [tf.train.checkpoint_exists(tmp_path / f"m-{i}") for i in range(5)] == [0, 1, 0, 1, 1]
    assert saver.best_checkpoint == tf.train.best_checkpoint(tmp_path) == str(tmp_path / "m-1")
    again = tf.train.Saver(max_to_keep=1, keep_best=2)
    again.recover_last_checkpoints([str(tmp_path / "m-4")])
    again.save(sess, str(tmp_path / "m"), 5, metric=0.85)
    assert [tf.train.checkpoint_exists(tmp_path / f"m-{i}") for i in range(6)] == [0, 1, 0, 0, 0, 1]
    with pytest.raises(InvalidArgumentError, match="NaN"):
        again.save(sess, str(tmp_path / "m"), 6, metric=float("nan"))
    lowest = tf.train.Saver(keep_best=1, best_mode="min", max_to_keep=1)
    for i, metric in enumerate([3.0, 1.0, 2.0]):
        lowest.save(sess, str(tmp_path / "low"), i, metric=metric)
    assert lowest.best_checkpoint == str(tmp_path / "low-1")
    assert tf.train.best_checkpoint(tmp_path / "none") is None


def test_the_same_name_again(sess, tmp_path):
    v = tf.Variable(1.0)
    saver = tf.train.Saver()
    start(sess)
    for value in (1.0, 2.0):
        sess.run(v.assign(value))
        path = saver.save(sess, str(tmp_path / "m"))
    assert saver.last_checkpoints == [path]
    assert sorted(p.name.split(".")[1][:5] for p in tmp_path.glob("m.*")) == ["data-", "index", "meta"]
    sess.run(v.assign(0.0))
    saver.restore(sess, path)
    assert sess.run(v) == 2.0


@pytest.mark.one_process("a relative path means the folder of the process that writes")
def test_relative_paths(sess, tmp_path, monkeypatch):
    tf.Variable(1.0)
    start(sess)
    (tmp_path / "a").mkdir()
    monkeypatch.chdir(tmp_path)
    path = tf.train.Saver(pad_step_number=True).save(sess, "a/m", 3)
    assert path == "a/m-00000003"
    assert 'model_checkpoint_path: "m-00000003"' in (tmp_path / "a" / "checkpoint").read_text()
    assert tf.train.latest_checkpoint("a") == path
    tf.train.Saver(save_relative_paths=True).save(sess, tmp_path / "a" / "m", 4, latest_filename="mine")
    (tmp_path / "a").rename(tmp_path / "b")
    assert tf.train.latest_checkpoint("b", "mine") == "b/m-4"


def test_strange_names_in_the_pointer_file(tmp_path):
    path = str(tmp_path / 'quote" back\\slash\nline grün')
    tf.train.update_checkpoint_state(str(tmp_path), path, [path])
    assert tf.train.get_checkpoint_state(tmp_path).model_checkpoint_path == path


def test_reshape(sess, tmp_path):
    a = tf.Variable(np.arange(6.0), name="a")
    start(sess)
    path = tf.train.Saver({"x": a}).save(sess, str(tmp_path / "m"))
    b = tf.Variable(np.zeros((2, 3)), name="b")
    with pytest.raises(InvalidArgumentError, match=r"shape \(2, 3\) here, \(6,\)"):
        tf.train.Saver({"x": b}).restore(sess, path)
    tf.train.Saver({"x": b}, reshape=True).restore(sess, path)
    assert sess.run(b).tolist() == [[0, 1, 2], [3, 4, 5]]


def test_saver_def_and_deferred_building(sess, tmp_path):
    saver = tf.train.Saver(defer_build=True, max_to_keep=3)
    v = tf.Variable(4.0)
    with pytest.raises(FailedPreconditionError, match="build"):
        saver.save(sess, str(tmp_path / "m"))
    saver.build()
    start(sess)
    told = saver.as_saver_def()
    assert told.filename_tensor_name == "save/Const:0"
    assert told.save_tensor_name == "save/control_dependency:0"
    assert told.restore_op_name == "save/restore_all"
    again = tf.train.Saver.from_proto(told)
    path = again.save(sess, str(tmp_path / "m"))
    sess.run(v.assign(0.0))
    again.restore(sess, path)
    assert sess.run(v) == 4.0
    assert again.as_saver_def().max_to_keep == 3


def test_what_is_refused(sess, tmp_path):
    with pytest.raises(InvalidArgumentError, match="no variables"):
        tf.train.Saver()
    empty = tf.train.Saver(allow_empty=True)
    empty.save(sess, str(tmp_path / "e"))
    assert not list(tmp_path.iterdir())
    v = tf.Variable(1.0, name="v")
    with pytest.raises(DTypeError, match="only variables"):
        tf.train.Saver([v, tf.constant(1.0)])
    with pytest.raises(InvalidArgumentError, match="same name: v"):
        tf.train.Saver([v, v])
    saver = tf.train.Saver()
    with pytest.raises(FailedPreconditionError, match="uninitialized"):
        saver.save(sess, str(tmp_path / "m"))
    start(sess)
    (tmp_path / "file").write_text("")
    with pytest.raises(FailedPreconditionError, match="file"):
        saver.save(sess, str(tmp_path / "file" / "none" / "m"))
    with pytest.raises(InvalidArgumentError, match="pointer"):
        saver.save(sess, str(tmp_path / "checkpoint"))
    with pytest.raises(InvalidArgumentError, match="name a file"):
        saver.save(sess, "")
    with pytest.raises(DTypeError, match="global_step"):
        saver.save(sess, str(tmp_path / "m"), "one")
    with pytest.raises(InvalidArgumentError, match="None"):
        saver.restore(sess, None)
    with pytest.raises(NotFoundError, match="Failed to find any matching files"):
        saver.restore(sess, str(tmp_path / "none"))


def test_saving_beside_the_training(sess, tmp_path, monkeypatch):
    from tfnb.train.saving import saver as module

    a, b = tf.Variable(np.zeros(1000)), tf.Variable(0.0)
    both = tf.group(a.assign_add(np.ones(1000)), b.assign_add(1.0))
    saver = tf.train.Saver(max_to_keep=2)
    start(sess)
    gate, write = threading.Event(), module.write_checkpoint

    def slow(path, items):
        assert gate.wait(60)
        write(path, items)

    monkeypatch.setattr(module, "write_checkpoint", slow)
    sess.run(both)
    future = saver.save_async(sess, str(tmp_path / "m"), 1)
    for _ in range(5):
        sess.run(both)  # goes on while the checkpoint is being written
    assert not future.done() and tf.train.latest_checkpoint(tmp_path) is None
    gate.set()
    assert future.result(60) == str(tmp_path / "m-1")
    saver.save_async(sess, str(tmp_path / "m"), 6)
    saver.close()
    assert not [t for t in threading.enumerate() if t.name.startswith("tfnb-saver")]
    for step, value in ((1, 1.0), (6, 6.0)):
        saver.restore(sess, str(tmp_path / f"m-{step}"))
        x, y = sess.run([a, b])
        assert (x == value).all() and y == value
    monkeypatch.setattr(module, "write_checkpoint", lambda *_: 1 / 0)
    saver.save_async(sess, str(tmp_path / "m"), 7)
    with pytest.raises(ZeroDivisionError):
        saver.wait()
    saver.close()


def test_reading_without_a_graph(sess, tmp_path):
    tf.Variable([1.0, 2.0], name="scope/w")
    start(sess)
    path = tf.train.Saver().save(sess, str(tmp_path / "m"), 1)
    for where in (path, tmp_path):
        assert tf.train.load_variable(where, "scope/w:0").tolist() == [1, 2]
        assert tf.contrib.framework.list_variables(where) == [("scope/w", [2])]
    reader = tf.train.load_checkpoint(path)
    assert reader.has_tensor("scope/w") and not reader.has_tensor("w")
    assert reader.debug_string() == b"scope/w (DT_FLOAT) [2]\n"
    with pytest.raises(NotFoundError, match="Key no"):
        reader.get_tensor("no")
    with pytest.raises(NotFoundError, match="no checkpoint"):
        tf.train.NewCheckpointReader(tmp_path / "none")
    (tmp_path / "empty").mkdir()
    with pytest.raises(NotFoundError, match="folder"):
        tf.train.load_checkpoint(tmp_path / "empty")


def test_beginning_with_a_checkpoint(sess, tmp_path):
    tf.Variable([1.0, 2.0], name="old/w")
    tf.Variable(3.0, name="old/b")
    start(sess)
    path = tf.train.Saver().save(sess, str(tmp_path / "m"))
    with tf.Graph().as_default(), tf.Session() as other:
        w, b = tf.Variable([0.0, 0.0], name="new/w"), tf.Variable(0.0, name="new/b")
        x = tf.Variable(0.0, name="x")
        tf.train.init_from_checkpoint(path, {"old/": "new/"})
        tf.train.init_from_checkpoint(tmp_path, {"old/b": x})
        start(other)
        assert [np.asarray(v).tolist() for v in other.run([w, b, x])] == [[1, 2], 3, 3]
        with pytest.raises(NotFoundError, match=r"Tensor none is not found in .*m checkpoint"):
            tf.train.init_from_checkpoint(path, {"none": x})
        with pytest.raises(tf.errors.ShapeError, match=r"variable x:0 .* doesn't match with shape of tensor old/w"):
            tf.train.init_from_checkpoint(path, {"old/w": x})
        other.run([w.assign([0.0, 0.0]), b.assign(0.0)])
        op, feed = tf.contrib.framework.assign_from_checkpoint(path, {"old/w": w, "old/b": b})
        other.run(op, feed)
        assert other.run(b) == 3.0
        other.run(b.assign(0.0))
        tf.contrib.framework.assign_from_checkpoint_fn(path, {"old/b": b, "no": x}, True)(other)
        assert other.run(b) == 3.0


def test_threads_may_save_at_once(sess, tmp_path):
    v = tf.Variable(np.arange(1000.0))
    saver = tf.train.Saver(max_to_keep=2)
    start(sess)
    threads = [
        threading.Thread(target=lambda k=k: [saver.save(sess, str(tmp_path / "m"), j % 2) for j in range(k, k + 5)])
        for k in range(3)
    ]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for path in saver.last_checkpoints:
        saver.restore(sess, path)
        assert sess.run(v)[-1] == 999.0
    assert len(list(tmp_path.glob("*.safetensors"))) == 2


@pytest.mark.not_compared("threads run steps for as long as others save")
def test_restoring_with_several_nodes_while_another_saves(tmp_path):
    """The values of one save come back, not those of two."""
    path = str(tmp_path / "m")

    def values(of_graph):
        with of_graph.as_default():
            return [tf.Variable(np.zeros(3), name=name) for name in "abcd"], tf.train.Saver(restore_sequentially=True)

    ours, theirs = tf.Graph(), tf.Graph()
    (read, restoring), (written, saving) = values(ours), values(theirs)
    with tf.Session(graph=ours) as one, tf.Session(graph=theirs) as other:
        with theirs.as_default():
            more = tf.group(*[v.assign_add(np.ones(3)) for v in written])
            other.run(tf.global_variables_initializer())
        saving.save(other, path)
        restoring.restore(one, path)  # which compiles, and may take as long as all that follows
        done = threading.Event()

        def save():
            for _ in range(15):
                other.run(more)
                saving.save(other, path, write_meta_graph=False, write_state=False)
            done.set()

        thread = threading.Thread(target=save)
        thread.start()
        found = set()
        while not done.is_set():
            restoring.restore(one, path)
            (value,) = {float(x) for v in one.run(read) for x in v}
            found.add(value)
        thread.join()
        assert len(found) > 1


def test_saver_without_variables_writes_nothing(sess, tmp_path):
    saver = tf.train.Saver(allow_empty=True)
    assert saver.save(sess, tmp_path / "none") is None
    saver.restore(sess, tmp_path / "none")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("keep", [None, 0])
def test_saver_that_keeps_all_lists_only_the_latest(sess, tmp_path, keep):
    tf.Variable(1.0)
    start(sess)
    saver = tf.train.Saver(max_to_keep=keep)
    paths = [saver.save(sess, tmp_path / "m", step) for step in range(3)]
    assert saver.last_checkpoints == [] and all(tf.train.checkpoint_exists(p) for p in paths)
    assert list(tf.train.get_checkpoint_state(tmp_path).all_model_checkpoint_paths) == paths[-1:]


def test_saver_that_is_not_built_raises_runtime_error(sess, tmp_path):
    tf.Variable(1.0)
    with pytest.raises(RuntimeError, match="build"):
        tf.train.Saver(defer_build=True).save(sess, tmp_path / "m")


def test_name_of_pointer_file_is_refused_unless_sharded(sess, tmp_path):
    v = tf.Variable(1.0)
    start(sess)
    with pytest.raises(ValueError, match="collides with"):
        tf.train.Saver().save(sess, tmp_path / "checkpoint")
    saver = tf.train.Saver(sharded=True)
    saver.save(sess, tmp_path / "checkpoint")
    sess.run(v.assign(2.0))
    saver.restore(sess, tf.train.latest_checkpoint(tmp_path))
    assert sess.run(v) == 1.0


def test_file_name_of_saver_may_be_bytes(sess):
    tf.Variable(1.0)
    saver = tf.train.Saver(filename=b"name")
    assert sess.run(saver.saver_def.filename_tensor_name) == b"name"


def test_pointer_file_keeps_absolute_paths_beside_relative_ones(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train").mkdir()
    absolute = str(tmp_path / "model-0")
    tf.train.update_checkpoint_state("train", "train/model-2", [absolute, "train/model-2"])
    state = tf.train.get_checkpoint_state("train")
    assert list(state.all_model_checkpoint_paths) == [absolute, "train/model-2"]
    (tmp_path / "checkpoint").write_text("")
    with pytest.raises(ValueError, match="names no checkpoint"):
        tf.train.get_checkpoint_state(tmp_path)


def test_a_folder_that_is_a_file(tmp_path):
    (tmp_path / "file").write_text("")
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.Variable(1.0)
        with pytest.raises(ValueError, match=r"Parent directory of .*file/model doesn't exist, can't save"):
            tf.train.Saver().save(sess, str(tmp_path / "file" / "model"))


def test_a_meta_graph_lists_the_definitions_of_its_ops():
    with tf.Graph().as_default():
        v = tf.Variable(1.0)
        tf.data.Dataset.range(3).map(lambda x: x * 2).make_one_shot_iterator()
        v.assign_sub(2.0)
        meta_graph = tf.train.export_meta_graph()
    listed = meta_graph.meta_info_def.stripped_op_list.op
    names = [op.name for op in listed]
    assert names == sorted(names) and {"AssignSub", "Const", "RangeDataset", "VariableV2"} <= set(names)
    assign = listed[names.index("AssignSub")]
    assert [(a.name, a.is_ref) for a in assign.input_arg] == [("ref", True), ("value", False)]
    assert tf.contrib.util.stripped_op_list_for_graph(meta_graph.graph_def) == meta_graph.meta_info_def.stripped_op_list


def test_a_whole_variable_and_a_slice_of_its_name():
    whole, part = tf.Variable([1.0], name="v"), tf.Variable([2.0], name="w")
    part.save_slice_info = tf.Variable.SaveSliceInfo("v", [1], [0], [1])
    with pytest.raises(InvalidArgumentError, match="same name: v"):
        tf.train.Saver([whole, part])


def test_the_files_of_a_checkpoint_may_have_another_prefix(sess, tmp_path):
    v = tf.Variable(3.0, name="v")
    start(sess)
    path = tf.train.Saver().save(sess, str(tmp_path / "model.ckpt-1"))
    (tmp_path / "out").mkdir()
    for file in tf.gfile.Glob(path + "*"):
        tf.gfile.Copy(file, str(tmp_path / "out" / "best") + file.partition(path)[2])
        tf.gfile.Rename(file, str(tmp_path / "last") + file.partition(path)[2])
    for moved in (tmp_path / "out" / "best", tmp_path / "last"):
        sess.run(v.assign(0.0))
        tf.train.Saver().restore(sess, str(moved))
        assert sess.run(v) == 3.0 and tf.train.load_variable(str(moved), "v") == 3.0
