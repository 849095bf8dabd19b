// Searches the built site as its search page does, with Sphinx's own script: node search.mjs SITE < queries.json
// Reads a list of queries and prints, for each, the addresses and titles of what is found, the best first.

import { readFileSync } from "node:fs";
import vm from "node:vm";

const site = process.argv[2];
const queries = JSON.parse(readFileSync(0, "utf8"));
// The scripts look for a page to write to. Without one they only compute.
const none = { addEventListener() {}, getElementById: () => null, querySelectorAll: () => [], readyState: "loading" };
const storage = { getItem: () => null, setItem() {}, removeItem() {} };
const page = vm.createContext({ document: none, localStorage: storage, addEventListener() {} });
page.window = page;
const html = readFileSync(`${site}/search.html`, "utf8");
for (const [, script] of html.matchAll(/<script src="(_static\/[^"?]*|searchindex\.js)/g)) {
  if (!script.includes("furo")) vm.runInContext(readFileSync(`${site}/${script}`, "utf8"), page); // the theme's is no search
}
page.queries = queries;
const found = vm.runInContext(
  "queries.map((query) => Search._performSearch(...Search._parseQuery(query)).reverse())",
  page,
);
// A result is [page, title, anchor, description, score, file, kind].
console.log(JSON.stringify(found.map((results) => results.map(([name, title, anchor]) => [name + (anchor ?? ""), title]))));
