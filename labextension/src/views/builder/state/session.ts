// The requests of one view to the kernel, and the replies that belong to them.

import type {
  Clipboard,
  ConnectTargets,
  CopyRequest,
  Drawing,
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
} from "../../../protocol/builder";
import type {
  Compared,
  CompareRequest,
  Compiled,
  CompiledRequest,
  CopyGraphRequest,
  DetailEdit,
  DetailsFromKernel,
  Devices,
  DevicesRequest,
  Inside,
  InsideRequest,
  LessonRequest,
  Lessons,
  ProbesRequest,
  Profile,
  ProfileRequest,
} from "../../../protocol/builder_details";

export type AnyEdit = Edit | DetailEdit;

/** Everything that the kernel sends. */
export type FromBuilder = FromKernel | DetailsFromKernel;

/** What a request about details is answered with, by its type. */
interface Details {
  inside: Inside;
  compiled: Compiled;
  profile: Profile;
  compare: Compared;
  devices: Devices;
  lesson: Lessons;
}

/** The connection to a kernel. */
export interface Channel {
  send(message: ToKernel): void;
  /** Registers what handles messages; the returned function ends that. */
  receive(handle: (message: FromBuilder) => void): () => void;
}

type DetailsRequest =
  | InsideRequest
  | CompiledRequest
  | ProfileRequest
  | CompareRequest
  | DevicesRequest
  | LessonRequest;

type Without<T> = T extends unknown ? Omit<T, "request"> : never;

export type ToKernel =
  | (Omit<Gesture, "edits"> & { readonly edits: readonly AnyEdit[] })
  | DetailsRequest
  | CopyGraphRequest
  | ProbesRequest
  | Undo
  | Open
  | PaletteRequest
  | TargetsRequest
  | RunRequest
  | TrainRequest
  | CopyRequest;

type Reply = PaletteMessage | ConnectTargets | Clipboard | Details[keyof Details];

export class Session {
  // Replies go to all views, also to those of other browsers, so the numbers of two views should not be equal.
  private request = Math.floor(Math.random() * 2 ** 30);
  private gestures = 0;
  private readonly waiting = new Map<number, (reply: Reply) => void>();
  private readonly answers = new Map<number, (drawing: Drawing) => void>();
  /** When each gesture that has no answer yet was sent. */
  private readonly pending = new Map<number, number>();
  /** Whether the kernel has ended: then nothing is sent any more. */
  isGone = false;
  /** The time of the last gesture from sending to its answer, in milliseconds. */
  latency = 0;

  /** `refuse` is called instead of sending when the kernel has ended. */
  constructor(
    private readonly transmit: (message: ToKernel) => void,
    private readonly refuse: () => void = () => {},
  ) {}

  send(message: ToKernel): void {
    if (this.isGone) this.refuse();
    else this.transmit(message);
  }

  /** Sends edits as one step of undo; none are no step. */
  gesture(...edits: AnyEdit[]): void {
    if (!edits.length) return;
    if (this.isGone) this.refuse();
    else this.send({ type: "gesture", gesture: this.next(), edits });
  }

  undo(type: "undo" | "redo"): void {
    if (this.isGone) this.refuse();
    else this.send({ type, gesture: this.next() });
  }

  /** The answer to the gesture that was sent last. */
  answer(): Promise<Drawing> {
    return new Promise((done) => {
      this.answers.set(this.gestures, done);
    });
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
    return this.ask((request) => ({
      type: "palette",
      request,
      query,
      wire,
      port,
      count,
      inside: "",
    }));
  }

  targets(wire: Wire): Promise<ConnectTargets> {
    return this.ask((request) => ({ type: "targets", request, wire, inside: "" }));
  }

  copy(nodes: readonly string[]): Promise<Clipboard> {
    return this.ask((request) => ({ type: "copy", request, nodes }));
  }

  copyGraph(nodes: readonly string[]): Promise<Clipboard> {
    return this.ask((request) => ({ type: "copy graph", request, nodes }));
  }

  /** Asks for details; a request that the kernel refuses is answered by a drawing, and never here. */
  details<K extends keyof Details>(
    message: Extract<Without<DetailsRequest>, { type: K }>,
  ): Promise<Details[K]> {
    return this.ask((request) => ({ ...message, request }) as unknown as ToKernel);
  }

  /** Asks what another view asks, under a number of its own. */
  forward(message: PaletteRequest | TargetsRequest): Promise<PaletteMessage | ConnectTargets> {
    return this.ask((request) => ({ ...message, request }));
  }

  private ask<T extends Reply>(message: (request: number) => ToKernel): Promise<T> {
    this.request += 1;
    const { request } = this;
    return new Promise((done) => {
      this.waiting.set(request, done as (reply: Reply) => void);
      this.send(message(request));
    });
  }

  receive(message: FromBuilder): void {
    if ("request" in message) {
      this.waiting.get(message.request)?.(message);
      this.waiting.delete(message.request);
    } else if (message.type === "drawing" && message.gesture) {
      const sent = this.pending.get(message.gesture);
      if (sent !== undefined) this.latency = performance.now() - sent;
      this.pending.delete(message.gesture);
      this.answers.get(message.gesture)?.(message);
      this.answers.delete(message.gesture);
    }
  }
}
