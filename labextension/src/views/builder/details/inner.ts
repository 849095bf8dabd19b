// The body of a function as a canvas of its own. What the inner canvas sends is answered from the outer one's session: its
// edits become edits inside of the function, and positions are kept here, because the code has none for them.

import type { BuilderNode, Drawing } from "../../../protocol/builder";
import type { Inside } from "../../../protocol/builder_details";
import type { AnyEdit, Channel, FromBuilder, Session, ToKernel } from "../state/session";

const OUTSIDE = "this is done on the outer canvas, for a call of the function";

export class InnerChannel implements Channel {
  private handle: (message: FromBuilder) => void = () => {};
  private readonly places: Record<string, readonly number[]> = {};
  private known = new Set<string>();
  private revision = 0;

  constructor(
    private readonly session: Session,
    private inside: Inside,
    private readonly model: () => { canUndo: boolean; canRedo: boolean },
  ) {}

  receive(handle: (message: FromBuilder) => void): () => void {
    this.handle = handle;
    return () => {
      this.handle = () => {};
    };
  }

  send(message: ToKernel): void {
    const { session } = this;
    switch (message.type) {
      case "open":
        this.known.clear();
        this.show({});
        this.handle({ type: "source", revision: 0, source: this.inside.code });
        break;
      case "gesture":
        void this.edit(message.gesture, message.edits);
        break;
      case "undo":
      case "redo":
        session.undo(message.type);
        void this.answered(message.gesture);
        break;
      case "palette":
        void this.ask(message);
        break;
      case "targets":
        void this.ask(message);
        break;
      case "copy":
        this.handle({
          type: "clipboard",
          request: message.request,
          text: this.text(message.nodes),
        });
        break;
      case "probes":
        break;
      default:
        this.show({ message: OUTSIDE, is_refused: true });
    }
  }

  /** The function has changed on the outer canvas too. */
  async refresh(): Promise<Inside> {
    this.inside = await this.session.details({ type: "inside", node: this.inside.node });
    this.show({});
    return this.inside;
  }

  private async ask(message: Extract<ToKernel, { type: "palette" | "targets" }>): Promise<void> {
    const inside = this.inside.node;
    const reply = await this.session.forward({ ...message, inside });
    this.handle({ ...reply, request: message.request });
  }

  private async edit(gesture: number, edits: readonly AnyEdit[]): Promise<void> {
    const moves = edits.filter((edit) => edit.edit === "move");
    const others = edits.filter((edit) => edit.edit !== "move");
    for (const { positions } of moves) Object.assign(this.places, positions);
    if (!others.length) {
      this.show({ gesture });
      return;
    }
    this.session.gesture({ edit: "inside", node: this.inside.node, edits: others });
    await this.answered(gesture);
  }

  private async answered(gesture: number): Promise<void> {
    const before = this.known;
    const { message, is_refused, echo } = await this.session.answer();
    if (!is_refused)
      this.inside = await this.session.details({ type: "inside", node: this.inside.node });
    const fresh = this.nodes().filter(({ id }) => !before.has(id));
    const selected = before.size && fresh.length === 1 ? fresh.map(({ id }) => id) : [];
    this.show({ gesture, message, is_refused, echo, selected });
  }

  private nodes(): BuilderNode[] {
    const { parameters, nodes } = this.inside;
    return (nodes as BuilderNode[]).map((node, k) =>
      k === 0 && parameters.length
        ? { ...node, title: "parameters", source: parameters.join("\n"), parameters: [] }
        : node,
    );
  }

  private text(ids: readonly string[]): string {
    const chosen = this.nodes().filter(({ id }) => ids.includes(id));
    return `${chosen.map(({ source }) => source).join("\n")}\n`;
  }

  private show(answer: Partial<Drawing>): void {
    const nodes = this.nodes();
    const sum = (of: (node: BuilderNode) => number): number =>
      nodes.reduce((total, node) => total + Math.max(0, of(node)), 0);
    this.known = new Set(nodes.map(({ id }) => id));
    this.revision += 1;
    const places = Object.entries(this.places).filter(([id]) => this.known.has(id));
    const { canUndo, canRedo } = this.model();
    this.handle({
      type: "drawing",
      revision: this.revision,
      gesture: 0,
      changed: nodes,
      order: nodes.map(({ id }) => id),
      lines: nodes.map(({ line }) => line),
      frames: [],
      notes: [],
      positions: Object.fromEntries(places),
      totals: {
        nodes: nodes.length,
        parameters: sum((node) => node.parameter_count),
        flops: sum((node) => node.flops),
        problems: sum((node) => Number(node.problem !== null)),
      },
      selected: [],
      echo: "",
      message: "",
      is_refused: false,
      waits_for_line: 0,
      can_undo: canUndo,
      can_redo: canRedo,
      ...answer,
    });
  }
}
