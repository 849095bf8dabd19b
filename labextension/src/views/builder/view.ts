// The visual graph builder in the browser. It draws what the kernel sends, and sends the user's gestures; it knows no
// operation and computes no shape. It needs a pair of functions to send and to receive, and nothing of Jupyter.

import type { Drawing } from "../../protocol/builder";
import { h, keepKeys } from "../dom";
import { Layouter } from "../graph/layouter";
import { themeOf } from "../graph/palette";
import { Bar } from "./bar";
import { Chooser, type Question } from "./chooser";
import { NodeClipboard } from "./clipboard";
import { type Actions, type Command, commandsOf, whileThere } from "./commands";
import { described, stageOf } from "./described";
import { Details } from "./details/details";
import type { PanelContext } from "./details/panel_context";
import detailsStyle from "./details/style.css?text";
import type { Host } from "./dragging";
import type { FormHost } from "./form";
import { FrameNoteLayer } from "./frame_notes";
import { Pointer } from "./gestures";
import { Inspector } from "./inspector";
import { handleKeys } from "./keys";
import { LiveRegion } from "./live_region";
import { menuOf } from "./menu";
import { Minimap } from "./minimap";
import { NodeElements } from "./node_elements";
import { calls } from "./palette";
import { layoutOf, placesBeside } from "./places/arrange";
import type { Point } from "./places/geometry";
import { Renderer } from "./renderer";
import { type Running, runner } from "./running";
import { type Channel, type FromBuilder, Session } from "./state/session";
import { Workspace } from "./state/workspace";
import style from "./style.css?text";

export type { Channel, FromBuilder } from "./state/session";

export interface BuilderOptions {
  /** In pixels. */
  height?: number;
  /** Where nodes stood when the notebook was saved. */
  places?: Readonly<Record<string, Point>>;
  /** How wires went when the notebook was saved. */
  routes?: Readonly<Record<string, readonly number[]>>;
  /** The lesson to begin with. */
  lesson?: string;
  /** Called by Escape when there is nothing to leave inside: this is a canvas inside of another one. */
  leave?: () => void;
}

const READABLE = 0.55; // the scale below which a first drawing is not shown as a whole
// What is done with a whole graph, and not inside of a function of it.
const NOT_INSIDE = ["run", "train", "minimize", "device", "group", "frame", "note", "lessons"];
let counter = 0;

/** Draws the builder in `host`; it ends with `dispose`. */
export function drawBuilder(
  host: HTMLElement,
  channel: Channel,
  options: BuilderOptions = {},
): BuilderView {
  return new BuilderView(host, channel, options);
}

export class BuilderView {
  readonly workspace: Workspace;
  private readonly root = h("div", { className: "tfnb-builder" });
  private readonly stage: HTMLElement;
  private readonly elements: NodeElements;
  private readonly frameNotes: FrameNoteLayer;
  private readonly map: Minimap;
  private readonly chooser: Chooser;
  private readonly inspector: Inspector;
  private readonly bar: Bar;
  private readonly details: Details;
  private readonly live = new LiveRegion();
  private readonly clipboard: NodeClipboard;
  private readonly running: Running;
  private readonly pointer: Pointer;
  private readonly layouter = new Layouter();
  private readonly renderer: Renderer;
  private readonly commands: readonly Command[];
  private readonly ends: (() => void)[] = [];
  private isFirst = true;

