// Creates elements, saves files and handles keys for all views. Texts become only text nodes or values of attributes.

type Properties = Record<string, unknown>;

/** An element with properties (or attributes, where it has no such property), handlers ("onclick") and children. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  properties: Properties = {},
  ...children: (Node | string | null)[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value as EventListener);
    else if (name in element && name !== "list" && name !== "role")
      (element as unknown as Properties)[name] = value;
    else element.setAttribute(name, String(value));
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

/** A button: `text` is what it shows, `title` says what it does. */
export function button(
  textContent: string,
  title: string,
  onclick: () => void,
  properties: Properties = {},
): HTMLButtonElement {
  const type = "button";
  return h("button", { type, textContent, title, ariaLabel: title, onclick, ...properties });
}

/** Saves a file on the user's computer. */
export function download(blob: Blob, name: string): void {
  const link = h("a", {
    href: URL.createObjectURL(blob),
    download: name.replace(/[^\w.-]+/g, "_"),
  });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** Keeps keys typed in an element from triggering shortcuts of the notebook ("dd" deletes a cell). */
export function keepKeys(root: HTMLElement): void {
  root.addEventListener("keydown", (event) => event.stopPropagation());
  root.addEventListener("focusin", (event) => {
    if (event.target instanceof Element)
      event.target.setAttribute("data-lm-suppress-shortcuts", "true");
  });
}
