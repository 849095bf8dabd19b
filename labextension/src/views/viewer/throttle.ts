// Limits how often a function is called.

export interface Throttled {
  (): void;
  cancel(): void;
}

// A function that calls `act` at most once per interval, and once after the last call. The interval is also a multiple of
// the duration of `act`, so that drawing never takes most of the processor time, which the training may need.
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
