// The model of a widget whose state comes from a server instead of a kernel, with the interface of anywidget's model, so
// that the modules of the notebook's widgets can draw with it. It exchanges changed state and messages with the server,
// one exchange at a time; the server's reply becomes events of the model.
import type { ServedReply, ServedRequest } from "../protocol/served";

type Handler = (...values: unknown[]) => void;

export interface Fed {
  /** Sends a request to the server and returns its reply. */
  exchange(request: ServedRequest): Promise<ServedReply>;
  /** Returns the model of this name: that of BokehJS. */
  shared(name: string): Promise<{ get(key: string): unknown }>;
  /** Shows an error; an empty text removes the last one. */
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

  // ---- the interface of anywidget's model ------------------------------------------------------------------------

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
    const handlers = this.handlers.get(event) ?? new Set();
    this.handlers.set(event, handlers.add(handler));
  }

  off(event: string, handler?: Handler): void {
    if (handler) this.handlers.get(event)?.delete(handler);
    else this.handlers.delete(event);
  }

  // ---- the interface for the owner -------------------------------------------------------------------------

  /** Makes the first exchange, which brings the state. Throws the error of the server, if there is one. */
  async open(): Promise<void> {
    await this.exchange();
  }

  /** Sets whether the document is visible; the server is polled only while it is. */
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

  // ---- exchanges ---------------------------------------------------------------------------------

  private soon(seconds = 0): void {
    if (this.closed || this.busy) return; // the current exchange schedules the next one when it ends
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.guardedExchange(), seconds * 1000);
  }

  private async guardedExchange(): Promise<void> {
    try {
      await this.exchange();
      this.pause = FIRST_PAUSE;
      if (!this.closed) this.fed.fault("");
    } catch (fault) {
      if (this.closed) return;
      this.fed.fault(fault instanceof Error ? fault.message : String(fault));
      this.soon(this.pause);
      this.pause = Math.min(this.pause * 2, LONGEST_PAUSE);
    }
  }

  private async exchange(): Promise<void> {
    const request = { state: this.changed, messages: this.messages, first: this.first };
    this.changed = {};
    this.messages = [];
    this.busy = true;
    let reply: ServedReply;
    try {
      reply = await this.fed.exchange(request);
    } catch (fault) {
      // The next exchange sends the same again.
      this.changed = { ...request.state, ...this.changed };
      this.messages = [...request.messages, ...this.messages];
      throw fault;
    } finally {
      this.busy = false;
    }
    if (this.closed) return;
    this.first = false;
    if (reply.renewed) this.changed = { ...this.own, ...this.changed };
    this.apply(reply);
    const more = this.messages.length > 0 || Object.keys(this.changed).length > 0;
    if (more) this.soon();
    else if (reply.again > 0 && this.watched) this.soon(reply.again);
  }

  private apply(reply: ServedReply): void {
    Object.assign(this.state, reply.state);
    for (const key of Object.keys(reply.state)) this.emit(`change:${key}`);
    for (const { content, buffers } of reply.messages) this.emit("msg:custom", content, buffers);
  }

  private emit(event: string, ...values: unknown[]): void {
    for (const handler of [...(this.handlers.get(event) ?? [])]) handler(...values);
  }
}
