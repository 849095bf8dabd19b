import assert from "node:assert/strict";
import { test } from "node:test";
import type { ServedReply, ServedRequest } from "../src/protocol/served";
import { ServedModel } from "../src/views/served_model";

const reply = (given: Partial<ServedReply> = {}): ServedReply => ({
  state: {},
  messages: [],
  again: 0,
  renewed: false,
  ...given,
});
const moment = () => new Promise((done) => setTimeout(done, 20));

// A server that answers from a list and records the requests.
function served(answers: (ServedReply | Error)[], state: Record<string, unknown> = {}) {
  const requests: ServedRequest[] = [];
  const faults: string[] = [];
  const model = new ServedModel(
    {
      async exchange(said) {
        requests.push(structuredClone(said));
        const answer = answers.shift() ?? reply();
        if (answer instanceof Error) throw answer;
        return answer;
      },
      shared: async (name) => ({ get: () => name }),
      fault: (text) => faults.push(text),
    },
    state,
  );
  return { model, requests, faults };
}

test("the first exchange brings the state, and events for it", async () => {
  const { model, requests } = served([reply({ state: { catalogue: { runs: ["a"] } } })], {
    key: "k",
  });
  const events: unknown[] = [];
  model.on("change:catalogue", () => events.push(model.get("catalogue")));
  await model.open();
  assert.deepEqual(requests, [{ state: { key: "k" }, messages: [], first: true }]);
  assert.deepEqual(events, [{ runs: ["a"] }]);
  model.close();
});

test("what is set and sent is sent in one exchange, and replies come back as messages", async () => {
  const buffers = [new DataView(new ArrayBuffer(8))];
  const { model, requests } = served([
    reply(),
    reply({ messages: [{ content: { op: "csv" }, buffers }] }),
  ]);
  await model.open();
  const events: unknown[] = [];
  model.on("msg:custom", (...values) => events.push(values));
  model.set("wanted", { kind: "scalar" });
  model.save_changes();
  model.send({ op: "csv" });
  await moment();
  assert.deepEqual(requests[1], {
    state: { wanted: { kind: "scalar" } },
    messages: [{ op: "csv" }],
    first: false,
  });
  assert.deepEqual(events, [[{ op: "csv" }, buffers]]);
  assert.equal(requests.length, 2);
  model.close();
});

test("a failed exchange is reported and repeated", async () => {
  const { model, requests, faults } = served([reply(), new Error("the server is gone")]);
  await model.open();
  model.set("wanted", 1);
  model.save_changes();
  await moment();
  assert.deepEqual(faults, ["the server is gone"]);
  model.save_changes();
  await moment();
  assert.deepEqual(requests[2]?.state, { wanted: 1 });
  assert.deepEqual(faults, ["the server is gone", ""]);
  model.close();
});

test("a document that the server has closed is sent its whole state again", async () => {
  const { model, requests } = served([reply(), reply(), reply({ renewed: true })]);
  await model.open();
  model.set("wanted", 7);
  model.save_changes();
  await moment();
  model.send("hello");
  await moment();
  assert.deepEqual(
    requests.map((t) => t.state),
    [{}, { wanted: 7 }, {}, { wanted: 7 }],
  );
  model.close();
});

test("the server is polled at its interval while the document is visible, and not after the end", async () => {
  const { model, requests } = served(Array.from({ length: 50 }, () => reply({ again: 0.005 })));
  await model.open();
  await moment();
  const seen = requests.length;
  assert.ok(seen > 1);
  model.watch(false);
  await moment();
  const asleep = requests.length;
  await moment();
  assert.equal(requests.length, asleep);
  model.watch(true);
  await moment();
  assert.ok(requests.length > asleep);
  model.close();
  const end = requests.length;
  await moment();
  assert.equal(requests.length, end);
});
