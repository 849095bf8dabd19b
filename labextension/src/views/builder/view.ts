// The visual graph builder in the browser. It draws what the kernel sends, and sends the user's gestures; it knows no
// operation and computes no shape. It needs a pair of functions to send and to receive, and nothing of Jupyter.

import type { Drawing, LossPoint, RunResult } from "../../protocol/builder";
import { h, keepKeys } from "../dom";
import { Layouter } from "../graph/layouter";
import { themeOf } from "../graph/palette";
import { layoutOf, placesBeside } from "./arrange";
import { Bar } from "./bar";
import { Chooser, type Question } from "./chooser";
import { NodeClipboard } from "./clipboard";
import { type Actions, type Command, commandsOf, whileThere } from "./commands";
import { described, stageOf } from "./described";
import { Details } from "./details/details";
import type { PanelContext } from "./details/panel_context";
import detailsStyle from "./details/style.css?text";
import type { Host } from "./dragging";
import { FrameNoteLayer } from "./frame_notes";
import type { Point } from "./geometry";
import { Pointer } from "./gestures";
import { Inspector } from "./inspector";
import { handleKeys } from "./keys";
import { LiveRegion } from "./live_region";
import { menuOf } from "./menu";
import { Minimap } from "./minimap";
import { NodeElements } from "./node_elements";
import { type Overlay, paintAbove, paintBelow } from "./painter";
import { calls } from "./palette";
import { type Running, runner } from "./running";
import { type Channel, type FromBuilder, Session } from "./session";
import style from "./style.css?text";
import { isValueOf } from "./values";
import { type Change, Workspace } from "./workspace";

