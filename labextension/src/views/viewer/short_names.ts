// Names of runs that are short enough for a table and still told apart: what all have in common at the beginning and at
// the end is left out, and a long rest is cut in its middle.

const PARTS = /[/_\-,;=\s]/;

function common(names: readonly string[]): string {
  const [first = "", ...others] = names;
  let length = first.length;
  for (const name of others) {
    let k = 0;
    while (k < length && name[k] === first[k]) k++;
    length = k;
  }
  return first.slice(0, length);
}

const reversed = (text: string) => [...text].reverse().join("");

/** The length of the common beginning of all names, up to the end of a part, so that no number is cut in two. */
function shared(names: readonly string[]): number {
  const start = common(names);
  let length = start.length;
  while (length && !PARTS.test(start[length - 1] as string)) length--;
  return length;
}

function cutInTheMiddle(name: string, most: number): string {
  if (name.length <= most) return name;
  const head = Math.ceil((most - 1) / 2);
  return `${name.slice(0, head)}…${name.slice(name.length - (most - 1 - head))}`;
}

/** Shows where names differ that are alike when they are cut. */
function cutToDifference(names: readonly string[], most: number): string[] {
  const from = Math.max(0, common(names).length - 2);
  return names.map((name) => {
    const rest = `${from ? "…" : ""}${name.slice(from)}`;
    return rest.length > most ? `${rest.slice(0, most - 1)}…` : rest;
  });
}

/** Names of at most about `most` letters; different names stay different, if need be as a whole. */
export function shortNames(names: readonly string[], most: number): string[] {
  let rests = [...names];
  if (new Set(names).size > 1) {
    const before = shared(names);
    rests = rests.map((name) => name.slice(before));
    const after = shared(rests.map(reversed));
    rests = rests.map((name) => name.slice(0, name.length - after));
    if (rests.some((rest) => !rest)) rests = [...names];
  }
  const out = rests.map((rest) => cutInTheMiddle(rest, most));
  for (const cut of [cutToDifference, (group: readonly string[]) => group]) {
    const groups = new Map<string, Set<string>>();
    for (const [k, label] of out.entries()) {
      const group = groups.get(label) ?? new Set();
      groups.set(label, group.add(rests[k] as string));
    }
    for (const [label, group] of groups) {
      if (group.size < 2) continue;
      const alike = [...group];
      const labels = cut(alike, most);
      for (const [k, rest] of rests.entries())
        if (out[k] === label && group.has(rest)) out[k] = labels[alike.indexOf(rest)] as string;
    }
  }
  return out;
}
