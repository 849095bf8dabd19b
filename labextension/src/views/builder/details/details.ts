// What the view shows of nodes beyond their drawing: inside of them, compiled, timed, compared, on devices, their
// gradients, probes of their outputs, and lessons; with the commands that ask for it.

import { h } from "../../dom";
import type { Command } from "../commands";
import { LayerTransform } from "../layer_transform";
import type { FromBuilder } from "../state/session";
import type { Workspace } from "../state/workspace";
import { nudgeBends, routeQuestion } from "../wires/bends";
import { showCompared } from "./compare";
import { CompiledView } from "./compiled";
import { Dock } from "./dock";
import { Gradients } from "./gradients";
import { InsideView, isImport } from "./inside";
import { Lanes } from "./lanes";
import { LessonPane } from "./lesson";
import { Marks } from "./marks";
import type { PanelContext } from "./panel_context";
import { Probes } from "./probes";
import { showProfile } from "./profile";

type Needing = { readonly error: string; readonly needs: readonly string[] };

export class Details {
  readonly dock: Dock;
  readonly lesson: LessonPane;
  readonly lanes: Lanes;
  readonly probes: Probes;
  /** What lies above the nodes, in the coordinates of the drawing. */
  readonly overlays = h("div", { className: "overlays" });
  private readonly layerTransform = new LayerTransform(this.overlays);
  private readonly inside: InsideView;
  private readonly compiled: CompiledView;
  private readonly marks: Marks;
  private readonly gradients: Gradients;
  private revision = -1;

  constructor(
    private readonly workspace: Workspace,
    private readonly context: PanelContext,
  ) {
    this.dock = new Dock(context.leave, (text) => workspace.say(text));
    this.inside = new InsideView(workspace, context, this.dock);
    this.compiled = new CompiledView(context, this.dock);
    this.lanes = new Lanes(workspace, context, this.dock);
    this.lesson = new LessonPane(workspace, context);
    this.marks = new Marks(workspace);
    this.probes = new Probes(workspace);
    this.gradients = new Gradients(
      workspace,
      (node, operation) => void this.inside.open(node, operation),
      context.leave,
    );
    this.overlays.append(this.gradients.root, this.marks.root, this.probes.root);
  }

  // ---- messages and drawing ------------------------------------------------------------------------

  receive(message: FromBuilder): void {
    if (message.type === "probed") this.probes.receive(message);
  }

  /** A drawing has been shown: what is open follows it. `isNew`: whether nodes have changed. */
  follow(isFirst: boolean, isNew: boolean): void {
    const { model } = this.workspace;
    if (model.graph.revision === this.revision && !isNew) return;
    this.revision = model.graph.revision;
    if (isNew && !isFirst) {
      if (this.dock.kind === "profile" || this.dock.kind === "compare") this.dock.close();
      if (this.gradients.node) void this.followGradients();
    }
    this.probes.keep((node) => model.nodes.has(node));
    if (this.dock.kind === "devices") void this.askDevices();
    if (this.dock.kind === "inside") void this.inside.follow();
    const last = model.nodes.get(model.order[model.order.length - 1] ?? "");
    // A large graph is one node: what is to be seen is inside of it.
    if (isFirst && last && model.order.length <= 2 && isImport(last.call))
      void this.inside.open(last.id);
  }

  draw(isMoved: boolean): void {
    const { gradients, marks, probes } = this;
    const { x, y, scale } = this.workspace.viewport.camera;
    this.layerTransform.to(`translate(${x}px, ${y}px) scale(${scale})`);
    marks.draw();
    if (!isMoved) return;
    if (gradients.size) gradients.draw();
    if (probes.size) probes.draw();
  }

  dispose(): void {
    this.layerTransform.rest();
    this.dock.dispose();
  }

  // ---- questions to the kernel ---------------------------------------------------------------------

  /** Asks, and asks again when the feeds that are missing have been given. */
  private async ask<T extends Needing>(
    request: () => Promise<T>,
    show: (answer: T) => void,
  ): Promise<void> {
    const { workspace, context } = this;
    const answer = await request();
    if (answer.needs.length) context.askFeeds(answer.needs, () => void this.ask(request, show));
    else if (answer.error) workspace.say(answer.error, true);
    else show(answer);
  }

  private askCompiled(node: string): void {
    const { workspace, context, compiled } = this;
    workspace.say(`compiling for a run to ${node}`);
    void this.ask(
      () => workspace.session.details({ type: "compiled", node, feeds: context.feeds() }),
      (answer) => compiled.show(answer),
    );
  }

  private askProfile(node: string): void {
    const { workspace, context, dock, marks } = this;
    workspace.say(`timing a run to ${node}`);
    void this.ask(
      () => workspace.session.details({ type: "profile", node, feeds: context.feeds() }),
      (answer) => showProfile(answer, dock, marks, context),
    );
  }

  private askCompared(node: string): void {
    const { workspace, context, dock, marks } = this;
    workspace.say("running both variants");
    void this.ask(
      () => workspace.session.details({ type: "compare", node, feeds: context.feeds() }),
      (answer) => showCompared(answer, dock, marks, context),
    );
  }

  private async askDevices(): Promise<void> {
    const { workspace, lanes } = this;
    await this.ask(
      () => workspace.session.details({ type: "devices" }),
      (answer) => lanes.show(answer),
    );
  }

