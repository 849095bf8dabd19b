"""The help in JupyterLab: the menu, the launcher and the "?" of views open the installed pages in a tab."""

import os
from pathlib import Path

import pytest
from servers import TOKEN

SHOTS = Path(__file__).parent / "shots"
FRAME = "iframe[title='help of tfnb']"
# Where a link to another host would open.
CLICKED = """body => {
    const link = document.createElement('a');
    link.href = 'https://example.org/';
    link.addEventListener('click', (event) => event.preventDefault());
    body.append(link);
    link.click();
    return [link.target, link.rel];
}"""
GRAPH = ["import tfnb as tf", "tf.square(tf.constant(2.0))", "tf.get_default_graph()"]


def open_by_menu(page):
    page.get_by_role("menuitem", name="Help", exact=True).click()
    page.locator(".lm-Menu").get_by_role("menuitem", name="tfnb", exact=True).click()
    page.locator(FRAME).wait_for(timeout=20_000)
    return page.frame_locator(FRAME)


def test_a_view_and_the_menu_open_the_help_in_one_tab(notebook):
    notebook.lab.write("help.ipynb", GRAPH)
    notebook.open("help.ipynb")
    notebook.run_all()
    asked = notebook.show(".tfnb-graph-view a[aria-label='Open the help on this view']")
    assert asked.evaluate("link => link.href") == f"{notebook.lab.url}/tfnb/docs/docs/graph.html"
    notebook.shot("help_question")
    asked.click()
    notebook.page.frame_locator(FRAME).get_by_role("heading", name="The page on graphs").wait_for(timeout=20_000)
    shown = open_by_menu(notebook.page)
    assert shown.get_by_role("heading").inner_text() == "The page on graphs"  # where the reader was
    assert notebook.page.locator(FRAME).count() == 1 and len(notebook.page.context.pages) == 1


@pytest.mark.skipif("TFNB_SITE" not in os.environ, reason="make docs builds the site and runs this")
def test_the_site_is_searched_under_a_hubs_address(browser, hub):
    with browser.new_context(viewport={"width": 1280, "height": 900}) as context:
        page = context.new_page()
        faults = []
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("requestfailed", lambda request: faults.append(request.url))
        page.on("response", lambda answer: faults.append(answer.url) if answer.status >= 400 else None)
        own = (hub, hub.replace("http", "ws"), "data:", "blob:")
        page.on("request", lambda request: None if request.url.startswith(own) else faults.append(request.url))
        page.goto(f"{hub}/lab?token={TOKEN}&reset")
        page.wait_for_selector(".jp-Launcher", timeout=60_000)
        shown = open_by_menu(page)
        shown.locator("article h2", has_text="Tutorials").wait_for(timeout=20_000)
        assert page.locator(FRAME).get_attribute("src") == f"{hub}/tfnb/docs/"
        shown.locator("input[name=q]").fill("loss nan")
        shown.locator("input[name=q]").press("Enter")
        shown.locator("#search-results li a").first.click(timeout=20_000)
        shown.locator("h1", has_text="Train a model").wait_for(timeout=20_000)
        assert shown.locator("body").evaluate(CLICKED) == ["_blank", "noopener"]
        for theme in ("Dark", "Light"):
            command = "theme => void jupyterapp.commands.execute('apputils:change-theme', {theme})"
            page.evaluate(command, f"JupyterLab {theme}")
            shown.locator(f"body[data-theme={theme.lower()}]").wait_for(timeout=20_000)
            page.wait_for_timeout(500)  # for the style sheets of the theme
            SHOTS.mkdir(exist_ok=True)
            page.screenshot(path=SHOTS / f"help_{theme.lower()}.png")
        assert faults == []
