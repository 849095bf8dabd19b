// The menu of commands: those that can be done now; in the help all of them, and the gestures of the pointer.

import type { Choice, Question } from "./chooser";
import { type Command, keysText } from "./commands";
import { matches } from "./palette";

const GESTURES: readonly (readonly [string, string])[] = [
  ["Add an operation", "double-click the canvas, or type its name"],
  ["Connect", "drag from a port to another, or onto a node"],
  ["Add and connect", "drag a wire to an empty place"],
  ["Disconnect", "drag a wire away from its input, or Alt+click it"],
  ["Insert into a wire", "double-click the wire, or drop a node on it"],
  ["Bend a wire", "drag it; a double click on a bend takes it out"],
  ["Select several", "drag on the empty canvas, or Shift+click"],
  ["Move the window", "drag with the middle button or the space bar held; with one finger"],
  ["Zoom", "wheel or pinch"],
  ["Walk along wires", "arrow keys; Home and End; with Shift they add to the selection"],
];

export function menuOf(commands: readonly Command[], isHelp = false): Question {
  const rows: Choice[] = commands
    .filter((command) => isHelp || command.can())
    .map((command) => ({
      label: command.label,
      hint: keysText(command),
      detail: "",
      act: () => {
        if (command.can()) command.run();
      },
    }));
  const gestures = GESTURES.map(([label, detail]) => ({ label, hint: "", detail, act: () => {} }));
  const all = isHelp ? [...gestures, ...rows] : rows;
  return {
    title: isHelp ? "Keys and gestures" : "Commands",
    text: "",
    none: "no command matches",
    choices: (query) => all.filter(({ label, detail }) => matches(`${label} ${detail}`, query)),
  };
}