  private async askGradients(node: string): Promise<void> {
    const { workspace, gradients } = this;
    if (gradients.node === node) {
      gradients.set("", []);
      workspace.say(`gradients of ${node}: closed`);
      return;
    }
    const inside = await workspace.session.details({ type: "inside", node });
    gradients.set(node, inside.gradients);
    if (!gradients.size) {
      workspace.say(`${node} has computed no gradient of a node here`, true);
      return;
    }
    const places = [...gradients.places().values()];
    const all = workspace.scene.bounds();
    const bottom = Math.max(...places.map((r) => r.y + r.height));
    if (all) workspace.fit({ ...all, height: bottom - all.y });
    gradients.focus(node);
    workspace.say(
      `gradients of ${gradients.size} nodes, by ${node}; up goes to the node, Enter opens`,
    );
  }

  private async followGradients(): Promise<void> {
    const { gradients, workspace } = this;
    const { node } = gradients;
    if (!workspace.model.nodes.has(node)) gradients.set("", []);
    else {
      const inside = await workspace.session.details({ type: "inside", node });
      if (gradients.node === node) gradients.set(node, inside.gradients);
    }
  }

  private async copyGraph(): Promise<void> {
    const { workspace } = this;
    const { text } = await workspace.session.copyGraph(workspace.selectedNodes());
    try {
      await navigator.clipboard.writeText(text);
      workspace.say("copied as protobuf's text");
    } catch {
      workspace.say("this page may not write the clipboard", true);
    }
  }

  // ---- commands ------------------------------------------------------------------------------------

  commands(): Command[] {
    return [...this.looking(), ...this.comparing(), ...this.wires()];
  }

  /** The selected node, else the last one. */
  private last(): string {
    const { only, model } = this.workspace;
    return only?.id ?? model.order[model.order.length - 1] ?? "";
  }

  private looking(): Command[] {
    const { workspace } = this;
    const one = (): boolean => workspace.only !== null;
    const id = (): string => workspace.only?.id ?? "";
    const some = (): boolean => workspace.model.order.length > 0;
    return [
      {
        id: "inside",
        label: "Look inside",
        keys: ["o"],
        can: one,
        run: () => void this.inside.open(id()),
      },
      {
        id: "compiled",
        label: "Compiler: stages and OpenCL",
        keys: ["k"],
        can: some,
        run: () => this.askCompiled(this.last()),
      },
      {
        id: "profile",
        label: "Times of a run",
        keys: ["shift+r"],
        can: some,
        run: () => this.askProfile(this.last()),
      },
      {
        id: "devices",
        label: "Devices as lanes",
        keys: [],
        can: some,
        run: () => void this.askDevices(),
      },
      {
        id: "gradients",
        label: "Gradients beside the graph",
        keys: ["shift+m"],
        can: one,
        run: () => void this.askGradients(id()),
      },
    ];
  }

  private comparing(): Command[] {
    const { workspace } = this;
    const { session } = workspace;
    const any = (): boolean => workspace.selected.size > 0;
    const nodes = (): string[] => workspace.selectedNodes();
    return [
      {
        id: "variant",
        label: "Variant B of the selection",
        keys: ["v"],
        can: any,
        run: () => session.gesture({ edit: "variant", nodes: nodes() }),
      },
      {
        id: "compare",
        label: "Compare the variants A and B",
        keys: ["shift+v"],
        can: () => workspace.model.order.length > 0,
        run: () => this.askCompared(this.last()),
      },
      {
        id: "own",
        label: "Own copy of the function for this call",
        keys: [],
        can: () => workspace.only?.kind === "function",
        run: () => session.gesture({ edit: "own", node: workspace.only?.id ?? "" }),
      },
      {
        id: "copy-graph",
        label: "Copy as protobuf's text",
        keys: [],
        can: any,
        run: () => void this.copyGraph(),
      },
    ];
  }

  private wires(): Command[] {
    const { workspace, context } = this;
    const hasWire = (): boolean => workspace.only !== null || workspace.selectedWire !== null;
    const route = (): void => {
      const question = routeQuestion(workspace);
      const rect = workspace.only && workspace.scene.rect(workspace.only.id);
      if (question) context.choose(question, rect && [rect.x, rect.y + rect.height + 6]);
      else workspace.say("no wire comes in here", true);
    };
    const probe = (): void => {
      const { selectedWire: wire, only } = workspace;
      if (wire) this.probes.toggle({ node: wire.from, output: wire.output });
      else if (only?.outputs.length) this.probes.toggle({ node: only.id, output: 0 });
      else workspace.say("it has no output", true);
    };
    const bend = (key: string, dx: number, dy: number): Command => ({
      id: `bend-${key}`,
      label: `Move the bends of the wire ${key.slice(5).toLowerCase()}`,
      keys: [`alt+${key}`],
      can: () => workspace.selectedWire !== null,
      run: () => {
        if (workspace.selectedWire) nudgeBends(workspace, workspace.selectedWire, dx, dy);
      },
    });
    return [
      {
        id: "probe",
        label: "Probe of the output while training",
        keys: ["p"],
        can: hasWire,
        run: probe,
      },
      { id: "route", label: "Bend or name a wire…", keys: ["w"], can: hasWire, run: route },
      bend("ArrowLeft", -10, 0),
      bend("ArrowRight", 10, 0),
      bend("ArrowUp", 0, -10),
      bend("ArrowDown", 0, 10),
    ];
  }
}
