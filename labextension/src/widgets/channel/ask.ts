// The first request of a view to its kernel.
//
// The first view of a notebook may send its request before JupyterLab knows the thread of the kernel that answers while
// cells run. Such a request waits behind all cells, so it is repeated at growing intervals; a second reply is harmless.
const WAIT = 500; // milliseconds to the first repetition

/** Calls `send` at once and then repeatedly, until the returned function is called. */
export function ask(send: () => void): () => void {
  let later: ReturnType<typeof setTimeout>;
  const once = (wait: number): void => {
    send();
    later = setTimeout(() => once(2 * wait), wait);
  };
  once(WAIT);
  return () => clearTimeout(later);
}
