/* How the search orders what it finds: a heading that is the whole query first, then pages that answer questions, and
   last those that list thousands of names. The other numbers are Sphinx's. */
const PAGES = [
  [/^docs\/(how-to|explanation)\//, 8],
  [/^examples\//, 4],
  [/^docs\/(builder|graph|viewer|timeline|cluster|old_programs|support)$/, 4],
  [/^(docs\/(ops|differences|api_status|programs|conformance|accuracy|hints|readers)|reference\/v1\..*|CHANGELOG|benchmarks\/.*)$/, -12],
];
var Scorer = {
  score: ([page, title, , , score]) =>
    score + (title.includes(" > ") ? 40 : 0) + PAGES.reduce((sum, [pages, weight]) => sum + (pages.test(page) ? weight : 0), 0),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
