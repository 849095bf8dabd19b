// Elements, downloads and keys. Texts only ever become text nodes or values of attributes.

export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name in element && name !== "list" && name !== "role") element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children.filter((c) => c !== null && c !== undefined));
  return element;
}

export function download(blob, name) {
  const link = h("a", { href: URL.createObjectURL(blob), download: name.replace(/[^\w.-]+/g, "_") });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

// Keys typed here must not become the notebook's shortcuts ("dd" deletes a cell).
export function keepKeys(root) {
  root.addEventListener("keydown", (event) => event.stopPropagation());
  root.addEventListener("focusin", (event) => event.target.setAttribute("data-lm-suppress-shortcuts", "true"));
}

// A function that is called at most so often, and once more after the last call.
export function calmly(act, milliseconds) {
  let timer = null;
  let last = 0;
  const run = () => {
    timer = null;
    last = performance.now();
    act();
  };
  const ask = () => {
    if (timer === null) timer = setTimeout(run, Math.max(0, last + milliseconds - performance.now()));
  };
  ask.cancel = () => {
    if (timer !== null) clearTimeout(timer);
    timer = null;
  };
  return ask;
}

// A test of names by a regular expression as it is being typed: while it is not whole, nothing is filtered.
export function nameTest(input) {
  try {
    const pattern = new RegExp(input.value, "i");
    input.removeAttribute("aria-invalid");
    input.title = "a regular expression; upper and lower case count the same";
    return (name) => pattern.test(name);
  } catch (fault) {
    input.setAttribute("aria-invalid", "true");
    input.title = String(fault.message);
    return () => true;
  }
}
