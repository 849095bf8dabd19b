// The part of the drawing that is visible: the canvas's size, and a camera that is moved to show a box or everything.

import { Camera } from "./camera";
import type { Scene, SceneBox } from "./scene";

const READABLE = 0.8;
const LARGEST = 1.2;
const MARGIN = 14;

export class Viewport {
  readonly camera: Camera;
  width = 0;
  height = 0;

  constructor(
    readonly canvas: HTMLCanvasElement,
    changed: () => void,
    /** The number of pixels at the right side that the card covers. */
    private readonly covered: () => number,
  ) {
    this.camera = new Camera(changed);
  }

  /** Adopts the size of the element around the canvas; returns whether it has changed. */
  resize({ clientWidth, clientHeight }: HTMLElement): boolean {
    if (!clientWidth || (clientWidth === this.width && clientHeight === this.height)) return false;
    [this.width, this.height] = [clientWidth, clientHeight];
    const dots = devicePixelRatio || 1;
    this.canvas.width = Math.round(clientWidth * dots);
    this.canvas.height = Math.round(clientHeight * dots);
    return true;
  }

  /** Sets the limit of zooming out for a new scene. */
  setScene({ width, height }: Scene): void {
    this.camera.least = Math.min(this.width / width, this.height / height, 1) / 2;
  }

  private fitted: readonly [number, number, number] | null = null; // the camera that the last fit has asked for
  /** Whether the last fit has shown everything, however small. */
  isWhole = false;

  /** Whether the camera is where the last fit has put it. */
  get isFitted(): boolean {
    const { x, y, scale } = this.camera;
    return this.fitted !== null && `${[x, y, scale]}` === `${this.fitted}`;
  }

  /** Whether all of a scene can be shown with labels that can be read. */
  isReadable(scene: Scene | null): boolean {
    const { width, height } = this;
    if (!scene || !width || !height) return true;
    return Math.min(width / scene.width, height / scene.height) >= READABLE;
  }

  /** The height of a scene that is as wide as the window, or as large as it is ever fitted. */
  heightFor(scene: Scene): number {
    return scene.height * Math.min(LARGEST, this.width / scene.width);
  }

  /** Shows all of a scene, or as much of it as is readable: of a tall drawing the upper part. */
  fit(scene: Scene | null, whole: boolean, isAtOnce = !whole): void {
    const { width, height } = this;
    if (!scene || !width || !height) return;
    const fits = Math.min(width / scene.width, height / scene.height, LARGEST);
    const scale = whole ? fits : Math.max(fits, Math.min(READABLE, width / scene.width));
    const x = (width - scene.width * scale) / 2;
    const y = scale > fits ? 0 : (height - scene.height * scale) / 2;
    this.isWhole = whole;
    this.fitted = [x, y, scale];
    if (isAtOnce) this.camera.set(x, y, scale);
    else this.camera.fly(x, y, scale);
  }

  zoom(by: number): void {
    this.camera.arrive();
    this.camera.zoom(by, this.width / 2, this.height / 2);
  }

  /** Moves the title of a box to the middle. */
  centre(place: SceneBox): void {
    const scale = Math.max(this.camera.scale, 0.9);
    const [x, y] = [place.x + place.width / 2, place.y + Math.min(place.height / 2, 100)];
    this.camera.fly(
      (this.width - this.covered()) / 2 - x * scale,
      this.height / 2 - y * scale,
      scale,
    );
  }

  /** Moves so that the title of a box stays where it was on the screen before the layout changed. */
  keepInPlace(before: SceneBox, now: SceneBox): void {
    const { x, y, scale } = this.camera;
    const middle = now.x + now.width / 2 - before.width / 2;
    this.camera.set(x + (before.x - middle) * scale, y + (before.y - now.y) * scale, scale);
  }

  /** Moves and shrinks no more than needed to make a box visible. */
  bringIn(place: SceneBox): void {
    const { camera, height } = this;
    const width = this.width - this.covered();
    const fits = Math.min((width - 2 * MARGIN) / place.width, (height - 2 * MARGIN) / place.height);
    const scale = fits < camera.scale ? Math.max(fits, Math.min(camera.scale, 0.5)) : camera.scale;
    const within = (from: number, size: number, room: number): number =>
      size > room - 2 * MARGIN ? MARGIN : Math.min(Math.max(from, MARGIN), room - MARGIN - size);
    const middle = camera.x + (place.x + place.width / 2) * camera.scale;
    const x = within(middle - (place.width / 2) * scale, place.width * scale, width);
    const y = within(camera.y + place.y * camera.scale, place.height * scale, height);
    camera.fly(x - place.x * scale, y - place.y * scale, scale);
  }

  /** Whether the title of a box is visible. */
  shows(place: SceneBox): boolean {
    const [left, top] = this.camera.toWorld(0, 0);
    const [right, bottom] = this.camera.toWorld(this.width - this.covered(), this.height);
    return (
      place.x >= left &&
      place.y >= top &&
      place.x + place.width <= right &&
      place.y + Math.min(place.height, 60) <= bottom
    );
  }
}
