"""Every exercise: a right answer, and each kind of mistake, is recognised; no text contains what is asked for."""

from __future__ import annotations

import re
import sys

import pytest
from lessons.answers import (
    builder,
    control_flow,
    convolutions,
    dask_cluster,
    digits,
    embeddings,
    first_graph,
    input_pipeline,
    many_devices,
    old_programs,
    own_operation,
    profile,
    recurrent_text,
    save_and_restore,
    viewer,
)

import tfnb as tf
from tfnb.lessons.case import Kind
from tfnb.lessons.catalogue import EXERCISES

pytestmark = [pytest.mark.opencl, pytest.mark.one_process("an exercise has sessions of its own")]

MODULES = (
    *(first_graph, digits, control_flow, input_pipeline, save_and_restore),
    *(viewer, profile, many_devices, dask_cluster, builder),
    own_operation,
    convolutions,
    recurrent_text,
    embeddings,
    old_programs,
)
ANSWERS = {number: answers for module in MODULES for number, answers in module.ANSWERS.items()}
SECRETS = {number: secrets for module in MODULES for number, secrets in module.SECRETS.items()}
WRONG = [Kind.SHAPE, Kind.VALUE, Kind.FORBIDDEN, Kind.ONCE, Kind.RAISES]


def answer_of(number, kind):
    answer = ANSWERS[number][kind]
    return answer() if number in builder.MADE else answer


def contains(text, secret):
    begin, end = (r"\b" if re.match(r"\w", c) else "" for c in (secret[0], secret[-1]))
    return re.search(f"{begin}{re.escape(secret)}{end}", text) is not None


def test_there_are_three_exercises_for_each_notebook():
    assert (
        list(EXERCISES)
        == [f"{k}.{n}" for k in range(1, len(MODULES) + 1) for n in (1, 2, 3)]
        == list(ANSWERS)
        == list(SECRETS)
    )
    assert all(len([k for k in answers if k in WRONG]) >= 4 for answers in ANSWERS.values())


@pytest.mark.parametrize("number", EXERCISES)
def test_a_right_answer(number):
    report = tf.lessons.grade(number, answer_of(number, Kind.RIGHT))
    assert report.kind is Kind.RIGHT, report
    assert report.points == report.exercise.points
    assert "right" in report.text() and "Hint" not in report.text()


@pytest.mark.parametrize("number", EXERCISES)
def test_each_kind_of_mistake_and_its_hints(number):
    for kind in [kind for kind in WRONG if kind in ANSWERS[number]]:
        report = tf.lessons.grade(number, answer_of(number, kind))
        assert report.kind is kind, f"{kind}: {report}"
        assert report.points < report.exercise.points
        failed = report.failed.case
        for times, hint in enumerate(failed.hints, 1):
            text = " ".join(report.text({failed.name: times}).split())
            assert f"Hint {times} of 3: {hint}" in text and kind.value.capitalize() in text
            assert text.count("Hint") == 1
            assert [s for s in SECRETS[number] if contains(text, s)] == [], text
        assert " ".join(report.text({failed.name: 9}).split()).endswith(failed.hints[-1])


@pytest.mark.parametrize("number", EXERCISES)
def test_what_is_no_answer(number):
    report = tf.lessons.grade(number, None)
    assert report.kind is Kind.EMPTY and report.points == 0 and "nothing is there yet" in report.text()
    report = tf.lessons.grade(number, 1.5)
    assert report.kind is Kind.SHAPE and "a float; needed " in report.results[0].text


@pytest.mark.parametrize("number", EXERCISES)
def test_a_ladder_has_three_different_rungs(number):
    for case in EXERCISES[number].cases:
        assert len(set(case.hints)) == 3 and all(hint.endswith((".", "?")) for hint in case.hints)
        assert case.points > 0
        assert [s for s in SECRETS[number] if contains(" ".join(case.hints), s)] == []


def test_an_era_that_is_not_taken_back_is_seen_and_taken_back():
    modules, finders = {**sys.modules}, sys.meta_path[:]
    report = tf.lessons.grade("15.1", old_programs.leaves_a_module)
    assert report.kind is Kind.FORBIDDEN and "another module than before" in report.results[0].text
    assert sys.meta_path == finders
    assert [name for name in sys.modules.keys() ^ modules.keys() if name.startswith("tensorflow")] == []


def test_an_era_of_the_readers_stays():
    module = tf.install("0.12")
    try:
        assert tf.lessons.grade("15.1", old_programs.era_of).kind is Kind.RIGHT
        assert sys.modules["tensorflow"] is module
    finally:
        tf.uninstall()
    assert sys.modules.get("tensorflow") is not module
