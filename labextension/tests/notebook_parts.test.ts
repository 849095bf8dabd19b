// What the JupyterLab extension finds of notebooks, and which theme a page has: without JupyterLab.
import "./page";
import assert from "node:assert/strict";
import { test } from "node:test";
import { asNotebook, cellAround } from "../src/plugins/notebooks";
import { PAPER, themeOf } from "../src/views/graph/palette";

const notebook = (...cells: HTMLElement[]) => {
  const node = document.createElement("div");
  node.append(...cells);
  return { node, content: { model: {}, widgets: cells.map((one) => ({ node: one, model: {} })) } };
};
const cell = (): HTMLElement => {
  const node = document.createElement("div");
  node.append(document.createElement("p"));
  return node;
};

test("a widget is a notebook if it has cells and its content has come", () => {
  const whole = notebook();
  assert.equal(asNotebook(whole), whole);
  for (const other of [
    null,
    undefined,
    {},
    { content: {} },
    { content: { model: null, widgets: [] } },
    { content: { model: {}, widgets: "cells" } },
  ])
    assert.equal(asNotebook(other), null);
});

test("the cell around an element is found in the notebook that holds it, and nowhere else", () => {
  const [one, two, three] = [cell(), cell(), cell()];
  const [first, second] = [notebook(one), notebook(two, three)];
  const terminal = { node: document.createElement("div") };
  const app = { shell: { widgets: () => [terminal, first, second] } } as never;
  const found = cellAround(app, three.firstElementChild as Element);
  assert.deepEqual([found?.notebook, found?.cell.node], [second, three]);
  assert.equal(cellAround(app, terminal.node), null);
  assert.equal(cellAround(app, second.node), null); // in the notebook, but in no cell
  assert.equal(cellAround(app, cell()), null);
});

test("a theme is that of JupyterLab, of the page, or of the system, in this order", (t) => {
  const host = document.createElement("div");
  document.body.append(host);
  let isDark = true;
  t.mock.method(globalThis, "matchMedia", () => ({ matches: isDark }));
  t.after(() => {
    delete document.body.dataset.jpThemeLight;
    document.body.className = "";
  });
  assert.equal(themeOf(host).dark, true);
  isDark = false;
  assert.deepEqual(themeOf(host), PAPER);
  document.body.className = "vscode-dark";
  assert.equal(themeOf(host).dark, true);
  document.body.dataset.jpThemeLight = "true";
  assert.equal(themeOf(host).dark, false);
  host.style.setProperty("--jp-layout-color0", "#fdf6e3");
  host.style.setProperty("--jp-ui-font-color0", "rgba(0, 0, 0, 1)");
  const { ground, text } = themeOf(host);
  assert.deepEqual([ground, text], ["#fdf6e3", PAPER.text]);
});
