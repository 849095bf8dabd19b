// What tfnb/notebook/loss_plot.py tells the browser. Numbers travel as the bytes of float64 arrays.

type Bytes = ArrayBufferView<ArrayBuffer>;

export interface LossCurve {
  /** How many points there are; what is sent may be thinned. */
  total: number;
  colour: string;
  step: Bytes;
  value: Bytes;
  smooth: Bytes;
}

/** New points. The buffer holds per curve its steps, then values, then smoothed values. */
export interface AppendLossPoints {
  op: "append";
  /** The place of the curve, the total before and now, and how many points come. */
  curves: [number, number, number, number][];
}
