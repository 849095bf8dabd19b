// How long views are live: from the creation of their model to the end of its kernel.
import type { AnyModel } from "@anywidget/types";
import { h } from "../../views/dom";
import { inPlaces } from "./places";

const OUTPUTS = ".jp-OutputArea"; // what a cell shows

/** The kernel's side of a live view, with the picture that the notebook keeps for times without a kernel.
 *
 * The element of the picture has the model's key as its id, and is hidden beside a live view. After the end the views of
 * the open notebook stay, and nothing is sent any more; a notebook that is opened then shows its picture.
 */
export class Lifetime {
  private isOver = false;
  private readonly places = new Set<HTMLElement>();
  private readonly hiding = h("style");
  private leave: (() => void) | undefined;

  constructor(
    private readonly model: AnyModel,
    private readonly key: string,
    private readonly ended: () => void,
  ) {
    this.hiding.textContent = `${this.picture} { display: none; }`;
    const end = () => this.end();
    (model.on as (event: string, act: () => void) => void)("comm_live_update", end);
  }

  send(message: object): void {
    if (this.isOver) return;
    try {
      this.model.send(message);
    } catch {
      this.end(); // the connection to the kernel was closed, of which no event tells
    }
  }

  /** Calls `mount` for the places that are there and those that cells show until the end, of which `isClosed` tells. */
  show(mount: (place: HTMLElement) => void, isClosed: () => boolean): void {
    this.leave = inPlaces(this.key, (place) => {
      if (isClosed()) {
        this.end();
        return;
      }
      this.places.add(place);
      mount(place);
      document.head.append(this.hiding);
    });
  }

  close(): void {
    this.isOver = true;
    this.leave?.();
    this.hiding.remove();
  }

  private get picture(): string {
    return `#${CSS.escape(this.key)}`;
  }

  private end(): void {
    if (this.isOver) return;
    for (const place of this.places) {
      const outputs = place.closest(OUTPUTS);
      const pictures = outputs?.querySelectorAll<HTMLElement>(this.picture) ?? [];
      for (const picture of pictures) picture.style.display = "none";
    }
    this.close();
    this.ended();
  }
}
