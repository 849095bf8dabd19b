// Who may import whom in labextension/src, read from the syntax: protocol <- views <- widgets, plugins, and no cycles.
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

/** The targets of all imports of a file: static ones, re-exports, import() and import types. */
function targets(text: string): string[] {
  return ts.preProcessFile(text, true, true).importedFiles.map(({ fileName }) => fileName);
}

/** The file that a relative import names: "./a" is a.ts, "./a.ts?worker" is a.ts too. */
function resolved(path: string, target: string): string {
  const bare = normalize(join(dirname(path), target.split("?")[0] ?? ""));
  return /\.[a-z]+$/.test(bare) ? bare : `${bare}.ts`;
}

/** A cycle among the files, from a file back to itself, or null. Imports of types count too. */
function cycle(texts: ReadonlyMap<string, string>): string[] | null {
  const done = new Set<string>();
  const path: string[] = [];
  const visit = (file: string): string[] | null => {
    if (path.includes(file)) return [...path.slice(path.indexOf(file)), file];
    if (done.has(file)) return null;
    path.push(file);
    for (const target of targets(texts.get(file) ?? "")) {
      const next = resolved(file, target);
      const found = target.startsWith(".") && texts.has(next) ? visit(next) : null;
      if (found) return found;
    }
    path.pop();
    done.add(file);
    return null;
  };
  for (const file of texts.keys()) {
    const found = visit(file);
    if (found) return found;
  }
  return null;
}

function breaks(path: string, text: string): string[] {
  const home = relative(SRC, path).split(sep)[0] ?? "";
  const may = MAY_IMPORT[home];
  if (!may) return path.endsWith(".d.ts") ? [] : [`${path}: ${home} is no layer`];
  const found: string[] = [];
  for (const target of targets(text)) {
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

test("no file imports itself by way of others", () => {
  const texts = new Map(filesBelow(SRC).map((path) => [path, readFileSync(path, "utf8")]));
  const found = cycle(texts)?.map((path) => relative(SRC, path));
  assert.equal(found, undefined);
});

for (const [name, files] of [
  ["of two files", { "a.ts": 'import { b } from "./b";', "b.ts": 'import type { a } from "./a";' }],
  [
    "of three",
    { "a.ts": 'import "./b";', "b.ts": 'import "./c";', "c.ts": 'export * from "./a";' },
  ],
  ["through a worker", { "a.ts": 'import w from "./w.ts?worker";', "w.ts": 'import "./a";' }],
] as const) {
  test(`found: a cycle ${name}`, () => {
    const texts = new Map(Object.entries<string>(files).map(([file, t]) => [join(SRC, file), t]));
    assert.equal(cycle(texts)?.length, texts.size + 1);
  });
}

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
