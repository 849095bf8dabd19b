// What is drawn of a state: the elements of nodes, frames and notes, what is painted, and that only news is drawn.
import "../page";
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Question } from "../../src/views/builder/chooser";
import type { Actions } from "../../src/views/builder/commands";
import { Gradients } from "../../src/views/builder/details/gradients";
import { FrameNoteLayer } from "../../src/views/builder/frame_notes";
import { LayerTransform } from "../../src/views/builder/layer_transform";
import { Minimap } from "../../src/views/builder/minimap";
import { isSameSource, NodeElements, sourceOf } from "../../src/views/builder/node_elements";
import { paintAbove, paintBelow } from "../../src/views/builder/painter";
import { newsOf, type Parts, Renderer } from "../../src/views/builder/renderer";
import { type BuilderEvent, EMPTY } from "../../src/views/builder/state/state";
import { update } from "../../src/views/builder/state/update";
import { click, press, textsOf } from "../page";
import { drawing, node, stateAfter, workspaceOf } from "./samples";

const chain = () => workspaceOf([node("a"), node("b", ["a"]), node("c", ["b"])]);
const wrong = { text: "no shape", port: "inputs[0]", fixes: [{ id: "cast", label: "Cast it" }] };
// A page that lays nothing out has no animations.
Object.assign(HTMLElement.prototype, {
  animate: () => ({ pause: () => {}, cancel: () => {}, effect: { setKeyframes: () => {} } }),
});

test("news is what differs, and nothing else", () => {
  const state = stateAfter({ type: "drawing", drawing: drawing([node("a")], ["a"]) });
  const news = (event: BuilderEvent): string[] =>
    Object.entries(newsOf(state, update(state, event)))
      .filter(([, is]) => is)
      .map(([name]) => name);
  const from = { node: "a", side: "out", row: 0 } as const;
  assert.deepEqual(newsOf(EMPTY, EMPTY), newsOf(state, state));
  assert.deepEqual(news({ type: "source", source: "x" }), []);
  assert.deepEqual(news({ type: "overlay", overlay: { guides: [] } }), []);
  assert.deepEqual(news({ type: "selected", nodes: ["a"] }), ["selection"]);
  assert.deepEqual(news({ type: "laid out", places: [["a", [1, 1]]] }), ["moves"]);
  assert.deepEqual(news({ type: "panel", node: "a", panel: null }), ["panels"]);
  assert.deepEqual(news({ type: "theme", theme: { ...EMPTY.theme } }), ["document"]);
  const wire = { from, to: [0, 0] as const, target: null, refusals: null };
  assert.deepEqual(news({ type: "wire dragged", wire }), ["wires", "ports"]);
  const dragged = update(state, { type: "wire dragged", wire });
  const farther = update(dragged, { type: "wire dragged", wire: { ...wire, to: [9, 9] } });
  assert.equal(newsOf(dragged, farther).ports, false); // it is painted above all, and no port has changed
});

test("an element is drawn anew for other contents, values, inputs or colours, and not for another line", () => {
  const order = ["a", "b"];
  const state = stateAfter({
    type: "drawing",
    drawing: drawing([node("a", [], 1), node("b", ["a"], 2)], order),
  });
  const of = (...events: BuilderEvent[]): boolean => {
    const [before, now] = [sourceOf(state, "b"), sourceOf(events.reduce(update, state), "b")];
    return isSameSource(before ?? undefined, now ?? assert.fail("b"));
  };
  const drawn = (changed: Parameters<typeof drawing>[0], lines = [1, 2]): BuilderEvent => ({
    type: "drawing",
    drawing: { ...drawing(changed, order), lines },
  });
  assert.equal(isSameSource(undefined, sourceOf(state, "b") ?? assert.fail("b")), false);
  assert.equal(sourceOf(state, "nobody"), null);
  assert.equal(of(drawn([], [1, 99])), true);
  assert.equal(of({ type: "selected", nodes: ["b"] }), true);
  assert.equal(of(drawn([{ ...node("b", ["a"], 2), title: "other" }])), false);
  const int = { ...node("a", [], 1), outputs: [{ name: "a", dtype: "int32", shape: [] }] };
  assert.equal(of(drawn([int])), false);
  assert.equal(of({ type: "theme", theme: { ...state.theme, dark: true } }), false);
  const panel = { kind: "text", result: null, losses: [], isRunning: true } as const;
  assert.equal(of({ type: "panel", node: "b", panel }), false);
  assert.equal(of({ type: "panel", node: "a", panel }), true);
});

