// A view's first question to its kernel.
//
// A notebook's first view may ask before JupyterLab has the thread of the kernel that answers while cells run. Such a
// question waits behind all cells, so it is asked again, ever more seldom; an answer more does no harm.
const WAIT = 500; // ms

/** Calls `send` now and again; gives what ends that: to be called when the answer is there, or nobody waits for it. */
export function ask(send: () => void): () => void {
  let later: ReturnType<typeof setTimeout>;
  const once = (wait: number): void => {
    send();
    later = setTimeout(() => once(2 * wait), wait);
  };
  once(WAIT);
  return () => clearTimeout(later);
}
