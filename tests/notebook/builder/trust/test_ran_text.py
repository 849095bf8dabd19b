"""Loops and functions are drawn once the user has run their text; what a browser sends counts as run by nobody."""

import pytest
from builder_gestures import Editor, renamed

import tfnb as tf
from tfnb.notebook.builder.document import Document
from tfnb.notebook.builder.inside.function_bodies import body_state
from tfnb.notebook.builder.trust.ran_text import RanText

HEAD = "import tfnb as tf\nh = tf.zeros([3])\n"
LOOP = "for _ in range(3):\n    h = tf.nn.relu(h)\n"
END = "end = tf.identity(h)\n"


def relus(document):
    return sum(op.type == "Relu" for op in document.built.graph.get_operations())


def source(document, text):
    return document.apply({"type": "gesture", "gesture": 1, "edits": [{"edit": "source", "source": text}]})


def test_a_cell_that_is_run_gives_trust_to_its_very_statements():
    cells = []
    document = Document(HEAD, trust=RanText(cells=lambda: cells))
    source(document, HEAD + LOOP + END)
    assert relus(document) == 0 and document.catch_up() == []
    cells.append("x = 1\n" + LOOP.replace("3", "4"))
    document.catch_up()
    assert relus(document) == 0  # another loop was run
    cells.append(LOOP)
    (drawing,) = document.catch_up()
    assert relus(document) == 3 and [node["id"] for node in drawing["changed"]] == ["h:2", "end"]
    source(document, HEAD + LOOP.replace("3", "4") + END)
    assert relus(document) == 4
    source(document, HEAD + LOOP.replace("3", "5") + END)
    assert relus(document) == 0


def test_statements_in_with_blocks_and_their_heads_are_trusted_too():
    text = "names = ['a']\nwith tf.name_scope(f'layer_{names[0]}'):\n    y = [tf.nn.relu(h) for _ in names]\n"
    cells = []
    document = Document(HEAD + text, trust=RanText(cells=lambda: cells))
    assert relus(document) == 0
    cells.append(text)
    document.catch_up()
    assert [op.name for op in document.built.graph.get_operations() if op.type == "Relu"] == ["layer_a/Relu"]


@pytest.mark.parametrize("cell", ["%%time\nfor", "for (", "", "\x00", "(" * 5000, "\ud800"])
def test_a_cell_that_is_no_python_changes_nothing(cell):
    trust = RanText(cells=lambda: [cell])
    trust.catch_up()
    assert not trust.has(LOOP)


def test_what_a_program_hands_over_counts_as_run_and_a_browsers_text_does_not():
    view = tf.builder(HEAD + LOOP + END)
    assert relus(view._document) == 3
    view.answer({"type": "gesture", "gesture": 1, "edits": [{"edit": "source", "source": HEAD + LOOP + LOOP + END}]})
    assert relus(view._document) == 6  # the same text twice
    longer = LOOP.replace("3", "30")
    view.answer({"type": "gesture", "gesture": 2, "edits": [{"edit": "source", "source": HEAD + longer + END}]})
    assert relus(view._document) == 0
    view.source = HEAD + longer
    assert relus(view._document) == 30
    view.close()


def test_a_gesture_without_code_keeps_what_was_run():
    e = Editor(HEAD + LOOP + END, trust=RanText(), known={})
    e.document._builder.trust.add(LOOP)
    e.document.rebuild()
    e.do(renamed("h", "hidden"))
    assert "hidden = tf.nn.relu(hidden)" in e.source and relus(e.document) == 3
    e.do({"edit": "paste", "text": "z = [tf.nn.relu(hidden) for _ in range(9)]", "position": None})
    assert relus(e.document) == 3
    e.do(renamed("end", "last"))  # nor does it make trusted what waits for trust
    assert relus(e.document) == 3


def test_the_body_of_a_function_is_run_only_if_the_function_was():
    text = HEAD + "def f(x):\n    for _ in range(2):\n        x = tf.nn.relu(x)\n    return x\ny = f(h)\n"
    for is_trusted in (False, True):
        document = Document(text, is_trusted=is_trusted)
        state = body_state(document._state(), document.program.by_id["y"])
        loop = state.built.outcomes[1]
        assert (loop.state, len(loop.operations)) == (("built", 2) if is_trusted else ("not run", 0))