  constructor(
    host: HTMLElement,
    private readonly channel: Channel,
    private readonly options: BuilderOptions,
  ) {
    counter += 1;
    const prefix = `tfnb-builder-${counter}`;
    const session = new Session(
      (message) => {
        channel.send(message);
        this.showPending();
      },
      () => this.say("the kernel has ended: run the cell again to go on", true),
    );
    this.workspace = new Workspace(
      session,
      () => this.renderer.viewportChanged(),
      (text, isRefusal, isProgress) => {
        if (isProgress) this.live.progress(text);
        else this.say(text, isRefusal);
      },
    );
    const { workspace } = this;
    this.stage = stageOf();
    this.elements = new NodeElements(workspace, prefix, (node, id) =>
      session.gesture({ edit: "fix", node, id }),
    );
    this.map = new Minimap(workspace);
    this.chooser = new Chooser(
      () => this.stage.focus({ preventScroll: true }),
      (text) => this.live.say(text),
    );
    this.running = runner(workspace, (question, at) => this.choose(question, at));
    this.clipboard = new NodeClipboard(workspace, this.root);
    const actions = this.actions();
    this.details = new Details(workspace, this.context());
    const commands = commandsOf(workspace, actions);
    this.commands = whileThere(
      session,
      options.leave
        ? commands.filter(({ id }) => !NOT_INSIDE.includes(id))
        : [...commands, ...this.details.commands()],
    );
    workspace.dispatch({ type: "kept routes", routes: options.routes ?? {} });
    this.frameNotes = new FrameNoteLayer(workspace, actions);
    this.bar = new Bar(workspace, this.commands, (id) => this.command(id));
    this.inspector = new Inspector(workspace, this.formHost(), prefix, this.details.lesson);
    this.pointer = new Pointer(workspace, this.gestureHost(), this.stage);
    const { stage, elements, frameNotes, map, details, inspector, bar } = this;
    const parts = { stage, elements, frameNotes, map, details, inspector, bar };
    this.renderer = new Renderer(workspace, parts);
    this.build(host);
    this.ends.push(channel.receive((message) => this.receive(message)));
    channel.send({ type: "open" });
    if (options.leave) this.inspector.narrow();
    if (options.lesson) {
      void this.details.lesson.begin(options.lesson);
      this.inspector.show("lesson");
    }
  }

  private build(host: HTMLElement): void {
    const { root, stage, workspace } = this;
    root.style.height = `${this.options.height ?? 600}px`;
    // No key may reach the notebook's shortcuts.
    root.setAttribute("data-lm-suppress-shortcuts", "true");
    keepKeys(root);
    for (const type of ["keyup", "keypress", "copy", "cut", "paste", "contextmenu"])
      root.addEventListener(type, (event) => event.stopPropagation());
    stage.append(
      this.renderer.below,
      this.frameNotes.root,
      this.elements.root,
      this.elements.lifted,
      this.details.overlays,
      this.renderer.above,
      this.map.root,
      this.live.toast,
      this.chooser.root,
    );
    root.append(
      h("style", { textContent: style + detailsStyle }),
      this.bar.root,
      h(
        "div",
        { className: "body" },
        h("div", { className: "work" }, stage, this.details.dock.root),
        this.inspector.root,
      ),
      h("div", { className: "foot" }, this.live.notice, this.live.status, this.bar.totals),
    );
    host.replaceChildren(root);
    handleKeys(workspace, stage, {
      commands: this.commands,
      type: (text) => this.palette({ wire: workspace.openOutput, isLoose: true }, null, text),
      escape: () => {
        const wasActive = this.pointer.isActive;
        this.pointer.cancel();
        if (wasActive || !this.options.leave || workspace.selected.size) return wasActive;
        this.options.leave();
        return true;
      },
    });
    stage.addEventListener("focus", () => this.focused());
    this.observe();
    workspace.dispatch({ type: "theme", theme: themeOf(root) });
    this.say("Type a letter, or double-click, to add an operation.");
  }

