"""The hands of a person who uses the graph builder: each gesture is counted, timed, and every tenth one photographed.

A gesture is one click, double click, drag, turn of the wheel, press of a key that is not a letter, or one word that is
typed. A person's time is that of the keystroke-level model of Card, Moran and Newell: 1.1 s to point, 0.2 s to press
a button, 0.28 s for a key, and 1.35 s to think before a choice in a list. Times in which the machine works, such as a
training, are not counted.
"""

from __future__ import annotations

from pathlib import Path

AXE = Path(__file__).resolve().parents[2] / "labextension" / "node_modules" / "axe-core" / "axe.min.js"
# What axe finds in the builder: rules, and the elements that break them.
FAULTS = """async () => (await axe.run('.tfnb-builder', {resultTypes: ['violations']})).violations
    .map(v => `${v.id}: ${v.nodes.map(n => n.html.slice(0, 160)).join(' | ')}`)"""
POINT, PRESS, KEY, THINK = 1.1, 0.2, 0.28, 1.35
CELLS = "jupyterapp.shell.currentWidget.content.model.toJSON().cells"
# Every gesture is answered, and the answer is drawn.
ANSWERED = "() => !Number(document.querySelector('.tfnb-builder .stage').dataset.pending)"
# The window has stopped moving.
RESTS = """() => {
    const { transform } = document.querySelector('.tfnb-builder .nodes').style;
    const times = window.tfnbRest?.transform === transform ? window.tfnbRest.times + 1 : 0;
    window.tfnbRest = { transform, times };
    return times >= 4;
}"""
# Where the keyboard writes, for a message.
FOCUS = "() => `the focus is at ${document.activeElement.outerHTML.slice(0, 160)}`"
# The keyboard writes into the text field above a list of the builder.
HAS_LIST = "() => document.activeElement.matches('.tfnb-builder .chooser input')"


class Hands:
    """Acts on the builder in a notebook's page, by real events of mouse and keyboard only."""

    def __init__(self, notebook, view, film, photographs=True):
        self.notebook, self.page, self.view, self.film = notebook, notebook.page, view, film
        self.gestures, self.seconds = 0, 0.0
        self.photographs = photographs

    def _count(self, seconds):
        self.gestures += 1
        self.seconds += seconds
        if self.photographs and self.gestures % 10 == 0:
            self.photograph()

    def photograph(self):
        self.page.wait_for_timeout(250)  # for the animation of the window
        self.notebook.shot(f"{self.film}-{self.gestures:03d}")

    def settle(self):
        """Waits until the kernel's answers are drawn."""
        self.page.wait_for_function(ANSWERED, timeout=30_000)
        self.page.evaluate("() => { window.tfnbRest = undefined; }")
        self.page.wait_for_function(RESTS, timeout=30_000)

    # ---- what a person sees --------------------------------------------------------------------------

    def node(self, name):
        return self.view.locator(f".node[data-node='{name}']")

    def see(self, name, text="", seconds=30):
        """Waits until a node, and a text on it, is drawn."""
        found = self.node(name).get_by_text(text) if text else self.node(name)
        found.first.wait_for(timeout=seconds * 1000)
        return found.first

    def source(self):
        return self.page.evaluate(f"{CELLS}.map(cell => cell.source)")[-1]

    def _option(self, label):
        option = self.view.get_by_role("option").filter(has=self.page.locator(f"b:text-is({label!r})")).first
        try:
            option.wait_for(timeout=20_000)
        except Exception:
            self.notebook.shot(f"{self.film}-stuck")
            raise
        return option

    # ---- the mouse -----------------------------------------------------------------------------------

    def _into_view(self, place, within):
        """Turns the wheel over a list until a place in it is seen."""
        for _ in range(30):
            a, b = place.bounding_box(), within.bounding_box()
            if a is None or b is None:  # drawn anew at this moment
                self.page.wait_for_timeout(80)
                continue
            middle = a["y"] + a["height"] / 2
            if b["y"] < middle < b["y"] + b["height"]:
                return
            self.page.mouse.move(b["x"] + b["width"] / 2, b["y"] + b["height"] / 2)
            self.page.mouse.wheel(0, 240 if middle > b["y"] else -240)
            self.page.wait_for_timeout(80)
            self._count(PRESS)
        raise AssertionError(f"{place} cannot be scrolled into view")

    def click(self, place, button="left", double=False):
        self.settle()
        place.wait_for(timeout=20_000)
        box = place.bounding_box()
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        self.page.mouse.move(x, y, steps=2)
        self.page.mouse.click(x, y, button=button, click_count=2 if double else 1)
        self._count(POINT + PRESS)

    def click_canvas(self, x, y, double=False):
        box = self.view.locator(".stage").bounding_box()
        self.page.mouse.click(box["x"] + x, box["y"] + y, click_count=2 if double else 1)
        self._count(POINT + PRESS)

    def select(self, name):
        self.click(self.node(name).locator(".head"))

    def pick(self, label):
        """Clicks a row of the list that is open."""
        option = self._option(label)
        self._into_view(option, self.view.locator(".choices"))
        self.seconds += THINK
        self.click(option)

    def find(self, name):
        """Goes to a node by the list of the button "Find"."""
        self.command("Find")
        self.pick(name)

    def command(self, name):
        self.click(self.view.get_by_role("toolbar").get_by_role("button", name=name))

    def form(self, name, value):
        """Chooses one of the usual values, or of the choices, of a parameter in the form."""
        self.settle()
        pane = self.view.locator(".pane.form")
        choices = pane.get_by_role("combobox", name=name, exact=True)
        if choices.count():
            self._into_view(choices, pane)
            self.click(choices)
            choices.select_option(value)  # the browser's own list, which is no part of the page
            self._count(POINT + PRESS)
            self.page.keyboard.press("Escape")  # the list, if the browser has really opened one
            return
        usual = pane.get_by_role("button", name=f"usual values of {name}", exact=True)
        usual.wait_for(timeout=20_000)
        self._into_view(usual, pane)
        self.click(usual)
        self.pick(value)

    def drag(self, start, stop):
        """Drags from the middle of one place to another, which may be a point of the canvas."""
        self.settle()
        a = start.bounding_box()
        if isinstance(stop, tuple):
            box = self.view.locator(".stage").bounding_box()
            x, y = box["x"] + stop[0], box["y"] + stop[1]
        else:
            b = stop.bounding_box()
            x, y = b["x"] + b["width"] / 2, b["y"] + b["height"] / 2
        self.page.mouse.move(a["x"] + a["width"] / 2, a["y"] + a["height"] / 2)
        self.page.mouse.down()
        self.page.mouse.move((a["x"] + x) / 2, (a["y"] + y) / 2, steps=4)
        self.page.mouse.move(x, y, steps=4)
        self.page.wait_for_timeout(100)  # for the kernel's list of what accepts the wire
        self.page.mouse.up()
        self._count(2 * POINT + 2 * PRESS)

    def port(self, name, port):
        return self.node(name).locator(f"[data-in='{port}'] > *").first

    # ---- the keyboard --------------------------------------------------------------------------------

    def press(self, *keys):
        for key in keys:
            self.settle()
            self.page.keyboard.press(key)
            self._count(KEY * (1 + key.count("+")))

    def word(self, text):
        self.page.keyboard.type(text)
        self._count(KEY * len(text))

    def take(self, label):
        """Waits until a row stands first in the list, then takes it with Enter."""
        first = self.view.locator(f".choices .choice[aria-selected=true] b:text-is({label!r})")
        try:
            first.wait_for(timeout=20_000)
        except Exception as e:
            self.notebook.shot(f"{self.film}-stuck")
            e.add_note(f"the list shows {self.view.locator('.chooser').all_inner_texts()}; {self.page.evaluate(FOCUS)}")
            raise
        self.seconds += THINK
        self.press("Enter")

    def add(self, word, label):
        """Adds an operation by its name."""
        self.press("/")
        self.word(word)
        self.take(label)

    def field(self, name, text):
        """Walks with Tab to a field of the form and types a text; Enter sends it."""
        for _ in range(20):
            focused = self.page.evaluate("document.activeElement.labels?.[0]?.textContent")
            if focused == name:
                break
            self.press("Tab")
        else:
            raise AssertionError(f"no field {name} is reached")
        if self.page.evaluate("document.activeElement.tagName") == "SELECT":
            self.word(text)
        else:
            self.press("Control+a")
            self.word(text)
            self.press("Enter")


