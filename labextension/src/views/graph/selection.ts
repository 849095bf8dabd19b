// Which box is selected, which one the pointer is over, and which boxes and edges are highlighted because of that.

import type { Direction, Marks, Tracer } from "./marks";

export class Selection {
  private box = -1;
  private pointed = -1;
  private direction: Direction | null = null;
  private highlighted: Marks | null = null;

  constructor(
    private readonly tracer: Tracer,
    private readonly changed: () => void,
  ) {}

  /** The selected box, or -1. */
  get selected(): number {
    return this.box;
  }

  /** The box under the pointer, or -1. */
  get hovered(): number {
    return this.pointed;
  }

  /** Whether all inputs or all outputs of the selected box are highlighted. */
  get traced(): Direction | null {
    return this.direction;
  }

  get marks(): Marks | null {
    return this.highlighted;
  }

  /** Selects a box, or none (-1); returns whether another one was selected before. */
  select(box: number): boolean {
    const other = box !== this.box;
    this.box = box;
    if (other || box < 0) this.direction = null;
    this.mark();
    return other;
  }

  /** Returns whether the pointer was over another box before. */
  hover(box: number): boolean {
    if (box === this.pointed) return false;
    this.pointed = box;
    this.changed();
    return true;
  }

  /** Highlights all inputs or all outputs of the selected box; the same direction again ends it. */
  trace(direction: Direction): void {
    this.direction = this.direction === direction ? null : direction;
    this.mark();
  }

  private mark(): void {
    const { box, direction, tracer } = this;
    if (box < 0) this.highlighted = null;
    else this.highlighted = direction ? tracer.all(box, direction) : tracer.around(box);
    this.changed();
  }
}
