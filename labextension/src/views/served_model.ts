// A widget's model that a server feeds instead of a kernel. The modules of the notebook's widgets draw on it as they
// do on anywidget's. What they set and send goes out in turns, one at a time; what comes back becomes the same events.
import type { ServedReply, ServedRequest } from "../protocol/served";

type Handler = (...values: unknown[]) => void;

export interface Fed {
  /** One turn with the server. */
  exchange(told: ServedRequest): Promise<ServedReply>;
  /** Another model, by name: BokehJS. */
  shared(name: string): Promise<{ get(key: string): unknown }>;
  /** Says what is wrong, or nothing any more. */
  fault(text: string): void;
}

const FIRST_PAUSE = 2;
const LONGEST_PAUSE = 30;

export class ServedModel {
  readonly widget_manager: { get_model(name: string): Promise<{ get(key: string): unknown }> };
  private readonly fed: Fed;
  private readonly state: Record<string, unknown>;
  private readonly handlers = new Map<string, Set<Handler>>();
  private own: Record<string, unknown>;
  private changed: Record<string, unknown>;
  private messages: unknown[] = [];
  private timer: ReturnType<typeof setTimeout> | undefined;
  private busy = false;
  private first = true;
  private pause = FIRST_PAUSE;
  private watched = true;
  private closed = false;

  constructor(fed: Fed, state: Readonly<Record<string, unknown>> = {}) {
    this.fed = fed;
    this.state = { ...state };
    this.own = { ...state };
    this.changed = { ...state };
    this.widget_manager = { get_model: (name) => fed.shared(name) };
  }

  // ---- as anywidget's ------------------------------------------------------------------------

  get(key: string): unknown {
    return this.state[key];
  }

  set(key: string, value: unknown): void {
    this.state[key] = value;
    this.own[key] = value;
    this.changed[key] = value;
  }

  save_changes(): void {
    this.soon();
  }

  send(content: unknown): void {
    this.messages.push(content);
    this.soon();
  }

  on(event: string, handler: Handler): void {
    const found = this.handlers.get(event) ?? new Set();
    this.handlers.set(event, found.add(handler));
  }

  off(event: string, handler?: Handler): void {
    if (handler) this.handlers.get(event)?.delete(handler);
    else this.handlers.delete(event);
  }

  // ---- for its owner -------------------------------------------------------------------------

  /** The first turn; its state is there afterwards. Throws what the server has against it. */
  async open(): Promise<void> {
    await this.turn();
  }

  /** Nobody looks: news are not asked for until somebody does. */
  watch(watched: boolean): void {
    const now = watched && !this.watched;
    this.watched = watched;
    if (now && !this.first) this.soon();
  }

  close(): void {
    this.closed = true;
    clearTimeout(this.timer);
    this.handlers.clear();
  }

  // ---- turns ---------------------------------------------------------------------------------

  private soon(seconds = 0): void {
    if (this.closed || this.busy) return; // the turn that is on looks for more when it ends
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.guardedTurn(), seconds * 1000);
  }

  private async guardedTurn(): Promise<void> {
    try {
      await this.turn();
      this.pause = FIRST_PAUSE;
      if (!this.closed) this.fed.fault("");
    } catch (fault) {
      if (this.closed) return;
      this.fed.fault(fault instanceof Error ? fault.message : String(fault));
      this.soon(this.pause);
      this.pause = Math.min(this.pause * 2, LONGEST_PAUSE);
    }
  }

  private async turn(): Promise<void> {
    const told = { state: this.changed, messages: this.messages, first: this.first };
    this.changed = {};
    this.messages = [];
    this.busy = true;
    let heard: ServedReply;
    try {
      heard = await this.fed.exchange(told);
    } catch (fault) {
      // ServedRequest again with the next turn.
      this.changed = { ...told.state, ...this.changed };
      this.messages = [...told.messages, ...this.messages];
      throw fault;
    } finally {
      this.busy = false;
    }
    if (this.closed) return;
    this.first = false;
    if (heard.renewed) this.changed = { ...this.own, ...this.changed };
    this.hear(heard);
    const more = this.messages.length > 0 || Object.keys(this.changed).length > 0;
    if (more) this.soon();
    else if (heard.again > 0 && this.watched) this.soon(heard.again);
  }

  private hear(heard: ServedReply): void {
    Object.assign(this.state, heard.state);
    for (const key of Object.keys(heard.state)) this.tell(`change:${key}`);
    for (const { content, buffers } of heard.messages) this.tell("msg:custom", content, buffers);
  }

  private tell(event: string, ...values: unknown[]): void {
    for (const handler of [...(this.handlers.get(event) ?? [])]) handler(...values);
  }
}
