// Requests layouts from the worker. If a page may not start a worker (some editors forbid it), the page computes them.

import { h } from "../dom";
import type { Job, Layout, layoutAll } from "./layout";
import source from "./layout_worker.ts?worker";

interface Asked {
  jobs: Job[];
  done: (layouts: Layout[]) => void;
  failed: (error: Error) => void;
}

export class Layouter {
  private worker: Worker | null = null;
  private inPage: Promise<typeof layoutAll> | null = null;
  private readonly waiting = new Map<number, Asked>();
  private readonly url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  private number = 0;

  constructor() {
    try {
      this.worker = new Worker(this.url);
      this.worker.onmessage = ({ data }): void => {
        this.waiting.get(data.number)?.done(data.layouts);
        this.waiting.delete(data.number);
      };
      this.worker.onerror = (event): void => {
        event.preventDefault();
        this.withoutWorker();
      };
    } catch {
      this.withoutWorker();
    }
  }

  layouts(jobs: Job[]): Promise<Layout[]> {
    if (!jobs.length) return Promise.resolve([]);
    return new Promise((done, failed) => {
      this.number += 1;
      const asked = { jobs, done, failed };
      this.waiting.set(this.number, asked);
      if (this.worker) this.worker.postMessage({ number: this.number, jobs });
      else this.here(asked);
    });
  }

  private withoutWorker(): void {
    this.worker?.terminate();
    this.worker = null;
    this.inPage = loaded(this.url);
    for (const asked of this.waiting.values()) this.here(asked);
    this.waiting.clear();
  }

  private here({ jobs, done, failed }: Asked): void {
    this.inPage?.then((layout) => done(layout(jobs))).catch(failed);
  }

  dispose(): void {
    this.worker?.terminate();
    this.worker = null;
    this.waiting.clear();
    URL.revokeObjectURL(this.url);
  }
}

function loaded(url: string): Promise<typeof layoutAll> {
  return new Promise((done, failed) => {
    const script = h("script");
    script.src = url;
    script.onload = (): void => {
      const layOut = (globalThis as { tfnbLayout?: typeof layoutAll }).tfnbLayout;
      if (layOut) done(layOut);
      else failed(new Error("the layout could not be loaded"));
    };
    script.onerror = (): void => failed(new Error("the layout could not be loaded"));
    document.head.append(script);
  });
}
