// Names and texts come from files and graphs: no module makes markup or code of a text.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

const MARKUP =
  /\b(innerHTML|outerHTML|insertAdjacentHTML|setHTML\w*|createContextualFragment|DOMParser|srcdoc|document\.write\w*|eval)\b/;
const CODE = /\bnew Function\b/;
// BokehJS itself is started from the text that the installed package brings.
const MAY_RUN_CODE = ["views/bokeh.ts"];

test("no module makes markup or code of a text", () => {
  const src = join(process.cwd(), "src");
  const found = readdirSync(src, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => ({
      name: name.replaceAll("\\", "/"),
      text: readFileSync(join(src, name), "utf8"),
    }))
    .flatMap(({ name, text }) =>
      text.split("\n").map((line, k) => ({ place: `${name}:${k + 1}`, name, line })),
    )
    .filter(
      ({ name, line }) => MARKUP.test(line) || (CODE.test(line) && !MAY_RUN_CODE.includes(name)),
    )
    .map(({ place, line }) => `${place} ${line.trim()}`);
  assert.deepEqual(found, []);
});
