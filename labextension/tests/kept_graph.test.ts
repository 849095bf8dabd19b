import assert from "node:assert/strict";
import { test } from "node:test";
import { restored, written } from "../src/views/graph/kept_graph";

test("what was kept comes back", () => {
  const kept = { stage: 2, open: ["conv1", "conv1/weights"], selected: "conv1/Relu" };
  assert.deepEqual(restored(written(kept)), kept);
  const none = { stage: 0, open: [], selected: "" };
  assert.deepEqual(restored(written(none)), none);
});

test("another text is nothing kept", () => {
  const wrong = [
    { stage: -1, open: [], selected: "" },
    { stage: 0, open: "conv1", selected: "" },
    { stage: 0, open: [1], selected: "" },
    { stage: 0, open: [] },
    { open: [], selected: "" },
    null,
    3,
    [],
  ];
  for (const text of [undefined, "", "{", ...wrong.map((one) => JSON.stringify(one))])
    assert.equal(restored(text), null);
});
