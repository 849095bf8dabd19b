// The devices, open sessions and caches of a kernel, as lists.
import type { CacheUse, Device, OpenSession, Report } from "../protocol/status";
import { button, h } from "./dom";

const UNITS = ["bytes", "KiB", "MiB", "GiB", "TiB"];

export function amount(size: number): string {
  let unit = 0;
  while (size >= 1024 && unit < UNITS.length - 1) {
    size /= 1024;
    unit += 1;
  }
  return `${Number(size.toPrecision(3))} ${UNITS[unit]}`;
}

/** A number with its noun: "1 entry", "1,200 entries". */
export function counted(number: number, one: string, many: string): string {
  return `${number.toLocaleString("en")} ${number === 1 ? one : many}`;
}

/**
 * The elements that show a report. A button calls `clear` with the name of the caches to empty, or with null for all
 * caches.
 */
export function showReport(report: Report, clear: (name: string | null) => void): HTMLElement[] {
  const out = [
    ...section("Devices", report.devices.map(deviceItem), report.fault || "no devices"),
    ...section("Open sessions", report.sessions.map(sessionItem), "no open sessions"),
  ];
  if (report.more) out.push(h("p", {}, `and ${report.more.toLocaleString("en")} more`));
  return [...out, ...cachesSection(report.caches, clear)];
}

function section(
  title: string,
  items: HTMLElement[],
  none: string,
  ...above: HTMLElement[]
): HTMLElement[] {
  const head = h("h3", {}, title);
  if (!items.length) return [head, h("p", {}, none)];
  return [head, ...above, h("ul", { "aria-label": title }, ...items)];
}

function deviceItem(device: Device): HTMLElement {
  const units = counted(device.units, "unit", "units");
  const more = `${device.platform}, ${units}, ${amount(device.memory)}`;
  return item(device.name, device.hardware, more);
}

function sessionItem(session: OpenSession): HTMLElement {
  const nodes = `graph: ${counted(session.nodes, "operation", "operations")}`;
  const used = session.in_use ? `${amount(session.in_use)} in use` : "";
  return item(nodes, session.devices.join(", "), used);
}

function item(head: string, ...lines: string[]): HTMLElement {
  return h("li", {}, head, ...lines.filter(Boolean).map((line) => h("small", {}, line)));
}

function cachesSection(
  caches: readonly CacheUse[],
  clear: (name: string | null) => void,
): HTMLElement[] {
  const items = caches.map((cache) => cacheItem(cache, clear));
  const entries = caches.reduce((sum, cache) => sum + cache.entries, 0);
  const all = button("Clear all", "clear all caches of this kernel", () => clear(null));
  const total = h("p", {}, `${counted(entries, "entry", "entries")} in memory `, all);
  return section("Caches", items, "no caches", total);
}

function cacheItem(cache: CacheUse, clear: (name: string | null) => void): HTMLElement {
  const one = button("Clear", `clear ${cache.name}`, () => clear(cache.name));
  const entries = `${cache.entries.toLocaleString("en")} of ${counted(cache.limit, "entry", "entries")}`;
  const within = cache.caches > 1 ? ` in ${counted(cache.caches, "cache", "caches")}` : "";
  const counts = [counted(cache.hits, "hit", "hits"), counted(cache.misses, "miss", "misses")];
  if (cache.seconds !== null) counts.push(`${cache.seconds.toFixed(2)} s`);
  const row = item(cache.name, entries + within, counts.join(", "));
  row.prepend(one);
  return row;
}
