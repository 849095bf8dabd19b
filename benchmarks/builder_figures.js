// What the builder feels like, measured in its page, with real elements and events: `builderFigures.drag(count)` and so on.
globalThis.builderFigures = (() => {
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  const stage = () => document.querySelector(".tfnb-builder .stage");
  // Waits in frames, or by another clock, until something is so; says what it waits for if that takes 20 seconds.
  const until = async (isSo, what, wait = frame) => {
    const begin = performance.now();
    while (!isSo()) {
      if (performance.now() - begin > 20_000) throw new Error(`${what}: not within 20 seconds`);
      await wait();
    }
  };
  const isAnswered = () => !Number(stage().dataset.pending);
  const settled = async () => {
    for (let k = 0; k < 8; k++) await frame();
    await until(isAnswered, "an answer of the kernel");
  };
  const key = (name, more = {}) =>
    stage().dispatchEvent(
      new KeyboardEvent("keydown", { key: name, bubbles: true, cancelable: true, ...more }),
    );
  const pointer = (type, x, y, more = {}) => {
    const box = stage().getBoundingClientRect();
    const at = { clientX: box.left + x, clientY: box.top + y };
    stage().dispatchEvent(
      new PointerEvent(type, { bubbles: true, cancelable: true, pointerId: 1, ...at, ...more }),
    );
  };

  // Where nodes and free places are, on the canvas.
  function places() {
    const box = stage().getBoundingClientRect();
    return [...stage().querySelectorAll(".node")]
      .map((element) => {
        const r = element.getBoundingClientRect();
        return [r.left - box.left + r.width / 2, r.top - box.top + Math.min(10, r.height / 4)];
      })
      .filter(([x, y]) => x > 0 && y > 0 && x < box.width && y < box.height);
  }

  // Frames a second, the longest frame, and the numbers of the frames that came late, while `act` is done at each.
  async function rate(act, seconds) {
    const begin = performance.now();
    let [n, last, longest, shown] = [0, begin, 0, 0];
    const late = [];
    while (performance.now() - begin < seconds * 1000) {
      act(n++);
      const time = await frame();
      if (shown && time - shown > 25) late.push(n);
      shown = time;
      const now = performance.now();
      longest = Math.max(longest, now - last);
      last = now;
    }
    return { rate: n / ((last - begin) / 1000), frames: n, longest, late };
  }

  const rested = async () => {
    const { style } = stage().querySelector(".nodes");
    for (let [k, last] = [0, ""]; k < 10; k++) {
      if (style.transform !== last) k = 0;
      last = style.transform;
      await frame();
    }
  };

  // Selects about `count` nodes with Shift and drags them in a circle.
  async function drag(count, seconds = 3) {
    key("Escape");
    await rested();
    const nodes = places().slice(0, count);
    for (const [x, y] of nodes) {
      pointer("pointerdown", x, y, { shiftKey: true });
      pointer("pointerup", x, y, { shiftKey: true });
    }
    await settled();
    const selected = stage().querySelectorAll(".node.selected").length;
    // Not at the border, where a drag moves the window.
    const [x, y] = nodes.find(([left, top]) => left > 150 && top > 150);
    pointer("pointerdown", x, y);
    const near = Number(stage().dataset.near);
    const found = await rate((n) => {
      const angle = n / 15;
      pointer("pointermove", x + 60 * Math.sin(angle), y + 40 * (1 - Math.cos(angle)));
    }, seconds);
    pointer("pointerup", x, y);
    await settled();
    key("z", { ctrlKey: true });
    await settled();
    return { ...found, selected, near, nodes: Number(stage().dataset.nodes) };
  }

  async function pan(seconds = 2) {
    return rate((n) => {
      const names = ["ArrowRight", "ArrowDown", "ArrowLeft", "ArrowUp"];
      key(names[Math.floor(n / 12) % 4], { ctrlKey: true });
    }, seconds);
  }

  // The wheel over what is inside of a block.
  async function panInside(seconds = 3) {
    const canvas = document.querySelector(".tfnb-builder .graph-host canvas.drawing");
    const box = canvas.getBoundingClientRect();
    const at = { clientX: box.left + box.width / 2, clientY: box.top + box.height / 2 };
    return rate((n) => {
      const deltaY = n % 40 < 20 ? 30 : -30;
      canvas.dispatchEvent(
        new WheelEvent("wheel", { bubbles: true, cancelable: true, deltaY, ...at }),
      );
    }, seconds);
  }

  // Milliseconds from each gesture to the drawing of the kernel's answer.
  async function answers(times) {
    key("Escape");
    key("0");
    // Closer, since a 301st node in sight would be drawn as from afar.
    for (let k = 0; k < 3; k++) key("+");
    await rested();
    await until(() => places().length, "nodes in sight");
    const gestures = [
      ["ArrowRight", { altKey: true }],
      ["d", { ctrlKey: true }],
      ["Delete", {}],
      ["z", { ctrlKey: true }],
      ["z", { ctrlKey: true }],
    ];
    const found = [];
    for (let k = 0; k < times; k++) {
      if (!stage().querySelector(".node.selected")) {
        const [[x, y]] = places();
        pointer("pointerdown", x, y);
        pointer("pointerup", x, y);
        await settled();
      }
      const begin = performance.now();
      key(...gestures[k % gestures.length]);
      // Not by frames, so that a screen's pace does not round the times.
      const moment = () => new Promise((done) => setTimeout(done, 1));
      await until(isAnswered, "an answer of the kernel", moment);
      found.push([gestures[k % gestures.length][0], performance.now() - begin]);
      await settled();
    }
    return found;
  }

  // So far away that as many nodes as possible are near.
  async function far() {
    key("0");
    await rested();
    const closer = async () => {
      key("+");
      await rested();
    };
    await until(() => Number(stage().dataset.near), "near nodes", closer);
  }

  return { far, drag, pan, panInside, answers, settled };
})();
