// The user's options, and the interface of the page for its cards.
import type { ChartTheme, Kind, ToKernel } from "../../protocol/viewer";
import type { Bokeh } from "../bokeh";
import type { Contents } from "./contents";

export type Axis = "step" | "logstep" | "relative" | "wall";
export type Tab = Kind | "parameters";
export type Form = "bands" | "ridges" | "overlay";

/** What the user has chosen. */
export interface Options {
  runs: Set<number>;
  /** How many runs there were; a run that comes later is selected while there are few. */
  known: number;
  smoothing: number;
  axis: Axis;
  log: boolean;
  outliers: boolean;
  band: boolean;
  baseline: number | null;
  form: Form;
  /** The kind of summaries; null for the first that there is. */
  tab: Tab | null;
  page: number;
  /** The filters of tags and of runs, regular expressions. */
  tags: string;
  names: string;
}

export const firstOptions = (): Options => ({
  runs: new Set(),
  known: 0,
  smoothing: 0.6,
  axis: "step",
  log: false,
  outliers: true,
  band: false,
  baseline: null,
  form: "bands",
  tab: null,
  page: 0,
  tags: "",
  names: "",
});

export interface PageContext {
  readonly options: Options;
  readonly templates: ChartTheme;
  readonly runs: readonly string[];
  /** The position of the shared cursor, in units of the horizontal axis. */
  readonly cursor: number | null;
  readonly hasKernel: boolean;
  chart(name: string): Promise<object>;
  bokeh(): Promise<Bokeh>;
  content<K extends Kind>(kind: K, tag: string): Contents[K] | undefined;
  ask(message: ToKernel): void;
  point(x: number | null): void;
}

export interface Card {
  readonly el: HTMLElement;
  /** Redraws the card; settles when it is drawn (at once if it is not visible). `appended`: only points were added. */
  update(appended?: boolean): Promise<void>;
  see(visible: boolean): void;
  point?(x: number | null): void;
  close(): void;
}
