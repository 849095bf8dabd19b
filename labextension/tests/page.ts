// A page without a browser for tests of modules that make elements: import it before them. It lays nothing out and paints
// nothing, which is what the browser tests are for.
import { Window } from "happy-dom";

const page = new Window({ url: "http://localhost/" });
const names = [
  "document",
  "CSS",
  "CustomEvent",
  "Element",
  "Event",
  "HTMLElement",
  "HTMLTableRowElement",
  "KeyboardEvent",
  "MouseEvent",
  "Node",
  "WheelEvent",
  "XMLSerializer",
  "cancelAnimationFrame",
  "getComputedStyle",
  "matchMedia",
  "requestAnimationFrame",
] as const;
for (const name of names)
  Object.defineProperty(globalThis, name, { value: page[name], configurable: true });
Object.defineProperty(globalThis, "devicePixelRatio", { value: 1, configurable: true });

/** A pointer does something at a point of the page; tests lay nothing out, so every element begins at its corner. */
export function point(
  element: EventTarget,
  type: string,
  [clientX, clientY]: readonly [number, number],
  more: object = {},
): void {
  const init = { clientX, clientY, bubbles: true, cancelable: true };
  const event = new MouseEvent(type, init);
  for (const [key, value] of Object.entries({ pointerId: 1, pointerType: "mouse", ...more }))
    Object.defineProperty(event, key, { value });
  element.dispatchEvent(event);
}

/** Presses a key in an element; whether the page's own meaning of it was prevented. */
export function press(element: EventTarget, key: string, more: KeyboardEventInit = {}): boolean {
  const event = new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...more });
  return !element.dispatchEvent(event);
}

/** The texts of the elements that a selector matches. */
export function textsOf(root: ParentNode, selector: string): string[] {
  return [...root.querySelectorAll(selector)].map((one) => one.textContent ?? "");
}

/** Presses the button with a text. */
export function click(root: ParentNode, text: string): void {
  const found = [...root.querySelectorAll("button")].find((one) => one.textContent === text);
  if (!found) throw new Error(`no button says ${text}`);
  found.click();
}
