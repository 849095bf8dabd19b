// Generated from tfnb/notebook/protocol/loss.py by scripts/browser_protocol.py.
//
// The messages of `tf.notebook.LossPlot`. Numbers are sent as the bytes of float64 arrays.

import type { Bytes } from "./bytes";

export interface LossCurve {
  /** The number of points before downsampling. */
  readonly total: number;
  readonly colour: string;
  readonly step: Bytes;
  readonly value: Bytes;
  readonly smooth: Bytes;
}

/**
 * New points. For each curve the buffer contains its steps, then its values, then its smoothed
 * values.
 */
export interface AppendLossPoints {
  readonly op: "append";
  /**
   * The index of the curve, its total before and after this message, and the number of points in
   * the buffer.
   */
  readonly curves: readonly (readonly [number, number, number, number])[];
}

/** The browser lacks the points before the new ones, and needs all points. */
export interface WholeRequest {
  readonly op: "whole";
}

/** The traits of the widget's model. */
export interface LossState {
  readonly key: string;
  /** The id of the model that carries BokehJS. */
  readonly library: string;
  readonly document: string;
  readonly curves: readonly LossCurve[];
}