test("elements stay while their nodes do, go with them, and texts are no markup", () => {
  const { workspace } = chain();
  const fixes: string[][] = [];
  const elements = new NodeElements(workspace, "t", (...fix) => fixes.push(fix));
  elements.show(["a", "b"]);
  const [a, b] = ["a", "b"].map((id) => elements.root.querySelector(`[data-node=${id}]`));
  assert.ok(a && b && elements.size === 2);
  const hostile = { ...node("b", ["a"]), title: "<img src=x>", problem: wrong };
  workspace.dispatch({ type: "drawing", drawing: drawing([hostile], ["a", "b", "c"]) });
  elements.show(["a", "b"]);
  assert.equal(elements.root.querySelector("[data-node=a]"), a);
  const now = elements.root.querySelector("[data-node=b]") ?? assert.fail("b");
  assert.notEqual(now, b);
  assert.equal(now.querySelector("img"), null);
  assert.deepEqual(textsOf(now, ".title"), ["<img src=x>"]);
  assert.ok(now.classList.contains("wrong"));
  click(now, "Cast it");
  assert.deepEqual(fixes, [["b", "cast"]]);
  elements.show(["b"]);
  assert.deepEqual([elements.has("a"), elements.size, a.isConnected], [false, 1, false]);
});

test("selected nodes are in a layer of their own, which a drag moves", () => {
  const { workspace } = chain();
  const elements = new NodeElements(workspace, "t", () => {});
  elements.show(["a", "b", "c"]);
  workspace.select(["b"]);
  elements.mark();
  const inLayer = (layer: HTMLElement): (string | undefined)[] =>
    [...layer.children].map((one) => (one as HTMLElement).dataset.node);
  assert.deepEqual([inLayer(elements.root), inLayer(elements.lifted)], [["a", "c"], ["b"]]);
  const nodes = new Map([["b", [340, 70] as const]]);
  workspace.dispatch({ type: "dragged", drag: { nodes, bends: new Map() }, hovered: null });
  elements.drag();
  const element = elements.lifted.firstElementChild as HTMLElement;
  assert.match(elements.lifted.style.transform, /translate\(40px, 30px\)$/);
  assert.equal(element.style.transform, "translate(300px, 40px)");
  workspace.dispatch({ type: "moved", places: nodes, routes: new Map() });
  elements.drag();
  assert.match(elements.lifted.style.transform, /translate\(0px, 0px\)$/);
  assert.equal(element.style.transform, "translate(340px, 70px)");
  elements.dispose();
});

test("ports that refuse a dragged wire fade, those that take it are lit", () => {
  const { workspace } = chain();
  const elements = new NodeElements(workspace, "t", () => {});
  elements.show(["a", "b", "c"]);
  const wire = {
    from: { node: "a", side: "out", row: 0 },
    to: [0, 0],
    target: null,
    refusals: new Map([["c\ninputs[0]", "needs int32"]]),
  } as const;
  workspace.dispatch({ type: "wire dragged", wire });
  elements.markPorts();
  const portsOf = (name: string): string[] =>
    [...elements.root.querySelectorAll<HTMLElement>(`.${name}`)].map(
      (port) =>
        `${(port.closest(".node") as HTMLElement).dataset.node} ${port.dataset.in ?? "out"}`,
    );
  assert.deepEqual(portsOf("accepts"), ["b inputs[0]"]);
  assert.deepEqual(portsOf("refuses").sort(), ["a out", "b out", "c inputs[0]", "c out"]);
  workspace.dispatch({ type: "wire dragged", wire: null });
  elements.markPorts();
  assert.deepEqual([portsOf("accepts"), portsOf("refuses")], [[], []]);
});

/** Parts that only note that they were drawn. */
function parts() {
  const drawn: string[] = [];
  const note =
    (name: string) =>
    (...given: unknown[]): void =>
      void drawn.push([name, ...given].join(" "));
  const stage = document.createElement("div");
  const made = {
    stage,
    elements: {
      ...{ drag: note("drag"), show: note("show"), moveAll: note("moveAll"), mark: note("mark") },
      ...{ markPorts: note("ports"), has: () => true, idOf: (id: string) => `t-${id}`, size: 3 },
    },
    frameNotes: { draw: note("frames") },
    map: { draw: note("map") },
    details: { draw: note("details") },
    inspector: { drawNode: note("form") },
    bar: { draw: note("bar") },
  };
  return { drawn, stage, made: made as unknown as Parts };
}

const frame = (): Promise<void> =>
  new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())));

test("a frame draws the parts of which there is news, once for many events", async () => {
  const { workspace } = chain();
  const { drawn, stage, made } = parts();
  const renderer = new Renderer(workspace, made);
  renderer.viewportChanged();
  await frame();
  assert.ok(drawn.includes("show a,b,c") && drawn.includes("frames true true"));
  assert.equal(stage.dataset.nodes, "3");
  drawn.length = 0;
  workspace.select(["a"]);
  workspace.select(["b"]);
  await frame();
  assert.deepEqual(drawn, [
    ...["show a,b,c", "mark", "details false", "frames false false", "form", "bar", "map true"],
  ]);
  assert.equal(stage.getAttribute("aria-activedescendant"), "t-b");
  drawn.length = 0;
  workspace.dispatch({ type: "overlay", overlay: { guides: [] } });
  await frame();
  assert.deepEqual(drawn, ["details false", "frames false false", "map false"]);
  renderer.dispose();
});

