// Who may import whom in labextension/src, read from the syntax: protocol <- views <- widgets, plugins.
// Views and what is below know nothing of Jupyter, so that they draw in any page.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize, relative, sep } from "node:path";
import { test } from "node:test";
import ts from "typescript";

const SRC = join(process.cwd(), "src");
const MAY_IMPORT: Record<string, readonly string[]> = {
  protocol: [],
  views: ["protocol"],
  widgets: ["protocol", "views"],
  plugins: ["protocol", "views"],
};
const JUPYTER = /^(@jupyter|@lumino|@anywidget)/;

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name));
}

function breaks(path: string, text: string): string[] {
  const home = relative(SRC, path).split(sep)[0] ?? "";
  const may = MAY_IMPORT[home];
  if (!may) return path.endsWith(".d.ts") ? [] : [`${path}: ${home} is no layer`];
  const found: string[] = [];
  // Static imports, re-exports, import() and import types all count.
  for (const { fileName: target } of ts.preProcessFile(text, true, true).importedFiles) {
    const where = `${relative(SRC, path)} imports ${target}`;
    if (!target.startsWith(".")) {
      if (JUPYTER.test(target) && !["widgets", "plugins"].includes(home)) found.push(where);
      continue;
    }
    const there = relative(SRC, normalize(join(dirname(path), target))).split(sep)[0] ?? "";
    // Modules still written by hand, of a widget or drawing, are reached over the fence.
    if (there === "..") continue;
    if (there !== home && !may.includes(there)) found.push(where);
  }
  return found;
}

test("the layers hold", () => {
  const files = filesBelow(SRC);
  assert.ok(files.length > 0);
  assert.deepEqual(
    files.flatMap((path) => breaks(path, readFileSync(path, "utf8"))),
    [],
  );
});

for (const [name, text] of [
  ["protocol/a.ts", 'import { draw } from "../views/draw";'],
  ["protocol/a.ts", 'export type { A } from "../widgets/a";'],
  ["views/a.ts", 'import { Widget } from "@lumino/widgets";'],
  ["views/graph/a.ts", 'type M = import("@anywidget/types").AnyModel;'],
  ["views/a.ts", 'const later = () => import("../plugins/viewer");'],
  ["widgets/a.ts", 'import "../plugins/index";'],
  ["plugins/a.ts", 'import x from "../widgets/a";'],
  ["extra/a.ts", ""],
] as const) {
  test(`found: ${name}: ${text}`, () => {
    assert.equal(breaks(join(SRC, name), text).length, 1);
  });
}

test("allowed: views of protocol, widgets of views, plugins of JupyterLab", () => {
  const good = [
    ["views/a.ts", 'import type { A } from "../protocol/a"; import dagre from "dagre";'],
    ["views/graph/a.ts", 'import { x } from "../dom"; import t from "./l.ts?worker";'],
    ["widgets/a.ts", 'import { d } from "../views/a"; import type { X } from "@anywidget/types";'],
    ["plugins/a.ts", 'import { Widget } from "@lumino/widgets";'],
  ] as const;
  for (const [name, text] of good) assert.deepEqual(breaks(join(SRC, name), text), []);
});
