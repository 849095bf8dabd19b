"""The settings of Sphinx for the site; scripts/docs/build.py passes the folders."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, TextIO

from docutils import nodes
from docutils.utils.math import latex2mathml
from pygments.formatters import HtmlFormatter
from pygments.token import Name, Punctuation, Text, Whitespace
from sphinx.highlighting import PygmentsBridge
from sphinx.writers.html5 import HTML5Translator

from tfnb.release import VERSION

project = "tfnb"
author = "the authors of tfnb"
copyright = f"{author}, Apache 2.0"
release = version = VERSION
extensions = ["myst_nb"]
source_suffix = {".md": "myst-nb", ".ipynb": "myst-nb"}
exclude_patterns: list[str] = []
nb_execution_mode = "off"  # the tests execute the notebooks
nb_merge_streams = True
nb_ipywidgets_js: dict[str, Any] = {}  # they are on other hosts
myst_heading_anchors = 4
myst_enable_extensions: list[str] = ["dollarmath", "html_image"]
html_theme = "furo"
smartquotes = False  # the search compares headings with what is typed
html_title = f"tfnb {VERSION}"
html_copy_source = False
html_show_sphinx = False
html_show_search_summary = False  # summaries are fetched, which browsers refuse to a page from a file
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = [("frame.js", {"defer": "defer"})]
html_search_scorer = str(Path(__file__).parent / "_static" / "scorer.js")
html_math_renderer = "mathml"
add_function_parentheses = False
toc_object_entries = False
python_maximum_signature_line_length = 100


PLAIN = {Name, Punctuation, Whitespace}  # not the kinds below them, which have colours of their own


class _FewerMarks(HtmlFormatter):  # type: ignore[type-arg]
    """Leaves names and punctuation unmarked, which the theme draws as it draws text: a tenth of the site's bytes."""

    def format_unencoded(self, tokens: Iterable[tuple[Any, str]], out: TextIO) -> None:
        """Writes the tokens of a listing."""
        super().format_unencoded(((Text if kind in PLAIN else kind, text) for kind, text in tokens), out)


PygmentsBridge.html_formatter = _FewerMarks


class _ShorterCode(HTML5Translator):
    """Writes code within a line without a mark around each word, which would be another tenth."""

    def visit_Text(self, node: nodes.Text) -> None:
        """Writes a text; in code, all of its spaces."""
        if self.protect_literal_text:
            self.body.append(self.encode(node.astext()).replace("  ", "&nbsp; "))
        else:
            super().visit_Text(node)


def _mathml(self: Any, node: nodes.Node) -> None:
    """Writes a formula as MathML, which browsers draw themselves; MathJax would be loaded from another host."""
    block = isinstance(node, nodes.math_block)
    tree = latex2mathml.tex2mathml(node.astext(), as_block=block)
    self.body.append(f'<div class="math">{tree}</div>' if block else str(tree))
    raise nodes.SkipNode


def setup(app: Any) -> None:
    """Adds the renderer of formulas, and what writes pages."""
    app.set_translator("html", _ShorterCode)
    app.add_html_math_renderer("mathml", (_mathml, None), (_mathml, None))
