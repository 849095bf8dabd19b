// What the panels of details ask of the view.

import type { Question } from "../chooser";
import type { Point } from "../places/geometry";
import type { Channel } from "../state/session";

/** A canvas inside of the canvas. */
export interface InnerView {
  focus(): void;
  dispose(): void;
}

export interface PanelContext {
  choose(question: Question, at: Point | null): void;
  /** Selects a node and shows it. */
  go(id: string): void;
  /** Puts the focus on the canvas. */
  leave(): void;
  /** The Python texts of feeds that were given so far. */
  feeds(): Readonly<Record<string, string>>;
  /** Asks for the feeds of placeholders, then goes on. */
  askFeeds(needs: readonly string[], done: () => void): void;
  /** Draws another builder; `leave` is called by Escape when there is nothing else to leave. */
  inner(host: HTMLElement, channel: Channel, leave: () => void): InnerView;
}
