// Cards with a slider over the steps of each run: images, sounds, texts, tensors.
import type { Bytes } from "../../protocol/bytes";
import type { AudioItem, ImageItem, TextItem, UnreadableItem } from "../../protocol/viewer";
import { h } from "../dom";
import { ItemCard, type ItemKind, type RunOf } from "./item_card";
import { count } from "./numbers";
import type { PageContext } from "./options";

type StepKind = Exclude<ItemKind, "histogram">;
type Readable = ImageItem | AudioItem | TextItem;
type Shown<Item> = Item | UnreadableItem;

interface Part<Item extends Readable> {
  el: HTMLElement;
  slider: HTMLInputElement;
  step: HTMLOutputElement;
  view: HTMLElement;
  items: readonly Shown<Item>[];
  shown: Shown<Item> | null;
  /** The object URLs of the current items, which are revoked when other items are shown. */
  urls: string[];
}

type Address = (data: Bytes, type: string) => string;

abstract class StepCard<K extends StepKind, Item extends Readable> extends ItemCard<K> {
  private readonly parts = new Map<number, Part<Item>>();

  /** The elements that show an item; `step` is the text of its step, `address` creates an object URL of data. */
  protected abstract elements(item: Item, step: string, address: Address): Node[];

  protected override sent(run: RunOf<K>): number {
    return run.items.length;
  }

  protected override draw(runs: RunOf<K>[]): void {
    const wanted = new Set(runs.map((r) => r.run));
    for (const [run, part] of this.parts) {
      if (wanted.has(run)) continue;
      part.el.remove();
      this.parts.delete(run);
    }
    for (const { run, items } of runs) {
      const part = this.parts.get(run) ?? this.part(run);
      part.items = items as readonly Shown<Readable>[] as readonly Shown<Item>[];
      const last = items.length - 1;
      // The slider stays at the newest step until the user moves it.
      const atEnd = Number(part.slider.value) >= Number(part.slider.max);
      part.slider.max = String(last);
      if (atEnd) part.slider.value = String(last);
      part.slider.hidden = last < 1;
      this.show(part);
    }
  }

  private part(run: number): Part<Item> {
    const step = h("output", { className: "tfnb-step" });
    const name = this.name(run);
    const ariaLabel = `step of ${this.tag} in ${name}`;
    const slider = h("input", { type: "range", min: "0", max: "0", value: "0", ariaLabel });
    const view = h("div", { className: "tfnb-item" });
    const caption = h("figcaption", {}, h("span", { textContent: name }), " ", step);
    const el = h("figure", {}, caption, slider, view);
    const part: Part<Item> = { el, slider, step, view, items: [], shown: null, urls: [] };
    slider.addEventListener("input", () => this.show(part));
    this.body.append(el);
    this.parts.set(run, part);
    return part;
  }

  private show(part: Part<Item>): void {
    const item = part.items[Number(part.slider.value)];
    if (!item || same(item, part.shown)) return; // otherwise a sound that is playing would stop
    part.shown = item;
    for (const url of part.urls.splice(0)) URL.revokeObjectURL(url);
    part.step.textContent = `step ${count(item.step)}`;
    part.slider.setAttribute("aria-valuetext", part.step.textContent);
    const address: Address = (data, type) => {
      const url = URL.createObjectURL(new Blob([data], { type }));
      part.urls.push(url);
      return url;
    };
    const elements =
      "note" in item
        ? [h("em", { textContent: item.note })]
        : this.elements(item, part.step.textContent, address);
    part.view.replaceChildren(...elements);
  }

  override close(): void {
    super.close();
    for (const { urls } of this.parts.values()) for (const url of urls) URL.revokeObjectURL(url);
  }
}

function same(
  a: { step: number; wall: number },
  b: { step: number; wall: number } | null,
): boolean {
  return b !== null && a.step === b.step && a.wall === b.wall;
}

export class ImageCard extends StepCard<"image", ImageItem> {
  constructor(context: PageContext, tag: string) {
    super(context, "image", tag);
  }

  protected override elements(item: ImageItem, step: string, address: Address): Node[] {
    const alt = `${this.tag} at ${step}, ${item.width} by ${item.height} pixels`;
    const image = h("img", { alt, title: alt, src: address(item.png, "image/png") });
    const larger = Math.min(160, item.width * Math.ceil(112 / Math.max(item.width, 1)));
    image.style.width = `${Math.max(item.width, larger)}px`;
    return [image];
  }
}

export class AudioCard extends StepCard<"audio", AudioItem> {
  constructor(context: PageContext, tag: string) {
    super(context, "audio", tag);
  }

  protected override elements(item: AudioItem, step: string, address: Address): Node[] {
    const ariaLabel = `${this.tag} at ${step}`;
    const src = address(item.wav, "audio/wav");
    const sound = h("audio", { controls: true, preload: "metadata", ariaLabel, src });
    const channels = ["", "mono", "stereo"][item.channels] ?? `${item.channels} channels`;
    const cut = item.of > item.seconds ? `the first ${item.seconds.toFixed(1)} of ` : "";
    const textContent = `${cut}${item.of.toFixed(1)} s, ${count(item.rate)} Hz, ${channels}`;
    return [sound, h("small", { textContent })];
  }
}

abstract class PlainCard<K extends "text" | "tensor"> extends StepCard<K, TextItem> {
  protected override elements(item: TextItem): Node[] {
    const text = h("pre", { textContent: item.text });
    if (!item.cut) return [text];
    return [text, h("em", { textContent: `and ${count(item.cut)} more characters` })];
  }
}

/** A text, shown as it was written: Markdown in a file does not become HTML. */
export class TextCard extends PlainCard<"text"> {
  constructor(context: PageContext, tag: string) {
    super(context, "text", tag);
  }
}

export class TensorCard extends PlainCard<"tensor"> {
  constructor(context: PageContext, tag: string) {
    super(context, "tensor", tag);
  }
}
