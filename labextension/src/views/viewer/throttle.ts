// Limits how often something is done.

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
