// The commands, each with its keys. The toolbar, the menu, the keyboard and the help all take them from this table.

import type { Choice, Question } from "./chooser";
import { movesOf } from "./dragging";
import { cut } from "./gestures";
import { type Compatibility, matches, replacements, search } from "./palette";
import type { LayOut } from "./places/arrange";
import { layoutOf } from "./places/arrange";
import { type Point, portY, type Rect } from "./places/geometry";
import { type Alignment, aligned, distributed, straightened } from "./places/placing";
import type { AnyEdit } from "./state/session";
import type { Workspace } from "./state/workspace";
import { bendRects, placeBends, setRoute, unbent } from "./wires/bends";
import { connectFromList, connectInput, placeOf } from "./wires/connecting";

export interface Command {
  id: string;
  label: string;
  /** Keys such as "mod+z": "mod" is Ctrl, or Cmd on a Mac. Letters without "mod" act only while a node is selected. */
  keys: readonly string[];
  can(): boolean;
  run(): void;
}

/** What commands ask of the view. */
export interface Actions {
  readonly layOut: LayOut;
  /** Opens the chooser at a point of the drawing; null for the middle of the window. */
  choose(question: Question, at: Point | null): void;
  palette(compatibility: Compatibility, at: Point | null, text?: string): void;
  openForm(): void;
  showSide(side: "node" | "code" | "log" | "lesson"): void;
  go(id: string): void;
  copy(isCut: boolean): void;
  paste(): void;
  run(id: string): void;
  train(id: string): void;
  fullScreen(): void;
  help(): void;
}

/** A question with one answer: the text itself. */
export function prompt(title: string, text: string, act: (text: string) => void): Question {
  return {
    title,
    text,
    isSelected: true,
    none: title,
    choices: (query) => [
      { label: query || "(empty)", hint: "Enter", detail: title, act: () => act(query.trim()) },
    ],
  };
}

export const FRAME_COLOURS = ["blue", "orange", "green", "purple", "grey"] as const;

export function commandsOf(workspace: Workspace, actions: Actions): Command[] {
  return [
    ...editing(workspace, actions),
    ...structure(workspace, actions),
    ...running(workspace, actions),
    ...arranging(workspace, actions),
    ...viewing(workspace, actions),
  ];
}

// What the view does by itself.
const LOCAL = new Set([
  ...["all", "fit", "closer", "farther", "centre", "find", "form", "code", "log", "full", "help"],
]);

/** Commands that can be done only while there is a kernel, but for those of the view itself. */
export function whileThere(
  session: { readonly isGone: boolean },
  commands: readonly Command[],
): Command[] {
  return commands.map((one) =>
    LOCAL.has(one.id) ? one : { ...one, can: () => !session.isGone && one.can() },
  );
}

const always = (): boolean => true;

function editing(workspace: Workspace, actions: Actions): Command[] {
  const { session } = workspace;
  const any = (): boolean => workspace.selected.size > 0;
  const nodes = (): string[] => workspace.selectedNodes();
  const remove = (heal: boolean): void => {
    if (workspace.selectedWire) cut(workspace, workspace.selectedWire);
    else if (any()) session.gesture({ edit: "delete", nodes: nodes(), heal });
  };
  const rename = (): void => {
    const { only } = workspace;
    if (!only) return;
    const act = (name: string): void => {
      if (name && name !== only.id) session.gesture({ edit: "rename", node: only.id, name });
    };
    actions.choose(prompt(`New name of ${only.id}`, only.id, act), placeOf(workspace, only.id));
  };
  const add = (): void => actions.palette({ wire: workspace.openOutput, isLoose: true }, null);
  return [
    { id: "add", label: "Add an operation…", keys: ["/", "Insert"], can: always, run: add },
    {
      id: "undo",
      label: "Undo",
      keys: ["mod+z"],
      can: () => workspace.state.graph.canUndo,
      run: () => session.undo("undo"),
    },
    {
      id: "redo",
      label: "Redo",
      keys: ["shift+mod+z", "mod+y"],
      can: () => workspace.state.graph.canRedo,
      run: () => session.undo("redo"),
    },
    {
      id: "rename",
      label: "Rename…",
      keys: ["F2"],
      can: () => workspace.only !== null,
      run: rename,
    },
    {
      id: "delete",
      label: "Delete",
      keys: ["Delete", "Backspace"],
      can: () => any() || workspace.selectedWire !== null,
      run: () => remove(false),
    },
    {
      id: "dissolve",
      label: "Delete and join the wires",
      keys: ["shift+Delete", "shift+Backspace", "mod+Backspace"],
      can: any,
      run: () => remove(true),
    },
    {
      id: "bypass",
      label: "Bypass: what reads it reads its input",
      keys: ["b"],
      can: any,
      run: () => session.gesture({ edit: "bypass", nodes: nodes() }),
    },
    { id: "cut", label: "Cut", keys: [], can: any, run: () => actions.copy(true) },
    { id: "copy", label: "Copy as Python", keys: [], can: any, run: () => actions.copy(false) },
    { id: "paste", label: "Paste Python", keys: [], can: always, run: () => actions.paste() },
    {
      id: "duplicate",
      label: "Duplicate",
      keys: ["mod+d"],
      can: any,
      run: () => session.gesture({ edit: "duplicate", nodes: nodes() }),
    },
    {
      id: "all",
      label: "Select all",
      keys: ["mod+a"],
      can: () => workspace.model.order.length > 0,
      run: () => workspace.select(workspace.model.order),
    },
  ];
}