def built(notebook, name, source, first="import tfnb as tf"):
    """The builder of a cell, between two other cells."""
    notebook.lab.write(name, [first, f"%%tfnb_build\n{source}", "b = 2"])
    return opened(notebook, name)


def opened(notebook, name, load=False):
    """The builder of a notebook that is run, in a page that `load` loads anew."""
    notebook.open(name, load)
    notebook.page.evaluate("jupyterapp.shell.currentWidget.content.activeCellIndex = 0")
    notebook.run_all()
    assert notebook.errors() == []
    hands = Hands(notebook, notebook.show(".tfnb-builder"), name.removesuffix(".ipynb"), photographs=False)
    hands.settle()
    return hands


def status(hands):
    """What the view has announced last."""
    return hands.view.locator("> .foot [role=status]").text_content()


def go(hands, name):
    """Goes to a node by keyboard. Like a person, it presses the keys again if JupyterLab has taken the focus meanwhile."""
    for _ in range(3):
        hands.settle()
        hands.view.locator(".stage").first.focus()
        hands.page.keyboard.press("Control+f")
        hands.page.wait_for_timeout(50)
        if hands.page.evaluate(HAS_LIST):
            break
    hands._count(2 * KEY)
    hands.word(name)
    hands.take(name)
    hands.settle()


def source_of(hands):
    """The code in the builder's cell."""
    return hands.page.evaluate(CELLS)[1]["source"].partition("\n")[2]


def wait_for_code(hands, text):
    hands.page.wait_for_function(f"text => {CELLS}[1].source.includes(text)", arg=text, timeout=20_000)


def photographs(notebook, view, name):
    """A photograph in each theme, in which axe finds nothing."""
    notebook.page.add_script_tag(path=AXE)
    focused = notebook.page.evaluate_handle("() => document.activeElement")
    for theme in ("Light", "Dark"):
        notebook.theme(f"JupyterLab {theme}")
        view.scroll_into_view_if_needed()
        notebook.wait_until_still(".tfnb-builder")
        notebook.shot(f"{name}-{theme.lower()}")
        assert notebook.page.evaluate(FAULTS) == [], theme
    notebook.theme("JupyterLab Light")
    # While JupyterLab loads a theme, what has the focus may not be rendered for a moment, and loses it.
    focused.evaluate("element => element.focus({ preventScroll: true })")
