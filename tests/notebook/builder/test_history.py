"""Undo and redo as lists of snapshots, without a document."""

from __future__ import annotations

import pytest

from tfnb.notebook.builder.history import History, Snapshot


def at(source: str) -> Snapshot:
    return Snapshot(source, {"a": [1.0, 2.0]})


def test_an_empty_history_has_nothing_to_undo_or_redo():
    history = History()
    assert (history.can_undo, history.can_redo) == (False, False)
    assert history.undo(at("now")) is None and history.redo(at("now")) is None
    assert not history.can_redo  # what could not be undone is not kept


def test_redo_brings_back_what_undo_took_away():
    history = History()
    history.record(at("1"))
    history.record(at("2"))
    assert history.undo(at("3")) == at("2") and history.undo(at("2")) == at("1")
    assert (history.can_undo, history.can_redo) == (False, True)
    assert history.redo(at("1")) == at("2") and history.redo(at("2")) == at("3")
    assert (history.can_undo, history.can_redo) == (True, False)


def test_a_new_step_ends_what_could_be_redone():
    history = History()
    history.record(at("1"))
    history.undo(at("2"))
    history.record(at("1"))
    assert not history.can_redo and history.undo(at("other")) == at("1")


@pytest.mark.parametrize("steps", [1000, 1001, 1500])
def test_the_last_thousand_steps_are_kept(steps: int):
    history = History()
    for k in range(steps):
        history.record(at(str(k)))
    undone = []
    while (before := history.undo(at("now"))) is not None:
        undone.append(before.source)
    assert len(undone) == 1000 and undone[0] == str(steps - 1) and undone[-1] == str(steps - 1000)