function structure(workspace: Workspace, actions: Actions): Command[] {
  const { session } = workspace;
  const any = (): boolean => workspace.selected.size > 0;
  const one = (): boolean => workspace.only !== null;
  const nodes = (): string[] => workspace.selectedNodes();
  const first = (): Point | null => placeOf(workspace, nodes()[0] ?? "");
  const group = (): void => {
    const act = (name: string): void => {
      if (name) session.gesture({ edit: "group", nodes: nodes(), name });
    };
    actions.choose(prompt("Name of the function", "block", act), first());
  };
  const frame = (): void => {
    const count = workspace.model.frames.length;
    const colour = FRAME_COLOURS[count % FRAME_COLOURS.length] ?? "blue";
    const act = (title: string): void =>
      session.gesture({ edit: "frame", id: "", title, colour, nodes: nodes() });
    actions.choose(prompt("Title of the frame", "part", act), first());
  };
  const note = (): void => {
    const before = nodes()[0] ?? "";
    const act = (text: string): void => {
      if (text) session.gesture({ edit: "note", id: "", text, before });
    };
    actions.choose(prompt("Text of the note", "", act), first());
  };
  const device = (): void => {
    const act = (name: string): void =>
      session.gesture({ edit: "device", nodes: nodes(), device: name });
    actions.choose(prompt("Device, such as /gpu:0; empty for any", "/gpu:0", act), first());
  };
  const select = (direction: "up" | "down") => (): void => {
    const { model, selected } = workspace;
    const reached = new Set(selected);
    for (const id of selected) for (const other of model.reached(id, direction)) reached.add(other);
    workspace.select(reached, workspace.current);
  };
  const connect = (): void => connectFromList(workspace, actions.choose);
  const feed = (): void => connectInput(workspace, actions.choose);
  const swap = (): void => {
    const { only } = workspace;
    if (only) actions.choose(replacements(workspace, only.id), placeOf(workspace, only.id));
  };
  return [
    { id: "swap", label: "Swap the operation…", keys: ["s"], can: one, run: swap },
    { id: "connect", label: "Connect the output to…", keys: ["c"], can: one, run: connect },
    { id: "feed", label: "Connect an input from…", keys: ["shift+c"], can: one, run: feed },
    { id: "group", label: "Group to a function…", keys: ["g", "mod+g"], can: any, run: group },
    {
      id: "ungroup",
      label: "Open the group",
      keys: ["shift+g", "shift+mod+g"],
      can: () => workspace.only?.kind === "function" || workspace.only?.kind === "layer",
      run: () => session.gesture({ edit: "ungroup", node: workspace.only?.id ?? "" }),
    },
    { id: "frame", label: "Frame around the selection…", keys: ["f"], can: any, run: frame },
    { id: "note", label: "Add a note…", keys: ["n"], can: always, run: note },
    { id: "device", label: "Place on a device…", keys: [], can: any, run: device },
    {
      id: "inputs",
      label: "Select everything it is computed from",
      keys: ["["],
      can: any,
      run: select("up"),
    },
    {
      id: "outputs",
      label: "Select everything computed from it",
      keys: ["]"],
      can: any,
      run: select("down"),
    },
  ];
}

