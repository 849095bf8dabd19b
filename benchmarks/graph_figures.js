// What the graph view feels like, measured in its page: `figures.first()` while it appears, then `figures.rest()`.
globalThis.figures = (() => {
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  const drawing = () => document.querySelector(".tfnb-graph-view canvas.drawing");
  const status = () => document.querySelector(".tfnb-graph-view [role=status]").textContent;
  const inked = (canvas) => {
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    let n = 0;
    for (let i = 4; i < data.length; i += 40) n += data[i] !== data[0] || data[i + 2] !== data[2];
    return n > 200;
  };
  const key = (name) => drawing().dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true, cancelable: true }));

  // From the place being in the page to boxes on the canvas, in seconds.
  async function first() {
    while (!document.querySelector("[data-tfnb-view]")) await frame();
    const begin = performance.now();
    while (!drawing()?.dataset.boxes || !inked(drawing())) await frame();
    return (performance.now() - begin) / 1000;
  }

  async function choose(path) {
    const search = document.querySelector(".tfnb-graph-view input");
    search.value = path;
    search.dispatchEvent(new Event("input"));
    const found = [...document.querySelectorAll(".tfnb-graph-view .matches button")];
    found.find((b) => b.firstChild.textContent === path).click();
    const title = () => document.querySelector(".tfnb-graph-view .card h3")?.textContent;
    while (title() !== path) await frame();
    for (let k = 0; k < 20; k++) await frame();
  }

  // Seconds from the key to the frame that shows the opened box.
  async function open(path) {
    await choose(path);
    const before = Number(drawing().dataset.boxes);
    const begin = performance.now();
    key("Enter");
    while (!status().endsWith("open")) await frame();
    await frame();
    const took = (performance.now() - begin) / 1000;
    return { path, took, boxes: Number(drawing().dataset.boxes) - before };
  }

  // Frames a second while the window is moved by `act`, each frame.
  async function rate(act, seconds = 1.5) {
    const begin = performance.now();
    let n = 0;
    while (performance.now() - begin < seconds * 1000) {
      act(n++);
      await frame();
    }
    return n / ((performance.now() - begin) / 1000);
  }

  async function rest(paths) {
    const opened = [];
    for (const path of paths) opened.push(await open(path));
    key("0");
    for (let k = 0; k < 30; k++) await frame();
    const canvas = drawing();
    const box = canvas.getBoundingClientRect();
    const [x, y] = [box.left + box.width / 2, box.top + box.height / 2];
    const zoom = await rate((n) => canvas.dispatchEvent(new WheelEvent("wheel", {
      deltaY: Math.floor(n / 20) % 2 ? 40 : -40, ctrlKey: true, clientX: x, clientY: y, bubbles: true, cancelable: true,
    })));
    const mouse = (type, dx, dy) => canvas.dispatchEvent(new PointerEvent(type, {
      pointerId: 1, clientX: x + dx, clientY: y + dy, buttons: 1, bubbles: true,
    }));
    canvas.setPointerCapture = () => {};
    mouse("pointerdown", 0, 0);
    const pan = await rate((n) => mouse("pointermove", 150 * Math.sin(n / 15), 150 * Math.cos(n / 15)));
    mouse("pointerup", 9, 9);
    return { opened, zoom, pan, boxes: Number(canvas.dataset.boxes) };
  }
  return { first, rest };
})();
