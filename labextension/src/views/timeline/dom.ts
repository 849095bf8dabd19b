// Elements in one expression. Texts are only ever set as text, never parsed.

type Attributes = Readonly<Record<string, string>>;

/** An element with a class, a text, attributes and children. */
export function make<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  { className = "", text = "", attributes = {} as Attributes } = {},
  ...children: readonly Node[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text) made.textContent = text;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** A button: `text` is what it shows, `title` what it does. */
export function button(text: string, title: string, act: () => void): HTMLButtonElement {
  const made = make("button", { text, attributes: { type: "button", title, "aria-label": title } });
  made.addEventListener("click", act);
  return made;
}
