// Probes: on the wires of an output its values while a training runs, as a curve of their mean, a histogram or an image.

import type { RunValue, Wire } from "../../../protocol/builder";
import type { Probed } from "../../../protocol/builder_details";
import { h } from "../../dom";
import { middleOf } from "../places/geometry";
import type { Workspace } from "../state/workspace";
import { histogram, oddText, range, safeImage, sparkline } from "../values";

const MOST_POINTS = 2000;

interface Probe {
  readonly wire: Wire;
  readonly element: HTMLElement;
  readonly means: { step: number; value: number }[];
}

export class Probes {
  readonly root = h("div", { className: "probes" });
  private readonly probes = new Map<string, Probe>();

  constructor(private readonly workspace: Workspace) {}

  get size(): number {
    return this.probes.size;
  }

  /** Puts a probe on an output, or takes it away. */
  toggle(wire: Wire): void {
    const { workspace, probes } = this;
    const key = keyOf(wire);
    const name = workspace.model.nodes.get(wire.node)?.outputs[wire.output]?.name || wire.node;
    const old = probes.get(key);
    if (old) {
      old.element.remove();
      probes.delete(key);
    } else {
      const element = h("div", { className: "probe", role: "img", ariaLabel: `probe of ${name}` });
      element.dataset.probe = key;
      element.append(h("b", { dir: "auto", textContent: name }), h("span", {}, "no training yet"));
      probes.set(key, { wire, element, means: [] });
      this.root.append(element);
    }
    this.send();
    workspace.say(
      old ? `no probe of ${name} any more` : `probe of ${name}: values come with a training`,
    );
    this.draw();
  }

  /** Ends the probes of nodes that are gone. */
  keep(has: (node: string) => boolean): void {
    let isLess = false;
    for (const [key, { wire, element }] of this.probes) {
      if (has(wire.node)) continue;
      element.remove();
      this.probes.delete(key);
      isLess = true;
    }
    if (isLess) this.send();
  }

  /** A training begins: what the last one has shown goes. */
  clear(): void {
    for (const probe of this.probes.values()) probe.means.length = 0;
  }

  private send(): void {
    const wires = [...this.probes.values()].map(({ wire }): [string, number] => [
      wire.node,
      wire.output,
    ]);
    this.workspace.session.send({ type: "probes", wires });
  }

  receive({ node, output, step, value, error }: Probed): void {
    const probe = this.probes.get(keyOf({ node, output }));
    if (!probe) return;
    const { element, means } = probe;
    const shown = value as RunValue | null;
    const name = element.firstElementChild?.textContent ?? node;
    if (!shown) {
      element.replaceChildren(named(name), h("span", { className: "odd", textContent: error }));
      return;
    }
    const last = means[means.length - 1];
    if (last && step < last.step) means.length = 0; // another training
    const mean = shown.mean ?? (shown.shape.length ? null : Number(shown.text));
    if (mean !== null && Number.isFinite(mean)) means.push({ step, value: mean });
    if (means.length > MOST_POINTS) means.splice(0, means.length - MOST_POINTS);
    const text = shown.shape.length ? range(shown) : shown.text;
    const odd = oddText(shown);
    const image = safeImage(shown.image)
      ? h("img", { src: shown.image, alt: `image of ${name}`, draggable: false })
      : shown.histogram.length > 1
        ? (histogram(shown) as unknown as HTMLElement)
        : null;
    const isScalar = !shown.shape.length;
    element.replaceChildren(
      named(name),
      ...(image && !isScalar ? [image] : []),
      ...(means.length > 1 ? [sparkline(means, `mean of ${name}`) as unknown as HTMLElement] : []),
      h("span", { textContent: `step ${step}: ${text}` }),
      ...(odd ? [h("span", { className: "odd", textContent: `⚠ ${odd}` })] : []),
    );
    element.ariaLabel = `probe of ${name}, step ${step}: ${text}${odd ? `, ${odd}` : ""}`;
    element.dataset.step = String(step);
    element.dataset.mean = mean === null ? "" : String(mean);
  }

  /** Each below the middle of its first wire, or below its node; clear of the nodes at both ends. */
  draw(): void {
    const { workspace } = this;
    for (const { wire, element } of this.probes.values()) {
      const first = workspace.model
        .outgoing(wire.node)
        .find(({ output }) => output === wire.output);
      const end = workspace.scene.portPoint({ node: wire.node, side: "out", row: wire.output });
      const at = (first && middleOf(workspace.scene.curves(first))) ?? end;
      const ends = [wire.node, ...(first ? [first.to] : [])].map((id) => workspace.scene.rect(id));
      const bottom = Math.max(...ends.map((rect) => (rect ? rect.y + rect.height : 0)));
      element.hidden = !at;
      if (at)
        element.style.transform = `translate(${at[0]}px, ${Math.max(at[1], bottom) + 12}px) translateX(-50%)`;
    }
  }
}

const keyOf = ({ node, output }: Wire): string => `${node} ${output}`;
const named = (name: string): HTMLElement => h("b", { dir: "auto", textContent: name });
