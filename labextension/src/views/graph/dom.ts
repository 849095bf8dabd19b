// Elements from plain arguments. Texts are only ever set as text.

type Props = Record<string, string | number | boolean | EventListener>;

export function make<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  props: Props = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (typeof value === "function") node.addEventListener(name, value);
    else if (typeof value === "boolean") node.toggleAttribute(name, value);
    else if (name === "text") node.textContent = String(value);
    else node.setAttribute(name === "className" ? "class" : name, String(value));
  }
  node.append(...children);
  return node;
}

export function button(text: string, told: string, act: () => void): HTMLButtonElement {
  return make("button", { type: "button", title: told, "aria-label": told, text, click: act });
}
