// Elements, downloads and keys. Texts only ever become text nodes or values of attributes.

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

export function download(blob: Blob, name: string): void {
  const link = h("a", {
    href: URL.createObjectURL(blob),
    download: name.replace(/[^\w.-]+/g, "_"),
  });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

// Keys typed here must not become the notebook's shortcuts ("dd" deletes a cell).
export function keepKeys(root: HTMLElement): void {
  root.addEventListener("keydown", (event) => event.stopPropagation());
  root.addEventListener("focusin", (event) => {
    if (event.target instanceof Element)
      event.target.setAttribute("data-lm-suppress-shortcuts", "true");
  });
}

export interface Throttled {
  (): void;
  cancel(): void;
}

// A function that is called at most so often, and once more after the last call. The pause is also a multiple of what
// the act took, so that drawing never takes most of the page's time (the training may need the same processor).
export function throttle(act: () => unknown, milliseconds: number, rest = 0): Throttled {
  let timer: ReturnType<typeof setTimeout> | null = null;
  let due = 0;
  let busy = false;
  let again = false;
  const run = async () => {
    timer = null;
    busy = true;
    const start = performance.now();
    try {
      await act();
    } finally {
      const took = performance.now() - start;
      due = start + Math.max(milliseconds, took * (1 + rest));
      busy = false;
      if (again) ask();
      again = false;
    }
  };
  const ask = () => {
    if (busy) again = true;
    else timer ??= setTimeout(run, Math.max(0, due - performance.now()));
  };
  ask.cancel = () => {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    again = false;
  };
  return ask;
}

// A test of names by a regular expression as it is being typed: while it is not whole, nothing is filtered.
export function nameTest(input: HTMLInputElement): (name: string) => boolean {
  try {
    const pattern = new RegExp(input.value, "i");
    input.removeAttribute("aria-invalid");
    input.title = "a regular expression; upper and lower case count the same";
    return (name) => pattern.test(name);
  } catch (fault) {
    input.setAttribute("aria-invalid", "true");
    input.title = String(fault instanceof Error ? fault.message : fault);
    return () => true;
  }
}
