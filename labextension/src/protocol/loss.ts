// Generated from tfnb/notebook/protocol/loss.py by scripts/browser_protocol.py.
//
// The messages of `tf.notebook.LossPlot`. Numbers are sent as the bytes of float64 arrays.

import type { Bytes } from "./bytes";

export interface LossCurve {
  /** How many points there are; what is sent may be downsampled. */
  readonly total: number;
  readonly colour: string;
  readonly step: Bytes;
  readonly value: Bytes;
  readonly smooth: Bytes;
}

/** New points. The buffer holds per curve its steps, then values, then smoothed values. */
export interface AppendLossPoints {
  readonly op: "append";
  /** The place of the curve, the total before and now, and how many points come. */
  readonly curves: readonly (readonly [number, number, number, number])[];
}

/** The browser lacks the points that new ones belong to. */
export interface WholeRequest {
  readonly op: "whole";
}

/** The traits of the widget's model. */
export interface LossState {
  readonly key: string;
  /** The id of the model that brings BokehJS. */
  readonly library: string;
  readonly document: string;
  readonly curves: readonly LossCurve[];
}