const OPTIMIZERS: readonly (readonly [string, string, Record<string, string>?])[] = [
  ["tf.train.AdamOptimizer", "a step for each parameter by the moments of its gradient"],
  ["tf.train.GradientDescentOptimizer", "steps against the gradient"],
  ["tf.train.MomentumOptimizer", "steps that keep part of their speed", { momentum: "0.9" }],
  ["tf.train.RMSPropOptimizer", "steps divided by the size of recent gradients"],
  ["tf.train.AdagradOptimizer", "steps divided by the size of all gradients"],
];

function running(workspace: Workspace, actions: Actions): Command[] {
  const one = (): boolean => workspace.only !== null;
  const id = (): string => workspace.only?.id ?? "";
  const { session } = workspace;
  const minimize = (): void => {
    const node = id();
    const choices: Choice[] = OPTIMIZERS.map(([optimizer, detail, parameters = {}]) => ({
      label: optimizer,
      hint: "",
      detail,
      act: () => session.gesture({ edit: "minimize", node, optimizer, parameters }),
    }));
    const question: Question = {
      title: `Minimize ${node} with`,
      text: "",
      none: "no optimizer of this name",
      choices: (query) => choices.filter(({ label }) => matches(label, query)),
    };
    actions.choose(question, placeOf(workspace, node));
  };
  const isNumber = (): boolean => /^b?float/.test(workspace.only?.outputs[0]?.dtype ?? "");
  return [
    {
      id: "run",
      label: "Run to here",
      keys: ["r", "mod+Enter"],
      can: one,
      run: () => actions.run(id()),
    },
    {
      id: "train",
      label: "Train with this…",
      keys: ["t"],
      can: one,
      run: () => actions.train(id()),
    },
    { id: "minimize", label: "Minimize it…", keys: ["m"], can: isNumber, run: minimize },
  ];
}

function arranging(workspace: Workspace, actions: Actions): Command[] {
  const { session } = workspace;
  const bends = (): Map<string, Rect> => bendRects(workspace);
  const isOver = (count: number): boolean =>
    workspace.selected.size > count || bends().size > count;
  const several = (): boolean => isOver(1);
  const move = (corners: ReadonlyMap<string, Point>, ...others: readonly AnyEdit[]): void => {
    const before = workspace.scene.rects(corners.keys());
    session.gesture(...movesOf(workspace, before, corners), ...others);
  };
  // Of the selected nodes, or of the bends of the selected wire.
  const place = (of: (rects: ReadonlyMap<string, Rect>) => ReadonlyMap<string, Point>): void => {
    if (workspace.selectedWire) placeBends(workspace, workspace.selectedWire, of(bends()));
    else move(of(workspace.scene.rects(workspace.selected)));
  };
  const align = (side: Alignment, word: string): Command => ({
    id: `align-${side}`,
    label: `Align ${word}`,
    keys: [],
    can: several,
    run: () => place((rects) => aligned(rects, side)),
  });
  const distribute = (axis: "x" | "y", word: string): Command => ({
    id: `distribute-${axis}`,
    label: `Equal gaps, ${word}`,
    keys: [],
    can: () => isOver(2),
    run: () => place((rects) => distributed(rects, axis)),
  });
  const nudge = (key: string, dx: number, dy: number): Command => ({
    id: `move-${key}`,
    label: `Move ${key.slice(5).toLowerCase()}`,
    keys: [`alt+${key}`],
    can: () => workspace.selected.size > 0,
    run: () => {
      const rects = workspace.scene.rects(workspace.selected);
      move(new Map([...rects].map(([id, r]) => [id, [r.x + dx, r.y + dy]])));
    },
  });
  return [
    {
      id: "tidy",
      label: "Tidy the selection, or everything",
      keys: ["mod+l"],
      can: () => workspace.model.order.length > 0,
      run: () => void tidy(workspace, actions).then((corners) => move(corners)),
    },
    align("left", "left sides"),
    align("centre", "centres"),
    align("right", "right sides"),
    align("top", "tops"),
    align("middle", "middles"),
    align("bottom", "bottoms"),
    {
      id: "straighten",
      label: "Straighten the wires",
      keys: ["q"],
      can: () => several() || workspace.selectedWire !== null,
      run: () => {
        if (workspace.selectedWire) setRoute(workspace, workspace.selectedWire, []);
        else {
          const edits = unbent(workspace);
          move(straight(workspace), ...edits);
        }
      },
    },
    distribute("x", "across"),
    distribute("y", "down"),
    nudge("ArrowLeft", -10, 0),
    nudge("ArrowRight", 10, 0),
    nudge("ArrowUp", 0, -10),
    nudge("ArrowDown", 0, 10),
  ];
}