test("nothing is drawn while nodes wait for a place, nor into a canvas that is hidden", async () => {
  const { workspace } = chain();
  const { drawn, made } = parts();
  const renderer = new Renderer(workspace, made);
  const [first, second] = [renderer.hold(), renderer.hold()];
  workspace.select(["a"]);
  first();
  await frame();
  assert.equal(drawn.length, 0);
  second();
  await frame();
  assert.ok(drawn.includes("mark"));
  drawn.length = 0;
  workspace.viewport.width = 0;
  workspace.select(["b"]);
  await frame();
  assert.equal(drawn.length, 0);
  workspace.viewport.width = 800;
  renderer.viewportChanged();
  await frame();
  assert.ok(drawn.includes("form")); // what was not drawn is news still
  renderer.dispose();
});

/** A canvas that notes what is painted. */
function paper() {
  const calls: string[] = [];
  const state: Record<string, unknown> = {};
  const pen = new Proxy(state, {
    set: (all, name: string, value: unknown) => {
      if (name === "globalAlpha") calls.push(`alpha ${value}`);
      all[name] = value;
      return true;
    },
    get: (_, name: string) =>
      name in state
        ? state[name]
        : (...given: unknown[]): void => {
            const texts = given.map((one) => (typeof one === "number" ? Math.round(one) : one));
            calls.push(`${name} ${texts.join(" ")}`);
            if (name === "stroke") calls.push(`line ${state.strokeStyle} ${state.lineWidth}`);
          },
  });
  const canvas = { getContext: () => pen, dataset: {}, width: 0, height: 0 };
  return { calls, canvas: canvas as unknown as HTMLCanvasElement };
}

test("the wires of the selection and under the pointer are lit, and wires fade while one is dragged", () => {
  const { workspace } = chain();
  const painted = (): string[] => {
    const { calls, canvas } = paper();
    paintBelow(workspace, canvas, false);
    return calls;
  };
  const wide = `line ${workspace.theme.accent} 6`;
  const lit = (): number => painted().filter((call) => call === wide).length;
  assert.equal(lit(), 0);
  workspace.select(["a"]);
  assert.equal(lit(), 1);
  workspace.select(["b"]);
  assert.equal(lit(), 2);
  workspace.select([]);
  workspace.dispatch({ type: "hovered", wire: workspace.model.connections[1] ?? null });
  assert.equal(lit(), 1);
  assert.ok(!painted().includes("alpha 0.35"));
  const from = { node: "a", side: "out", row: 0 } as const;
  workspace.dispatch({
    type: "wire dragged",
    wire: { from, to: [0, 0], target: null, refusals: null },
  });
  assert.ok(painted().includes("alpha 0.35"));
});

test("a named link is painted as two names, and far nodes by their titles", () => {
  const { workspace } = chain();
  workspace.dispatch({ type: "routed", routes: new Map([["b>inputs[0]", []]]) });
  const near = paper();
  paintBelow(workspace, near.canvas, false);
  const texts = (calls: readonly string[]): string[] =>
    calls
      .filter((call) => call.startsWith("fillText"))
      .map((call) => call.replace(/ -?\d+ -?\d+$/, ""));
  assert.deepEqual(texts(near.calls), ["fillText a ▸ b", "fillText a"]);
  workspace.viewport.camera.set(0, 0, 0.3);
  const far = paper();
  paintBelow(workspace, far.canvas, true);
  assert.deepEqual(texts(far.calls), Array(3).fill("fillText add_n"));
});

test("above the nodes there is nothing, or guides, the marquee and the dragged wire", () => {
  const { workspace } = chain();
  const { calls, canvas } = paper();
  paintAbove(workspace, canvas);
  const cleared = calls.length;
  paintAbove(workspace, canvas);
  assert.equal(calls.length, cleared); // an empty canvas is not cleared again
  workspace.dispatch({
    type: "overlay",
    overlay: {
      marquee: { x: 1, y: 2, width: 30, height: 40 },
      guides: [{ vertical: true, at: 50, from: 0, to: 100 }],
    },
  });
  paintAbove(workspace, canvas);
  assert.ok(calls.includes("strokeRect 1 2 30 40"));
  assert.ok(calls.includes("moveTo 50 -12") && calls.includes("lineTo 50 112"));
});

