// The keyboard on the canvas: arrows walk along wires, other keys are those of the commands, and a letter that means
// nothing opens the palette.

import { type Command, keysOf } from "./commands";
import { described } from "./described";
import type { Workspace } from "./state/workspace";

const STEP = 60;

export interface Typing {
  commands: readonly Command[];
  /** Opens the palette with a text. */
  type(text: string): void;
  /** Ends a drag, or whatever is open. */
  escape(): boolean;
}

export function handleKeys(workspace: Workspace, stage: HTMLElement, typing: Typing): void {
  stage.addEventListener("keydown", (event) => {
    if (event.target !== stage || event.isComposing) return;
    if (act(workspace, event, typing)) event.preventDefault();
  });
}

function act(workspace: Workspace, event: KeyboardEvent, typing: Typing): boolean {
  const keys = keysOf(event);
  if (walk(workspace, keys)) return true;
  if (keys === "Escape") {
    if (!typing.escape()) workspace.select([]);
    return true;
  }
  if (keys === " ") return true;
  const isBare = event.key.length === 1 && !event.ctrlKey && !event.metaKey && !event.altKey;
  const isLetter = isBare && /^\p{L}$/u.test(event.key);
  // Of several commands with the same keys only one can be done at a time.
  const named = typing.commands.filter((one) => one.keys.includes(keys));
  const command = named.find((one) => one.can()) ?? named[0];
  // With nothing selected, letters are the beginning of a name.
  if (command && !(isLetter && !workspace.selected.size && !workspace.selectedWire)) {
    if (command.can()) command.run();
    return true;
  }
  if (!isLetter) return false;
  typing.type(event.key);
  return true;
}

function walk(workspace: Workspace, keys: string): boolean {
  const { model, selected } = workspace;
  const { camera } = workspace.viewport;
  const { order } = model;
  const pans: Record<string, readonly [number, number]> = {
    "mod+ArrowLeft": [STEP, 0],
    "mod+ArrowRight": [-STEP, 0],
    "mod+ArrowUp": [0, STEP],
    "mod+ArrowDown": [0, -STEP],
  };
  const pan = pans[keys];
  if (pan) {
    camera.arrive();
    camera.pan(...pan);
    return true;
  }
  const isAdding = keys.startsWith("shift+");
  const key = isAdding ? keys.slice(6) : keys;
  if (!/^(Arrow(Left|Right|Up|Down)|Home|End)$/.test(key)) return false;
  const now = order.indexOf(workspace.current);
  const step = (by: number): string | undefined =>
    order[now < 0 ? (by > 0 ? 0 : order.length - 1) : now + by];
  const next: Record<string, () => string | undefined> = {
    ArrowRight: () => model.outgoing(workspace.current)[0]?.to ?? (now < 0 ? step(1) : undefined),
    ArrowLeft: () => model.incoming(workspace.current)[0]?.from ?? (now < 0 ? step(-1) : undefined),
    ArrowDown: () => step(1),
    ArrowUp: () => step(-1),
    Home: () => order[0],
    End: () => order[order.length - 1],
  };
  const id = next[key]?.();
  if (id === undefined) {
    const ends: Record<string, string> = {
      ArrowRight: "no node reads this output",
      ArrowLeft: "no wire comes in",
    };
    workspace.say(order.length ? (ends[key] ?? "no further node") : "the canvas is empty");
    return true;
  }
  workspace.select(isAdding ? [...selected, id] : [id], id);
  workspace.reveal(id);
  workspace.say(described(workspace, id));
  return true;
}
