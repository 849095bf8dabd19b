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
  /** Scope or variable, depth, shape, number of parameters. */
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
  /** How many points there are; what is sent may be downsampled. */
  readonly total: number;
  readonly step: Bytes;
  readonly wall: Bytes;
  readonly value: Bytes;
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
  /** Why it cannot be shown. */
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
  /** Characters left out. */
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
 * `charts` are empty charts as JSON for `Bokeh.embed.embed_item`; more are sent when they are asked
 * for.
 */
export interface ChartTheme {
  readonly version: string;
  readonly colours: readonly string[];
  readonly dashes: readonly string[];
  readonly charts: Readonly<Record<string, unknown>>;
}

/** What is shown: the kernel sends that and nothing else. */
export interface Wanted {
  readonly kind: Kind;
  readonly tags: readonly string[];
  readonly runs: readonly number[];
}

/**
 * New points of curves that were sent before. The buffer holds per curve its steps, then times,
 * then values.
 */
export interface AppendPoints {
  readonly op: "append";
  readonly tags: readonly string[];
  /** The place of its tag, its run, the total before and now, and how many points come. */
  readonly curves: readonly (readonly [number, number, number, number, number])[];
  /** Seconds until the next message at the earliest. */
  readonly pause: number;
}

export interface Note {
  readonly op: "note";
  readonly text: string;
}

/** The buffer holds the file. */
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

/** A place of the view became visible or invisible, or lacks the points that new ones belong to. */
export interface VisibilityRequest {
  readonly op: "hello" | "bye" | "whole";
}

export type ToKernel = ExportRequest | ChartRequest | VisibilityRequest;

/** The traits of the widget's model. */
export interface ViewerState {
  /** False where Jupyter's server feeds the model. */
  readonly has_kernel?: boolean;
  readonly key: string;
  /** The id of the model that brings BokehJS. */
  readonly library: string;
  readonly templates: ChartTheme;
  readonly catalogue: Catalogue;
  readonly changes: readonly Content[];
  readonly wanted: Wanted;
}
