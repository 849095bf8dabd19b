// The graph view's camera, window and strokes: points stay where they are expected, and texts are no markup.
import "./page";
import assert from "node:assert/strict";
import { test } from "node:test";
import { Camera } from "../src/views/graph/camera";
import { shorten } from "../src/views/graph/measure";
import { SvgPen } from "../src/views/graph/pen";
import { boxAt, type Scene, type SceneBox } from "../src/views/graph/scene";
import { Viewport } from "../src/views/graph/viewport";

const near = (a: readonly number[], b: readonly number[]): void => {
  assert.equal(a.length, b.length);
  for (const [k, value] of a.entries())
    assert.ok(Math.abs(value - (b[k] ?? 0)) < 1e-9, `${a} ${b}`);
};

test("zooming keeps the point below the pointer, and ends at the limits", () => {
  let changes = 0;
  const camera = new Camera(() => changes++);
  camera.set(10, 20, 1);
  const before = camera.toWorld(300, 200);
  camera.zoom(1.7, 300, 200);
  near(camera.toWorld(300, 200), before);
  camera.pan(5, -5);
  near(camera.toWorld(305, 195), before);
  camera.zoom(1000, 0, 0);
  assert.equal(camera.scale, 4);
  camera.zoom(1e-9, 0, 0);
  assert.equal(camera.scale, camera.least);
  assert.equal(changes, 5);
});

test("a key that is pressed during a flight means the view to which it goes", () => {
  const camera = new Camera(() => {});
  camera.fly(100, 50, 2);
  camera.arrive();
  assert.deepEqual([camera.x, camera.y, camera.scale], [100, 50, 2]);
  camera.dispose();
});

const box = (id: number, x: number, y: number, width: number, height: number): SceneBox => ({
  box: id,
  scope: 0,
  x,
  y,
  width,
  height,
  opened: false,
  beside: false,
  depth: 0,
  name: "",
  detail: "",
  stubs: [],
});
const scene: Scene = {
  boxes: [box(1, 0, 0, 400, 300), box(2, 50, 50, 100, 40)],
  edges: [],
  notes: [],
  place: new Map(),
  width: 800,
  height: 3000,
};

test("the innermost box at a point is the one that is drawn last", () => {
  assert.deepEqual([boxAt(scene, 60, 60)?.box, boxAt(scene, 10, 10)?.box], [2, 1]);
  assert.deepEqual([boxAt(scene, 500, 10), boxAt(null, 0, 0)], [null, null]);
});

test("a tall drawing is fitted so that its upper part can be read, or as a whole", () => {
  const viewport = new Viewport(
    document.createElement("canvas"),
    () => {},
    () => 0,
  );
  const size = { clientWidth: 900, clientHeight: 600 } as HTMLElement;
  assert.deepEqual([viewport.resize(size), viewport.resize(size)], [true, false]);
  assert.equal(viewport.isReadable(scene), false);
  viewport.fit(scene, false);
  assert.deepEqual([viewport.camera.scale, viewport.camera.y], [0.8, 0]);
  assert.ok(viewport.isFitted && viewport.shows(box(2, 50, 50, 100, 40)));
  assert.equal(viewport.shows(box(3, 50, 2000, 100, 40)), false);
  viewport.fit(scene, true, true);
  assert.equal(viewport.camera.scale, 0.2);
  assert.ok(viewport.shows(box(3, 50, 2000, 100, 40)) && viewport.isWhole);
  viewport.camera.pan(1, 0);
  assert.equal(viewport.isFitted, false);
});

test("a long name is shortened in its middle", () => {
  assert.equal(shorten("a\n b"), "a b");
  const short = shorten("gradients/layer_1/MatMul_grad/MatMul_1", 20);
  assert.deepEqual([short.length, short], [20, "gradients/lay…tMul_1"]);
});

test("a drawing as SVG has its texts as text, and curves through their points", () => {
  const pen = new SvgPen(100, 50, "#fff");
  pen.text("<b>&", 1.26, 2, { size: "name", colour: "#000", align: "right" });
  pen.curve(
    [
      [0, 0],
      [10, 20],
      [10, 40],
    ],
    { colour: "#123", width: 1, dash: [2, 3] },
  );
  pen.box(0, 0, 10, 4, 8, null, 1, null);
  const path = pen.root.querySelector("path");
  assert.match(path?.getAttribute("d") ?? "", /^M0 0C[^C]* 10 20C[^C]* 10 40$/);
  assert.equal(path?.getAttribute("stroke-dasharray"), "2 3");
  assert.equal(pen.root.querySelectorAll("rect")[1]?.getAttribute("rx"), "2");
  assert.match(pen.toString(), /text-anchor="end">&lt;b&gt;&amp;<\/text>/);
});
