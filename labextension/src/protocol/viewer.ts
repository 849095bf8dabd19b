// Generated from tfnb/notebook/protocol/viewer.py by scripts/browser_protocol.py.
//
// The messages of `tf.view`: what the kernel sends about runs, and what the browser asks for.
//
// Numbers are sent as the bytes of float64 arrays.

import type { Bytes } from "./bytes";

export type Kind = "scalar" | "histogram" | "image" | "audio" | "text" | "tensor";

export const KINDS = ["scalar", "histogram", "image", "audio", "text", "tensor"] as const;

export interface ParameterTable {
  readonly name: string;
  /** Scope or variable, its depth, its shape, and its number of parameters. */
  readonly rows: readonly (readonly [string, number, string, number])[];
}

export interface HyperParameters {
  readonly run: string;
  readonly values: Readonly<Record<string, string>>;
  /** The newest values of some scalars. */
  readonly metrics: Readonly<Record<string, string>>;
}

export interface Catalogue {
  readonly runs: readonly string[];
  readonly tags: Readonly<Record<Kind, readonly string[]>>;
  /** How many runs are shown until the user selects others. */
  readonly first_runs: number;
  readonly parameters: readonly ParameterTable[];
  readonly hparams: readonly HyperParameters[];
  readonly notes: readonly string[];
}

export interface CurveData {
  readonly run: number;
  /** The number of points before downsampling. */
  readonly total: number;
  readonly step: Bytes;
  readonly wall: Bytes;
  readonly value: Bytes;
  /** Where the points above stand among all values; empty if these are all. */
  readonly kept: Bytes;
  /**
   * All values, which the browser smooths: float32 if that is exact (told by the length), else
   * float64; empty if the points above are all.
   */
  readonly every: Bytes;
}

export interface ScalarContent {
  /** Different in each message, so that a trait with equal content is sent as well. */
  readonly number?: number;
  readonly kind: "scalar";
  readonly tag: string;
  readonly curves: readonly CurveData[];
}

export interface HistogramRun {
  readonly run: number;
  readonly total: number;
  readonly steps: Bytes;
  readonly walls: Bytes;
  /** Nine percentiles per step. */
  readonly levels: Bytes;
  /** Counts in common buckets from `low` to `high`, per step. */
  readonly ridges: Bytes;
  readonly low: number;
  readonly high: number;
  readonly notes: readonly string[];
}

export interface HistogramContent {
  /** Different in each message, so that a trait with equal content is sent as well. */
  readonly number?: number;
  readonly kind: "histogram";
  readonly tag: string;
  readonly runs: readonly HistogramRun[];
  readonly left_out: number;
}

export interface ItemTime {
  readonly step: number;
  readonly wall: number;
}

export interface UnreadableItem {
  readonly step: number;
  readonly wall: number;
  /** Why the item cannot be shown. */
  readonly note: string;
}

export interface ImageItem {
  readonly step: number;
  readonly wall: number;
  readonly width: number;
  readonly height: number;
  readonly png: Bytes;
}

export interface AudioItem {
  readonly step: number;
  readonly wall: number;
  readonly wav: Bytes;
  readonly rate: number;
  readonly channels: number;
  readonly seconds: number;
  /** The duration of the whole recording, of which this may be the beginning. */
  readonly of: number;
}

export interface TextItem {
  readonly step: number;
  readonly wall: number;
  readonly text: string;
  /** The number of characters that were cut off. */
  readonly cut: number;
}

export interface ImageRun {
  readonly run: number;
  readonly total: number;
  readonly items: readonly (ImageItem | UnreadableItem)[];
}

export interface AudioRun {
  readonly run: number;
  readonly total: number;
  readonly items: readonly (AudioItem | UnreadableItem)[];
}

export interface TextRun {
  readonly run: number;
  readonly total: number;
  readonly items: readonly (TextItem | UnreadableItem)[];
}

export interface ImageContent {
  /** Different in each message, so that a trait with equal content is sent as well. */
  readonly number?: number;
  readonly kind: "image";
  readonly tag: string;
  readonly runs: readonly ImageRun[];
  readonly left_out: number;
}

export interface AudioContent {
  /** Different in each message, so that a trait with equal content is sent as well. */
  readonly number?: number;
  readonly kind: "audio";
  readonly tag: string;
  readonly runs: readonly AudioRun[];
  readonly left_out: number;
}

export interface TextContent {
  /** Different in each message, so that a trait with equal content is sent as well. */
  readonly number?: number;
  readonly kind: "text";
  readonly tag: string;
  readonly runs: readonly TextRun[];
  readonly left_out: number;
}

export interface TensorContent {
  /** Different in each message, so that a trait with equal content is sent as well. */
  readonly number?: number;
  readonly kind: "tensor";
  readonly tag: string;
  readonly runs: readonly TextRun[];
  readonly left_out: number;
}

export type Content =
  | ScalarContent
  | HistogramContent
  | ImageContent
  | AudioContent
  | TextContent
  | TensorContent;

/**
 * `charts` are empty charts as JSON for `Bokeh.embed.embed_item`; the browser requests further ones
 * by name.
 */
export interface ChartTheme {
  readonly version: string;
  readonly colours: readonly string[];
  readonly dashes: readonly string[];
  readonly charts: Readonly<Record<string, unknown>>;
}

/** The content that is visible in the browser; the kernel sends nothing else. */
export interface Wanted {
  readonly kind: Kind;
  readonly tags: readonly string[];
  readonly runs: readonly number[];
}

/**
 * New points of curves that were sent before. For each curve the first buffer contains steps, then
 * times, then values; the second one contains all new values, of which these are a selection, and
 * then the places of these.
 */
export interface AppendPoints {
  readonly op: "append";
  readonly tags: readonly string[];
  /** Index of the tag, run, total before and after this message, number of points in the buffer. */
  readonly curves: readonly (readonly [number, number, number, number, number])[];
  /** The least number of seconds until the next message. */
  readonly pause: number;
}

export interface Note {
  readonly op: "note";
  readonly text: string;
}

/** A CSV file, whose content is in the buffer. */
export interface CsvFile {
  readonly op: "csv";
  readonly tag: string;
}

export type FromKernel = AppendPoints | Note | CsvFile;

export interface ExportRequest {
  readonly op: "csv" | "frame";
  readonly tag: string;
}

export interface ChartRequest {
  readonly op: "chart";
  readonly name: string;
}

/**
 * A place of the view became visible ("hello") or hidden ("bye"), or lacks the points before the
 * new ones ("whole").
 */
export interface VisibilityRequest {
  readonly op: "hello" | "bye" | "whole";
}

export type ToKernel = ExportRequest | ChartRequest | VisibilityRequest;

/** The traits of the widget's model. */
export interface ViewerState {
  /** False where Jupyter's server takes the place of the kernel. */
  readonly has_kernel?: boolean;
  /**
   * What the user has chosen, as the page writes it; a page that is loaded again begins with it.
   * Servers lack it.
   */
  readonly options?: string;
  readonly key: string;
  /** The id of the model that carries BokehJS. */
  readonly library: string;
  readonly templates: ChartTheme;
  readonly catalogue: Catalogue;
  readonly changes: readonly Content[];
  readonly wanted: Wanted;
}
