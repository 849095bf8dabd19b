// Devices and open sessions of a kernel, as lists.
import type { Device, OpenSession, Report } from "../protocol/status";
import { h } from "./dom";

const UNITS = ["bytes", "KiB", "MiB", "GiB", "TiB"];

export function amount(size: number): string {
  let unit = 0;
  while (size >= 1024 && unit < UNITS.length - 1) {
    size /= 1024;
    unit += 1;
  }
  return `${Number(size.toPrecision(3))} ${UNITS[unit]}`;
}

/** The elements that show a report. */
export function showReport(report: Report): HTMLElement[] {
  const out = [
    ...section("Devices", report.devices.map(deviceItem), report.fault || "no devices"),
    ...section("Open sessions", report.sessions.map(sessionItem), "no open sessions"),
  ];
  if (report.more) out.push(h("p", {}, `and ${report.more.toLocaleString("en")} more`));
  return out;
}

function section(title: string, items: HTMLElement[], none: string): HTMLElement[] {
  const head = h("h3", {}, title);
  if (!items.length) return [head, h("p", {}, none)];
  return [head, h("ul", { "aria-label": title }, ...items)];
}

function deviceItem(device: Device): HTMLElement {
  const units = `${device.units} ${device.units === 1 ? "unit" : "units"}`;
  const more = `${device.platform}, ${units}, ${amount(device.memory)}`;
  return item(device.name, device.hardware, more);
}

function sessionItem(session: OpenSession): HTMLElement {
  const number = session.nodes.toLocaleString("en");
  const nodes = `graph: ${number} ${session.nodes === 1 ? "operation" : "operations"}`;
  const used = session.in_use ? `${amount(session.in_use)} in use` : "";
  return item(nodes, session.devices.join(", "), used);
}

function item(head: string, ...lines: string[]): HTMLElement {
  return h("li", {}, head, ...lines.filter(Boolean).map((line) => h("small", {}, line)));
}
