// Wraps a long row of layers into bands, one below the other as the lines of a text, so that a drawing has about the form
// of its window: a chain of twelve nodes is then read as a whole, and three hundred can be looked at. Pure functions.

import type { Point, Rect } from "./geometry";

const BAND = 56; // between two bands: the wires from one to the next run there
const STRIP = 48; // the largest empty strip inside of a band
const GOOD = 0.85; // a scale at which no further band is worth its turn
const MOST_BANDS = 60;
const MANY = 60; // layers, of which fewer numbers of bands are tried
const MARGIN = 30; // around a drawing that is fitted into its window

interface Layer {
  readonly ids: string[];
  start: number;
  end: number;
}

/** The layers of a drawing from left to right: groups of nodes that share no part of the axis with others. */
function layersOf(rects: ReadonlyMap<string, Rect>): Layer[] {
  const layers: Layer[] = [];
  for (const [id, { x, width }] of [...rects].sort(([, a], [, b]) => a.x - b.x)) {
    const last = layers[layers.length - 1];
    if (last && x < last.end) {
      last.ids.push(id);
      last.end = Math.max(last.end, x + width);
    } else layers.push({ ids: [id], start: x, end: x + width });
  }
  return layers;
}

/** Bands of layers that are no wider than `most`, if no single layer is. */
function bandsOf(layers: readonly Layer[], most: number): Layer[][] {
  const bands: Layer[][] = [];
  let start = 0;
  for (const layer of layers) {
    const band = bands[bands.length - 1];
    if (band && layer.end - start <= most) band.push(layer);
    else {
      bands.push([layer]);
      ({ start } = layer);
    }
  }
  return bands;
}

/** The heights of the nodes of a band below its top, without the empty strips that the layout leaves for long wires. */
function squeezed(
  rects: ReadonlyMap<string, Rect>,
  ids: readonly string[],
): { ys: Map<string, number>; height: number } {
  const ordered = ids
    .map((id): [string, Rect] => [id, rects.get(id) as Rect])
    .sort(([, a], [, b]) => a.y - b.y);
  const ys = new Map<string, number>();
  let shift = ordered[0]?.[1].y ?? 0; // what is taken from the height of a node
  let bottom = shift;
  for (const [id, { y, height }] of ordered) {
    shift += Math.max(0, y - bottom - STRIP);
    bottom = Math.max(bottom, y + height);
    ys.set(id, y - shift);
  }
  return { ys, height: bottom - shift };
}

const idsOf = (band: readonly Layer[]): string[] => band.flatMap(({ ids }) => ids);

/** Width and height of bands below each other. */
function sizeOf(rects: ReadonlyMap<string, Rect>, bands: readonly Layer[][]): Point {
  let [width, height] = [1, -BAND];
  for (const band of bands) {
    const start = (band[0] as Layer).start;
    width = Math.max(width, Math.max(...band.map(({ end }) => end)) - start);
    height += squeezed(rects, idsOf(band)).height + BAND;
  }
  return [width, Math.max(1, height)];
}

function stacked(rects: ReadonlyMap<string, Rect>, bands: readonly Layer[][]): Map<string, Point> {
  const corners = new Map<string, Point>();
  let below = 0;
  for (const band of bands) {
    const { ys, height } = squeezed(rects, idsOf(band));
    for (const [id, y] of ys) {
      const x = (rects.get(id) as Rect).x - (band[0] as Layer).start;
      corners.set(id, [Math.round(x), Math.round(below + y)]);
    }
    below += height + BAND;
  }
  return corners;
}

/** The corners of the nodes, in as many bands as let a window of this size show all of them largest. */
export function wrapped(
  rects: ReadonlyMap<string, Rect>,
  [width, height]: Point,
): Map<string, Point> {
  if (!rects.size) return new Map();
  const layers = layersOf(rects);
  const total = (layers[layers.length - 1] as Layer).end - (layers[0] as Layer).start;
  const widest = Math.max(...layers.map(({ start, end }) => end - start));
  const room = [Math.max(1, width - 2 * MARGIN), Math.max(1, height - 2 * MARGIN)] as const;
  if (room[0] >= total) return new Map([...rects].map(([id, { x, y }]) => [id, [x, y]]));
  let best = [layers];
  let largest = 0;
  const step = (count: number): number => (layers.length > MANY ? Math.ceil(count / 8) : 1);
  for (let count = 1; count <= Math.min(MOST_BANDS, layers.length); count += step(count)) {
    // Layers cannot be cut in two, so a band may need more than its share.
    for (const share of layers.length > MANY ? [1] : [1, 1.15, 1.3]) {
      const found = bandsOf(layers, Math.max(widest, (share * total) / count));
      const size = sizeOf(rects, found);
      const scale = Math.min(1, room[0] / size[0], room[1] / size[1]);
      if (scale > 1.02 * largest) [best, largest] = [found, scale];
      if (count === 1) break;
    }
    if (largest >= GOOD) break;
  }
  return stacked(rects, best);
}
