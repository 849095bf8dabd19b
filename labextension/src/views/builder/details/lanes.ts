// The devices as lanes below the canvas: nodes are dragged onto a lane, or placed there by its button, and the code gets
// the constraint.

import type { DeviceLane, Devices } from "../../../protocol/builder_details";
import { button, h } from "../../dom";
import type { Workspace } from "../state/workspace";
import type { Dock } from "./dock";
import type { PanelContext } from "./panel_context";

const ANY = "";
const APPROACH = 80; // pixels above the lanes

export class Lanes {
  private lanes: HTMLElement[] = [];

  constructor(
    private readonly workspace: Workspace,
    private readonly context: PanelContext,
    private readonly dock: Dock,
  ) {}

  show({ devices, constraints }: Devices): void {
    const of = new Map<string, string[]>([
      [ANY, []],
      ...devices.map(({ name }) => [name, []] as [string, string[]]),
    ]);
    for (const id of this.workspace.model.order) {
      const wanted = constraints[id] ?? ANY;
      // A constraint may name a part of the full name only.
      const name =
        devices.find((one) => one.name === wanted || (wanted && one.name.endsWith(wanted)))?.name ??
        wanted;
      const known = of.get(name);
      if (known) known.push(id);
      else of.set(name, [id]);
    }
    this.lanes = [...of].map(([name, nodes]) =>
      this.lane(
        name,
        nodes,
        devices.find((one) => one.name === name),
      ),
    );
    this.dock.open({
      kind: "devices",
      title: "Devices",
      note: "Drag nodes onto a lane, or select them and press its button.",
      content: [h("div", { className: "lanes" }, ...this.lanes)],
      closed: () => {
        this.lanes = [];
      },
    });
  }

  private lane(name: string, nodes: readonly string[], device?: DeviceLane): HTMLElement {
    const isAny = name === ANY;
    const title = isAny ? "any device" : shortName(name);
    const lane = h(
      "div",
      { className: "lane", role: "group", ariaLabel: `${title}: ${nodes.join(", ") || "no node"}` },
      h(
        "div",
        { className: "lane-head" },
        h("b", { textContent: title, title: name }),
        h("span", { textContent: device ? `${device.kind}, ${gigabytes(device.bytes)}` : "" }),
        button(
          isAny ? "Free the selection" : "Place the selection here",
          title,
          () => this.place(name, [...this.workspace.selected]),
          { ariaLabel: `${isAny ? "Free the selection" : "Place the selection here"}: ${title}` },
        ),
      ),
      h(
        "div",
        { className: "chips" },
        ...nodes.map((id) =>
          button(id, `go to ${id}`, () => this.context.go(id), { className: "chip" }),
        ),
      ),
    );
    lane.dataset.device = name;
    return lane;
  }

  private place(device: string, nodes: readonly string[]): void {
    if (!nodes.length) {
      this.workspace.say("select the nodes first", true);
      return;
    }
    this.workspace.session.gesture({ edit: "device", nodes, device });
  }

  /** The device of the lane at a point of the window, or null; it is lit. */
  at(event: MouseEvent): string | null {
    let found: string | null = null;
    for (const lane of this.lanes) {
      const { left, right, top, bottom } = lane.getBoundingClientRect();
      const { clientX: x, clientY: y } = event;
      const isHere = x >= left && x <= right && y >= top && y <= bottom;
      lane.classList.toggle("target", isHere);
      if (isHere) found = lane.dataset.device ?? null;
    }
    return found;
  }

  /** Lights the lane at a point; whether nodes are on their way to one, so that the canvas should not move. */
  over(event: MouseEvent): boolean {
    const top = this.lanes[0]?.getBoundingClientRect().top;
    return this.at(event) !== null || (top !== undefined && event.clientY > top - APPROACH);
  }

  /** Drops the selected nodes on the lane at a point, if there is one. */
  drop(event: MouseEvent): boolean {
    const device = this.at(event);
    for (const lane of this.lanes) lane.classList.remove("target");
    if (device === null) return false;
    this.place(device, [...this.workspace.selected]);
    return true;
  }
}

/** "/job:localhost/replica:0/task:0/device:CPU:0" as "CPU:0", with the task if it is not the first. */
function shortName(name: string): string {
  const device = /\/device:([^/]+)$/.exec(name)?.[1] ?? name;
  const task = /\/job:([^/]+).*\/task:(\d+)/.exec(name);
  return task && task[1] !== "localhost" ? `${task[1]} ${task[2]}, ${device}` : device;
}

const gigabytes = (bytes: number): string => `${Number((bytes / 2 ** 30).toPrecision(3))} GiB`;