  private observe(): void {
    const sizes = new ResizeObserver(() => {
      const { clientWidth, clientHeight } = this.stage;
      if (!clientWidth || !clientHeight) return;
      const wasHidden = !this.workspace.viewport.width;
      this.workspace.resize(clientWidth, clientHeight);
      if (wasHidden && !this.isFirst) this.workspace.fit();
      this.renderer.viewportChanged();
    });
    sizes.observe(this.stage);
    const restyle = (): void =>
      this.workspace.dispatch({ type: "theme", theme: themeOf(this.root) });
    const themes = new MutationObserver(restyle);
    themes.observe(document.body, {
      attributes: true,
      attributeFilter: ["data-jp-theme-light", "data-jp-theme-name", "class"],
    });
    const waiting = setInterval(() => {
      if (this.workspace.session.waitsLongerThan(3000))
        this.live.wait("waiting for the kernel, which is busy or has ended");
    }, 1000);
    this.ends.push(
      () => sizes.disconnect(),
      () => themes.disconnect(),
      () => clearInterval(waiting),
    );
  }

  private gestureHost(): Host {
    return {
      palette: (compatibility, at) => this.palette(compatibility, at),
      menu: (at) => this.choose(menuOf(this.commands), at),
      openForm: () => this.inspector.focusForm(),
      editFrame: (id) => this.frameNotes.editFrame(id),
      over: (event) => this.details.lanes.over(event),
      dropOn: (event) => this.details.lanes.drop(event),
    };
  }

  private formHost(): FormHost {
    return {
      run: (id) => this.running.run(id),
      go: (id) => this.go(id),
      choose: (question) => this.chooseBeside(question),
      leave: () => this.focus(),
      command: (id) => (this.commands.some((one) => one.id === id) ? this.bar.control(id) : null),
    };
  }

  private actions(): Actions {
    return {
      layOut: (jobs) => this.layouter.layouts(jobs),
      choose: (question, at) => this.choose(question, at),
      palette: (compatibility, at, text) => this.palette(compatibility, at, text),
      openForm: () => this.inspector.focusForm(),
      showSide: (tab) => {
        if (tab === "code") this.inspector.focusCode();
        else if (tab === "lesson") void this.inspector.focusLesson();
        else this.inspector.show(tab);
      },
      go: (id) => this.go(id),
      copy: (isCut) => this.clipboard.copy(isCut),
      paste: () => void this.clipboard.paste(),
      run: (id) => this.running.run(id),
      train: (id) => this.running.train(id),
      fullScreen: () => {
        if (document.fullscreenElement) void document.exitFullscreen();
        else void this.root.requestFullscreen();
      },
      help: () => this.choose(menuOf(this.commands, true), null),
    };
  }

  private context(): PanelContext {
    return {
      choose: (question, at) => this.choose(question, at),
      go: (id) => this.go(id),
      leave: () => this.focus(),
      feeds: () => ({ ...this.running.feeds }),
      askFeeds: (needs, done) => this.running.askFeed(needs, done),
      inner: (host, channel, leave) =>
        new BuilderView(host, channel, { leave, height: host.clientHeight }),
    };
  }

  /** Puts the focus on the canvas. */
  focus(): void {
    this.stage.focus({ preventScroll: true });
  }

  // ---- messages ------------------------------------------------------------------------------------

  private receive(message: FromBuilder): void {
    const { workspace } = this;
    workspace.session.receive(message);
    this.details.receive(message);
    if (message.type === "drawing") void this.show(message).then(() => this.showPending());
    else if (message.type === "source") {
      workspace.dispatch({ type: "source", source: message.source });
      this.inspector.setSource(message.source);
    } else if (message.type === "result") this.running.result(message);
    else if (message.type === "training") this.running.loss(message);
  }

  /** How many gestures have no answer yet, for what waits until the drawing is up to date. */
  private showPending(): void {
    this.stage.dataset.pending = String(this.workspace.session.waitingCount);
  }

