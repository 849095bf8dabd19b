// What the view says: in the line at the bottom, aloud for screen readers, and a refusal also where it happened.

import { h } from "../dom";
import type { Point } from "./places/geometry";

const SHOWN = 5000; // milliseconds that a refusal stays

export class LiveRegion {
  readonly status = h("span", { className: "status", role: "status", "aria-live": "polite" });
  readonly toast = h("div", { className: "toast", hidden: true, "aria-hidden": "true" });
  /** What stays true, such as the end of the kernel; "" for nothing. */
  readonly notice = h("span", { className: "notice", "aria-live": "polite" });
  private later: ReturnType<typeof setTimeout> | undefined;
  private isWaiting = false;

  /** Shows how far something is; a refusal that is in sight stays. It is not read aloud each time. */
  progress(text: string): void {
    if (!this.toast.hidden) return;
    this.status.setAttribute("aria-live", "off");
    this.status.textContent = text;
    this.status.title = text;
    this.status.classList.remove("refusal");
  }

  say(text: string, isRefusal = false, at: Point | null = null): void {
    this.isWaiting = false;
    this.status.setAttribute("aria-live", "polite");
    this.status.textContent = text;
    this.status.title = text;
    this.status.classList.toggle("refusal", isRefusal);
    clearTimeout(this.later);
    this.toast.hidden = !isRefusal;
    // What stands beside the pointer does not stand below too; screen readers still find it there.
    this.status.classList.toggle("unseen", isRefusal);
    if (!isRefusal) return;
    this.toast.textContent = text;
    const [x, y] = at ?? [20, 20];
    Object.assign(this.toast.style, {
      left: `${Math.max(4, x)}px`,
      top: `${Math.max(4, y + 14)}px`,
    });
    this.later = setTimeout(() => {
      this.toast.hidden = true;
      this.status.classList.remove("unseen");
    }, SHOWN);
  }

  /** Says something that stays in sight until it is replaced; "" takes it away. */
  keep(text: string): void {
    if (text === this.notice.textContent) return;
    this.notice.textContent = text;
  }

  /** Says once that something is late. */
  wait(text: string): void {
    if (this.isWaiting) return;
    this.say(text);
    this.isWaiting = true;
  }

  dispose(): void {
    clearTimeout(this.later);
  }
}
