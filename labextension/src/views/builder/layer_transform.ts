// Moves a layer without painting it anew. A browser arranges all layers of a page again when a style changes a transform,
// which takes 8 ms with 300 nodes; it does not for the transform of an animation. So while a layer moves, a paused
// animation says where it is. The style says the same, and alone at rest, when texts are drawn sharp again.

const REST = 150; // milliseconds without a movement

export class LayerTransform {
  private animation: Animation | null = null;
  private resting: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly element: HTMLElement) {}

  to(transform: string): void {
    const { element } = this;
    if (element.style.transform === transform) return;
    element.style.transform = transform;
    const frames = { transform: [transform, transform] };
    if (this.animation) (this.animation.effect as KeyframeEffect).setKeyframes(frames);
    else {
      this.animation = element.animate(frames, { duration: 1, fill: "both" });
      this.animation.pause();
    }
    clearTimeout(this.resting);
    this.resting = setTimeout(() => this.rest(), REST);
  }

  rest(): void {
    clearTimeout(this.resting);
    this.animation?.cancel();
    this.animation = null;
  }
}