test("the small picture is there only while something is out of sight", () => {
  const { workspace } = chain();
  const map = new Minimap(workspace);
  map.draw(true);
  assert.equal(map.root.hidden, true);
  workspace.viewport.camera.set(-500, 0, 1);
  map.draw(false);
  assert.equal(map.root.hidden, false);
  const empty = workspaceOf([]);
  const none = new Minimap(empty.workspace);
  none.draw(true);
  assert.equal(none.root.hidden, true);
});

test("frames and notes are drawn where they lie, and edited by questions", async () => {
  const { workspace, edits } = chain();
  const questions: Question[] = [];
  const actions = { choose: (question: Question) => questions.push(question) };
  const layer = new FrameNoteLayer(workspace, actions as unknown as Actions);
  const frames = [
    { id: "f", title: "<b>", colour: "mauve", nodes: ["a"] },
    { id: "g", title: "", colour: "green", nodes: ["gone"] },
  ];
  const notes = [{ id: "n", text: "why", line: 1 }];
  workspace.dispatch({
    type: "drawing",
    drawing: { ...drawing([], ["a", "b", "c"]), frames, notes },
  });
  layer.draw(true, true);
  const [first, second, note] = [...layer.root.children] as HTMLElement[];
  assert.deepEqual([first?.className, first?.textContent], ["frame blue", "<b>"]);
  assert.deepEqual([second?.hidden, second?.textContent], [true, "frame"]);
  note?.click();
  await choose(questions, "");
  layer.editFrame("f");
  await choose(questions, "green");
  layer.editFrame("nobody");
  assert.equal(questions.length, 2);
  assert.deepEqual(edits(), [
    { edit: "note", id: "n", text: "", before: "" },
    { edit: "frame", id: "f", title: "green", colour: "mauve", nodes: ["a"] },
  ]);
  layer.dispose();
});

async function choose(questions: readonly Question[], text: string): Promise<void> {
  const [choice] = (await questions.at(-1)?.choices(text)) ?? [];
  (choice ?? assert.fail("no choice")).act();
}

test("a layer is moved by one paused animation, and at rest by its style alone", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const made: string[] = [];
  const element = document.createElement("div");
  Object.assign(element, {
    animate: () => {
      made.push("animation");
      return {
        pause: () => made.push("paused"),
        cancel: () => made.push("cancelled"),
        effect: {
          setKeyframes: ({ transform }: { transform: string[] }) => made.push(...transform),
        },
      };
    },
  });
  const layer = new LayerTransform(element);
  layer.to("translate(1px, 0px)");
  layer.to("translate(1px, 0px)");
  layer.to("translate(2px, 0px)");
  assert.deepEqual(made, ["animation", "paused", "translate(2px, 0px)", "translate(2px, 0px)"]);
  t.mock.timers.tick(1000);
  assert.equal(made.at(-1), "cancelled");
  assert.equal(element.style.transform, "translate(2px, 0px)");
  layer.rest();
  assert.equal(made.filter((one) => one === "cancelled").length, 1);
});

test("gradients lie below everything, apart from each other, and are walked against the wires", () => {
  const { workspace, said } = chain();
  workspace.dispatch({
    type: "moved",
    places: new Map([["b", [20, 45]]]),
    routes: new Map(),
  });
  const opened: string[][] = [];
  let left = 0;
  const gradients = new Gradients(
    workspace,
    (...one) => opened.push(one),
    () => left++,
  );
  const of = (node: string, operation: string) => ({ node, operation, forward: node }) as never;
  gradients.set("c", [of("a", "g1"), of("b", "g2"), of("a", "g3"), of("", "g4")]);
  assert.deepEqual([gradients.size, gradients.node], [2, "c"]);
  const [a, b] = [gradients.places().get("a"), gradients.places().get("b")];
  const bottom = Math.max(...[...workspace.scene.rects().values()].map((r) => r.y + r.height));
  assert.ok(a && b && a.y > bottom && Math.abs(a.y - b.y) >= a.height);
  document.body.append(gradients.root);
  const boxes = [...gradients.root.querySelectorAll<HTMLElement>("button")];
  assert.deepEqual(
    boxes.map((box) => box.textContent),
    ["∂ a2 operations", "∂ b1 operation"],
  );
  gradients.focus("a");
  assert.ok(press(document.activeElement as Element, "ArrowLeft"));
  assert.equal((document.activeElement as HTMLElement).dataset.forward, "b");
  press(document.activeElement as Element, "ArrowLeft");
  assert.equal(said.at(-1), "no further gradient");
  (document.activeElement as HTMLElement).click();
  press(document.activeElement as Element, "ArrowUp");
  assert.deepEqual([opened, left, [...workspace.selected]], [[["c", "g2"]], 1, ["b"]]);
  gradients.set("c", []);
  assert.deepEqual([gradients.node, gradients.root.childElementCount], ["", 0]);
});
