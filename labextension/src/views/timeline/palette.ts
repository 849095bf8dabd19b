// The colours of kinds of events. They are Okabe and Ito's, which people with any colour vision distinguish;
// tfnb/notebook/traces/picture.py has the same (tests/notebook/traces/test_model.py compares the two).

/** For each kind its colour, its title, and the colour of text on it ("" is that of the page). */
export const KINDS: Readonly<Record<string, readonly [string, string, string]>> = {
  kernel: ["#0072b2", "kernel", "#ffffff"],
  host: ["#d55e00", "host kernel", "#ffffff"],
  launch: ["#e69f00", "launch", "#000000"],
  compile: ["#cc79a7", "compile", "#000000"],
  transfer: ["#009e73", "transfer", "#ffffff"],
  schedule: ["#6f6f6f", "executor", "#ffffff"],
  wait: ["#b8b8b8", "wait", ""],
};

const OTHER: readonly [string, string, string] = ["#6f6f6f", "other", "#ffffff"];

export const colourOf = (kind: string): string => (KINDS[kind] ?? OTHER)[0];
export const titleOf = (kind: string): string => (KINDS[kind] ?? OTHER)[1];
export const inkOn = (kind: string): string => (KINDS[kind] ?? OTHER)[2];
