// Computes layouts in a worker, so that a large box never blocks the page. If no worker may be started, this script is
// loaded into the page once, and defines the function there.

import { type Job, layoutAll } from "./layout";

declare const WorkerGlobalScope: unknown;

if (typeof WorkerGlobalScope === "undefined") {
  (globalThis as { tfnbLayout?: typeof layoutAll }).tfnbLayout = layoutAll;
} else {
  self.onmessage = (event: MessageEvent<{ number: number; jobs: Job[] }>): void => {
    self.postMessage({ number: event.data.number, layouts: layoutAll(event.data.jobs) });
  };
}