/** The corners at which the wires between the selected nodes are straight. */
function straight(workspace: Workspace): Map<string, Point> {
  const { model, selected } = workspace;
  const links = model.connections
    .filter(({ from, to }) => selected.has(from) && selected.has(to))
    .map(({ from, output, to, row }) => ({ from, to, out: portY(output), in: portY(row) }));
  return straightened(workspace.scene.rects(workspace.selectedNodes()), links);
}

/** A new layout of the selected nodes, or of all; its upper left corner stays where it was. */
async function tidy(workspace: Workspace, actions: Actions): Promise<Map<string, Point>> {
  const { selected, model } = workspace;
  const ids = selected.size > 1 ? workspace.selectedNodes() : model.order;
  const before = [...workspace.scene.rects(ids).values()];
  const corners = await layoutOf(model, ids, workspace.scene.face, actions.layOut, [
    workspace.viewport.width,
    workspace.viewport.height,
  ]);
  const least = (of: readonly number[]): number => (of.length ? Math.min(...of) : 0);
  const dx = least(before.map((r) => r.x)) - least([...corners.values()].map(([x]) => x));
  const dy = least(before.map((r) => r.y)) - least([...corners.values()].map(([, y]) => y));
  return new Map([...corners].map(([id, [x, y]]) => [id, [x + dx, y + dy]]));
}

function viewing(workspace: Workspace, actions: Actions): Command[] {
  const selection = (): void => {
    const rect = workspace.only && workspace.scene.rect(workspace.only.id);
    workspace.fit(rect ?? undefined);
  };
  return [
    {
      id: "fit",
      label: "Show everything",
      keys: ["0", "mod+0"],
      can: always,
      run: () => workspace.fit(),
    },
    {
      id: "closer",
      label: "Zoom in",
      keys: ["+", "=", "mod+="],
      can: always,
      run: () => workspace.viewport.zoom(1.25),
    },
    {
      id: "farther",
      label: "Zoom out",
      keys: ["-", "mod+-"],
      can: always,
      run: () => workspace.viewport.zoom(0.8),
    },
    {
      id: "centre",
      label: "Show the selected node",
      keys: ["."],
      can: () => workspace.only !== null,
      run: selection,
    },
    {
      id: "find",
      label: "Find a node…",
      keys: ["mod+f"],
      can: always,
      run: () => actions.choose(search(workspace, actions.go), null),
    },
    {
      id: "form",
      label: "Edit its parameters",
      keys: ["Enter"],
      can: () => workspace.only !== null,
      run: actions.openForm,
    },
    {
      id: "code",
      label: "Show the code",
      keys: ["mod+e"],
      can: always,
      run: () => actions.showSide("code"),
    },
    {
      id: "log",
      label: "Show what was written",
      keys: [],
      can: always,
      run: () => actions.showSide("log"),
    },
    {
      id: "lessons",
      label: "Lessons",
      keys: [],
      can: always,
      run: () => actions.showSide("lesson"),
    },
    { id: "full", label: "Full screen", keys: ["F11"], can: always, run: actions.fullScreen },
    { id: "help", label: "Keys and gestures", keys: ["?", "F1"], can: always, run: actions.help },
  ];
}

/** The keys of an event as commands name them: "shift+mod+z". */
export function keysOf(event: KeyboardEvent): string {
  const isLetter = /^[a-z]$/i.test(event.key);
  const parts = [
    event.shiftKey && (isLetter || event.key.length > 1) && "shift",
    event.altKey && "alt",
    (event.ctrlKey || event.metaKey) && "mod",
    isLetter ? event.key.toLowerCase() : event.key,
  ];
  return parts.filter(Boolean).join("+");
}

/** The keys of a command as people read them. */
export function keysText({ keys }: Command): string {
  const [first] = keys;
  if (!first) return "";
  const isMac = typeof navigator !== "undefined" && navigator.platform.startsWith("Mac");
  const words: Record<string, string> = {
    mod: isMac ? "⌘" : "Ctrl",
    shift: "Shift",
    alt: "Alt",
    Backspace: "⌫",
  };
  const parts = first === "+" ? ["+"] : first.split("+");
  return parts
    .map((part) => words[part] ?? (part.length === 1 ? part.toUpperCase() : part))
    .join("+");
}
