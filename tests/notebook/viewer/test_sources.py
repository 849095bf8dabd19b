"""How runs are called, and folders that are not there yet."""

import numpy as np
import pytest

import tfnb as tf
from tfnb.errors import NotFoundError
from tfnb.notebook.viewer.sources import sources_of
from tfnb.notebook.viewer.state import ViewState, Wanted
from tfnb.notebook.viewer.view import View


def write(folder, value=1.0):
    with tf.summary.FileWriter(folder) as writer:
        for step in range(3):
            writer.add_summary(tf.Summary(value=[tf.Summary.Value(tag="loss", simple_value=value)]), step)


def runs(what, **options):
    return ViewState(sources_of(what, **options)).catalogue()["runs"]


def test_a_run_directly_in_the_folder_has_the_name_of_the_folder(tmp_path, monkeypatch):
    folder = tmp_path / "my-training"
    write(folder)
    monkeypatch.chdir(folder)
    for what in (folder, f"{folder}/", ".", tf.read_events(folder)):
        assert runs(what) == ["my-training"]
    assert runs({"mine": folder}) == ["mine"]
    assert runs([folder, folder]) == ["my-training", "my-training (2)"]


def test_a_folder_within_a_folder_of_its_name_is_another_run(tmp_path):
    write(tmp_path / "logs", 1.0)
    write(tmp_path / "logs" / "logs", 2.0)
    state = ViewState(sources_of(tmp_path / "logs"))
    assert sorted(state.catalogue()["runs"]) == ["./logs", "logs"]
    (content,) = state.contents(Wanted(), True)
    assert {float(np.frombuffer(c["value"])[0]) for c in content["curves"]} == {1.0, 2.0}
    assert sum(c["total"] for c in content["curves"]) == 6


def test_a_folder_that_is_not_there_yet_is_waited_for(tmp_path):
    state = ViewState(sources_of([tmp_path / "later"], waits=True))
    (note,) = state.catalogue()["notes"]
    assert str(tmp_path / "later") in note and "waits" in note
    assert not state.poll() and state.catalogue()["runs"] == []
    write(tmp_path / "later" / "a")
    assert state.poll()
    assert state.catalogue()["runs"] == ["a"] and state.catalogue()["notes"] == []
    with View(tmp_path / "never", waits=True) as view:
        assert "0 runs" in repr(view)
    with pytest.raises(NotFoundError, match="nowhere"):
        sources_of(tmp_path / "nowhere")


def test_readers_get_numbers_in_words(tmp_path):
    write(tmp_path)
    with tf.view(tmp_path) as view:
        assert "1 run, 1 scalar tag, 3 points" in view._repr_html_()