export type { Channel, FromBuilder } from "./session";

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
  private readonly below = h("canvas", { className: "layer", "aria-hidden": "true" });
  private readonly above = h("canvas", { className: "layer above", "aria-hidden": "true" });
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
  private readonly overlay: Overlay = { marquee: null, guides: [] };
  private readonly commands: readonly Command[];
  private readonly ends: (() => void)[] = [];
  private frame = 0;
  private readonly stale = new Set<Change>();
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
      (what) => this.changed(what),
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
    this.running = runner(workspace, this.elements, (question, at) => this.choose(question, at));
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
    for (const [key, route] of Object.entries(options.routes ?? {}))
      workspace.model.keptRoutes.set(key, route);
    this.frameNotes = new FrameNoteLayer(workspace, actions);
    this.bar = new Bar(workspace, this.commands, (id) => this.command(id));
    this.inspector = new Inspector(
      workspace,
      {
        run: (id) => this.running.run(id),
        go: (id) => this.go(id),
        choose: (question) => this.chooseBeside(question),
        leave: () => this.stage.focus({ preventScroll: true }),
        command: (id) => (this.commands.some((one) => one.id === id) ? this.bar.control(id) : null),
      },
      prefix,
      this.details.lesson,
    );
    this.pointer = new Pointer(workspace, this.gestureHost(), this.stage);
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
      this.below,
      this.frameNotes.root,
      this.elements.root,
      this.elements.lifted,
      this.details.overlays,
      this.above,
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
    workspace.theme = themeOf(root);
    this.say("Type a letter, or double-click, to add an operation.");
  }

  private observe(): void {
    const sizes = new ResizeObserver(() => {
      const { clientWidth, clientHeight } = this.stage;
      if (!clientWidth || !clientHeight) return;
      const wasHidden = !this.workspace.width;
      this.workspace.resize(clientWidth, clientHeight);
      if (wasHidden && !this.isFirst) this.workspace.fit();
      this.changed("camera");
    });
    sizes.observe(this.stage);
    const restyle = (): void => {
      this.workspace.theme = themeOf(this.root);
      this.elements.renew(this.workspace.model.order);
      this.changed("document");
    };
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
      overlay: this.overlay,
      palette: (compatibility, at) => this.palette(compatibility, at),
      menu: (at) => this.choose(menuOf(this.commands), at),
      openForm: () => this.inspector.focusForm(),
      editFrame: (id) => this.frameNotes.editFrame(id),
      over: (event) => this.details.lanes.over(event),
      dropOn: (event) => this.details.lanes.drop(event),
      drawOverlay: () => paintAbove(this.workspace, this.above, this.overlay),
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
      workspace.model.source = message.source;
      this.inspector.setSource(message.source);
    } else if (message.type === "result") this.result(message);
    else if (message.type === "training") this.loss(message);
  }

  /** How many gestures have no answer yet, for what waits until the drawing is up to date. */
  private showPending(): void {
    this.stage.dataset.pending = String(this.workspace.session.waitingCount);
  }

  private async show(drawing: Drawing): Promise<void> {
    const { workspace } = this;
    const { model } = workspace;
    const wasEmpty = !model.order.length;
    const changes = model.apply(drawing);
    if (changes.isIncomplete) this.channel.send({ type: "open" });
    for (const id of changes.removed) workspace.panels.delete(id);
    // A value is taken away when its node has come to be one of another kind, as by an undo.
    for (const [id, panel] of [...workspace.panels])
      if (!isValueOf(panel, model.nodes.get(id))) workspace.panels.delete(id);
    const readers = changes.changed.flatMap((id) => model.outgoing(id).map(({ to }) => to));
    workspace.forgetFaces([...changes.changed, ...changes.removed]);
    this.elements.renew([...changes.changed, ...readers]);
    // A whole graph comes into view. A node that was put on an empty canvas stays where it was put.
    const isFirst = this.isFirst;
    const opens = wasEmpty && (isFirst || model.order.some((id) => !model.position(id)));
    this.isFirst = false;
    await this.place(opens);
    workspace.forgetBoxes();
    if (this.chooser.isOpen) void this.chooser.renew();
    if (opens) workspace.fit(undefined, READABLE, true);
    const kept = [...workspace.selected].filter((id) => model.nodes.has(id));
    const wire = drawing.selected.length ? null : workspace.selectedWire;
    workspace.select(drawing.selected.length ? drawing.selected : kept);
    if (wire)
      workspace.selectWire(
        model
          .incoming(wire.to)
          .find(({ from, port }) => from === wire.from && port === wire.port) ?? null,
      );
    for (const id of drawing.selected.slice(0, 1)) workspace.reveal(id);
    const line = drawing.waits_for_line;
    const waits = line ? `The drawing waits for line ${line}, which is not complete.` : "";
    this.inspector.setWaiting(waits);
    if (drawing.echo) this.inspector.addLog(drawing.echo);
    if (drawing.message) this.say(drawing.message, drawing.is_refused);
    this.live.keep(waits);
    this.changed("document");
    this.details.follow(opens, changes.changed.length + changes.removed.length > 0);
  }

  /** Gives a place to each node that has none. */
  private async place(isFirst: boolean): Promise<void> {
    const { workspace, layouter } = this;
    const { model, face } = workspace;
    for (const [id, at] of Object.entries(this.options.places ?? {}))
      if (model.nodes.has(id) && !model.position(id)) model.automatic.set(id, at);
    const free = model.order.filter((id) => !model.position(id));
    if (!free.length) return;
    const isAll = isFirst || free.length === model.order.length;
    const corners =
      isAll && free.length === model.order.length
        ? await layoutOf(model, free, face, (jobs) => layouter.layouts(jobs), [
            workspace.width,
            workspace.height,
          ])
        : placesBeside(model, free, face);
    // While the worker was at work, another drawing may have given places.
    for (const [id, at] of corners) if (!model.automatic.has(id)) model.automatic.set(id, at);
  }

  private result(result: RunResult): void {
    this.running.result(result);
    this.changed("panels");
  }

  private loss(point: LossPoint): void {
    this.running.loss(point);
    this.changed("panels");
  }

  // ---- drawing -------------------------------------------------------------------------------------

  private changed(what: Change): void {
    this.stale.add(what);
    if (!this.frame) this.frame = requestAnimationFrame(() => this.draw());
  }

  private draw(): void {
    this.frame = 0;
    const { workspace, elements, stale } = this;
    const is = (...words: Change[]): boolean => words.some((word) => stale.has(word));
    if (!workspace.width) return;
    if (is("moves")) elements.drag();
    const shown = is("camera", "document", "panels", "moves", "selection")
      ? workspace.asElements()
      : null;
    if (shown) {
      this.isFar = workspace.model.order.length > 0 && shown.length === 0;
      elements.show(shown);
      if (is("document", "panels")) elements.moveAll();
    }
    if (is("selection", "document", "camera", "panels"))
      this.mark(is("selection", "document", "panels"));
    if (is("wires", "document")) elements.markPorts();
    this.details.draw(is("document", "moves", "panels", "wires"));
    if (is("document", "camera", "moves", "panels"))
      this.frameNotes.draw(is("document"), is("document", "moves", "panels"));
    if (is("selection", "document", "panels")) this.inspector.drawNode();
    if (is("selection", "document", "mode")) this.bar.draw();
    paintBelow(workspace, this.below, this.isFar);
    paintAbove(workspace, this.above, this.overlay);
    // While nodes are dragged the small picture stays as it was.
    const isDragging = workspace.model.dragged !== null;
    if (!isDragging) this.map.draw(is("document", "moves", "panels", "selection"));
    stale.clear();
  }

  private isFar = false;

  private mark(isNew: boolean): void {
    const { stage, elements, workspace } = this;
    if (isNew) elements.mark();
    const { current } = workspace;
    if (current && elements.has(current))
      stage.setAttribute("aria-activedescendant", elements.idOf(current));
    else stage.removeAttribute("aria-activedescendant");
    stage.dataset.near = String(elements.size);
    stage.dataset.nodes = String(workspace.model.order.length);
  }

  // ---- actions -------------------------------------------------------------------------------------

  private command(id: string): void {
    const command = this.commands.find((one) => one.id === id);
    if (command?.can()) command.run();
  }

  private choose(question: Question, at: Point | null): void {
    const { workspace } = this;
    const { width, height } = workspace;
    const [x, y] = at ? workspace.toScreen(at) : [width / 2 - 165, Math.min(60, height / 5)];
    this.chooser.open(question, [x, y], [width, height]);
  }

  /** Opens the chooser at the side of the form. */
  private chooseBeside(question: Question): void {
    const { width, height } = this.workspace;
    this.chooser.open(question, [width, 4], [width, height]);
  }

  private palette(compatibility: Parameters<typeof calls>[1], at: Point | null, text = ""): void {
    const { workspace } = this;
    const source = compatibility.wire ? workspace.rect(compatibility.wire.node) : null;
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
    const at = isRefusal && workspace.pointer ? workspace.toScreen(workspace.pointer) : null;
    this.live.say(text, isRefusal, at);
  }

  /** Says that the kernel has ended: what needs it can no longer be done. */
  note(text: string): void {
    this.live.keep(text);
    this.workspace.session.isGone = true;
    this.root.classList.add("gone");
    this.changed("mode");
  }

  dispose(): void {
    cancelAnimationFrame(this.frame);
    for (const end of this.ends) end();
    this.details.dispose();
    this.workspace.camera.dispose();
    this.layouter.dispose();
    this.inspector.dispose();
    this.elements.dispose();
    this.frameNotes.dispose();
    this.live.dispose();
    this.root.remove();
  }
}
