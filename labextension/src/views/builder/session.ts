// The requests of one view to the kernel, and the replies that belong to them.

import type {
  Clipboard,
  ConnectTargets,
  CopyRequest,
  Edit,
  FromKernel,
  Gesture,
  Open,
  PaletteMessage,
  PaletteRequest,
  RunRequest,
  TargetsRequest,
  TrainRequest,
  Undo,
  Wire,
} from "../../protocol/builder";

export type ToKernel =
  | Gesture
  | Undo
  | Open
  | PaletteRequest
  | TargetsRequest
  | RunRequest
  | TrainRequest
  | CopyRequest;

type Reply = PaletteMessage | ConnectTargets | Clipboard;

export class Session {
  // Replies go to all views, also to those of other browsers, so the numbers of two views should not be equal.
  private request = Math.floor(Math.random() * 2 ** 30);
  private gestures = 0;
  private readonly waiting = new Map<number, (reply: Reply) => void>();
  /** When each gesture that has no answer yet was sent. */
  private readonly pending = new Map<number, number>();
  /** The time of the last gesture from sending to its answer, in milliseconds. */
  latency = 0;

  constructor(readonly send: (message: ToKernel) => void) {}

  /** Sends edits as one step of undo. */
  gesture(...edits: Edit[]): void {
    if (!edits.length) return;
    this.send({ type: "gesture", gesture: this.next(), edits });
  }

  undo(type: "undo" | "redo"): void {
    this.send({ type, gesture: this.next() });
  }

  private next(): number {
    this.gestures += 1;
    this.pending.set(this.gestures, performance.now());
    return this.gestures;
  }

  get waitingCount(): number {
    return this.pending.size;
  }

  /** Whether a gesture has waited for its answer for that many milliseconds. */
  waitsLongerThan(milliseconds: number): boolean {
    const now = performance.now();
    return [...this.pending.values()].some((sent) => now - sent > milliseconds);
  }

  palette(
    query: string,
    fits: { wire?: Wire | null; port?: readonly [string, string] | null },
    count: number,
  ): Promise<PaletteMessage> {
    const { wire = null, port = null } = fits;
    return this.ask((request) => ({ type: "palette", request, query, wire, port, count }));
  }

  targets(wire: Wire): Promise<ConnectTargets> {
    return this.ask((request) => ({ type: "targets", request, wire }));
  }

  copy(nodes: readonly string[]): Promise<Clipboard> {
    return this.ask((request) => ({ type: "copy", request, nodes }));
  }

  private ask<T extends Reply>(message: (request: number) => ToKernel): Promise<T> {
    this.request += 1;
    const { request } = this;
    return new Promise((done) => {
      this.waiting.set(request, done as (reply: Reply) => void);
      this.send(message(request));
    });
  }

  receive(message: FromKernel): void {
    if (message.type === "palette" || message.type === "targets" || message.type === "clipboard") {
      this.waiting.get(message.request)?.(message);
      this.waiting.delete(message.request);
    } else if (message.type === "drawing" && message.gesture) {
      const sent = this.pending.get(message.gesture);
      if (sent !== undefined) this.latency = performance.now() - sent;
      this.pending.delete(message.gesture);
    }
  }
}