  private async show(drawing: Drawing): Promise<void> {
    const { workspace } = this;
    const before = workspace.state.graph;
    const draw = this.renderer.hold();
    workspace.dispatch({ type: "drawing", drawing });
    const { graph } = workspace.state;
    if (graph.order.length < drawing.order.length) this.channel.send({ type: "open" });
    // A whole graph comes into view. A node that was put on an empty canvas stays where it was put.
    const opens =
      !before.order.length &&
      (this.isFirst || graph.order.some((id) => !workspace.model.position(id)));
    this.isFirst = false;
    await this.place().finally(draw);
    if (this.chooser.isOpen) void this.chooser.renew();
    if (opens) workspace.fit(undefined, READABLE, true);
    for (const id of drawing.selected.slice(0, 1)) workspace.reveal(id);
    const line = drawing.waits_for_line;
    const waits = line ? `The drawing waits for line ${line}, which is not complete.` : "";
    this.inspector.setWaiting(waits);
    if (drawing.echo) this.inspector.addLog(drawing.echo);
    if (drawing.message) this.say(drawing.message, drawing.is_refused);
    this.live.keep(waits);
    const isNew =
      drawing.changed.some(({ id }) => graph.nodes.has(id)) ||
      before.order.some((id) => !graph.nodes.has(id));
    this.details.follow(opens, isNew);
  }

  /** Gives a place to each node that has none. */
  private async place(): Promise<void> {
    const { workspace, layouter } = this;
    const isFree = (id: string): boolean =>
      workspace.model.nodes.has(id) && !workspace.model.position(id);
    const kept = Object.entries(this.options.places ?? {}).filter(([id]) => isFree(id));
    if (kept.length) workspace.dispatch({ type: "laid out", places: kept });
    const { model, scene, viewport } = workspace;
    const free = model.order.filter(isFree);
    if (!free.length) return;
    const places =
      free.length === model.order.length
        ? await layoutOf(model, free, scene.face, (jobs) => layouter.layouts(jobs), [
            viewport.width,
            viewport.height,
          ])
        : placesBeside(model, free, scene.face);
    workspace.dispatch({ type: "laid out", places });
  }

  // ---- actions -------------------------------------------------------------------------------------

  private command(id: string): void {
    const command = this.commands.find((one) => one.id === id);
    if (command?.can()) command.run();
  }

  private choose(question: Question, at: Point | null): void {
    const { viewport } = this.workspace;
    const { width, height } = viewport;
    const [x, y] = at ? viewport.toScreen(at) : [width / 2 - 165, Math.min(60, height / 5)];
    this.chooser.open(question, [x, y], [width, height]);
  }

  /** Opens the chooser at the side of the form. */
  private chooseBeside(question: Question): void {
    const { width, height } = this.workspace.viewport;
    this.chooser.open(question, [width, 4], [width, height]);
  }

  private palette(compatibility: Parameters<typeof calls>[1], at: Point | null, text = ""): void {
    const { workspace } = this;
    const source = compatibility.wire ? workspace.scene.rect(compatibility.wire.node) : null;
    const beside: Point | null = source && [source.x + source.width + 20, source.y];
    this.choose(calls(workspace, compatibility, at, text), at ?? beside);
  }

  private go(id: string): void {
    const { workspace } = this;
    workspace.select([id]);
    workspace.reveal(id);
    this.say(described(workspace, id));
    this.stage.focus({ preventScroll: true });
  }

  private focused(): void {
    const { workspace } = this;
    if (workspace.current && workspace.model.nodes.has(workspace.current))
      this.live.say(described(workspace, workspace.current));
  }

  private say(text: string, isRefusal = false): void {
    const { workspace } = this;
    const at =
      isRefusal && workspace.pointer ? workspace.viewport.toScreen(workspace.pointer) : null;
    this.live.say(text, isRefusal, at);
  }

  /** Says that the kernel has ended: what needs it can no longer be done. */
  note(text: string): void {
    this.live.keep(text);
    this.workspace.session.isGone = true;
    this.root.classList.add("gone");
    this.bar.draw();
  }

  dispose(): void {
    this.renderer.dispose();
    for (const end of this.ends) end();
    this.details.dispose();
    this.workspace.viewport.camera.dispose();
    this.layouter.dispose();
    this.inspector.dispose();
    this.elements.dispose();
    this.frameNotes.dispose();
    this.live.dispose();
    this.root.remove();
  }
}
