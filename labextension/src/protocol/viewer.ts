// What tfnb/notebook/viewer tells the browser of runs, and what it is asked: the shapes of both sides' messages.
// Numbers travel as the bytes of float64 arrays.

export const KINDS = ["scalar", "histogram", "image", "audio", "text", "tensor"] as const;
export type Kind = (typeof KINDS)[number];

/** The bytes of an array, wherever they begin. */
export type Bytes = ArrayBufferView<ArrayBuffer>;

export interface Parameters {
  name: string;
  /** Scope or variable, depth, shape, number of parameters. */
  rows: [string, number, string, number][];
}

export interface HyperParameters {
  run: string;
  values: Record<string, string>;
  /** The newest values of some scalars. */
  metrics: Record<string, string>;
}

export interface Catalogue {
  runs: string[];
  tags: Record<Kind, string[]>;
  first_runs: number;
  parameters: Parameters[];
  hparams: HyperParameters[];
  notes: string[];
}

export interface CurveData {
  run: number;
  total: number;
  step: Bytes;
  wall: Bytes;
  value: Bytes;
}

export interface ScalarContent {
  kind: "scalar";
  tag: string;
  curves: CurveData[];
}

export interface HistogramRun {
  run: number;
  total: number;
  steps: Bytes;
  walls: Bytes;
  /** Nine percentiles per step. */
  levels: Bytes;
  /** Counts in common buckets from `low` to `high`, per step. */
  ridges: Bytes;
  low: number;
  high: number;
  notes: string[];
}

export interface HistogramContent {
  kind: "histogram";
  tag: string;
  runs: HistogramRun[];
  left_out: number;
}

interface AnyItem {
  step: number;
  wall: number;
  /** Why it cannot be shown. */
  note?: string;
}

export interface ImageItem extends AnyItem {
  width: number;
  height: number;
  png: Bytes;
}

export interface AudioItem extends AnyItem {
  wav: Bytes;
  rate: number;
  channels: number;
  seconds: number;
  /** Of how many seconds that is the beginning. */
  of: number;
}

export interface TextItem extends AnyItem {
  text: string;
  /** Characters left out. */
  cut: number;
}

export interface ItemRun<Item> {
  run: number;
  total: number;
  items: Item[];
}

export interface ItemContent<K extends Kind, Item> {
  kind: K;
  tag: string;
  runs: ItemRun<Item>[];
  left_out: number;
}

export interface Contents {
  scalar: ScalarContent;
  histogram: HistogramContent;
  image: ItemContent<"image", ImageItem>;
  audio: ItemContent<"audio", AudioItem>;
  text: ItemContent<"text", TextItem>;
  tensor: ItemContent<"tensor", TextItem>;
}
export type Content = Contents[Kind];

/** Empty charts as JSON for `Bokeh.embed.embed_item` (others come when they are asked for), how runs look. */
export interface Templates {
  version: string;
  colours: string[];
  dashes: string[];
  charts: Record<string, object>;
}

/** What is on show: the kernel sends that and nothing else. */
export interface Wanted {
  kind: Kind;
  tags: string[];
  runs: number[];
}

export type Ask =
  | { op: "csv" | "frame"; tag: string }
  | { op: "chart"; name: string }
  | { op: "hello" | "bye" | "whole" };
export type Answer = { op: "note"; text: string } | { op: "csv"; tag: string };

/** New points of curves that were sent before. The buffer holds per curve its steps, then times, then values. */
export interface AppendPoints {
  op: "append";
  tags: string[];
  /** The place of its tag, its run, the total before and now, and how many points come. */
  curves: [number, number, number, number, number][];
  /** Seconds until the next ones at the earliest. */
  pause: number;
}
