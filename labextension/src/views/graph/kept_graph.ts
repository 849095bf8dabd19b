// What a user has opened and selected in a graph, as a text that the model keeps for a page that is loaded again.

export interface KeptGraph {
  readonly stage: number;
  /** The paths of the open boxes. */
  readonly open: string[];
  /** The path of the selected box, "" for none. */
  readonly selected: string;
}

export function written(kept: KeptGraph): string {
  return JSON.stringify(kept);
}

/** What a text of `written` says; null if it is another text, since anybody may have changed it. */
export function restored(text: string | undefined): KeptGraph | null {
  let found: Partial<Record<keyof KeptGraph, unknown>>;
  try {
    found = Object(JSON.parse(text || "null"));
  } catch {
    return null;
  }
  const { stage, open, selected } = found;
  if (!Number.isInteger(stage) || Number(stage) < 0 || typeof selected !== "string") return null;
  if (!Array.isArray(open) || !open.every((path) => typeof path === "string")) return null;
  return { stage: Number(stage), open, selected };
}
