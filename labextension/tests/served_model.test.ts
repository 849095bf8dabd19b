import assert from "node:assert/strict";
import { test } from "node:test";
import type { ServedReply, ServedRequest } from "../src/protocol/served";
import { ServedModel } from "../src/views/served_model";

const turn = (given: Partial<ServedReply> = {}): ServedReply => ({
  state: {},
  messages: [],
  again: 0,
  renewed: false,
  ...given,
});
const moment = () => new Promise((done) => setTimeout(done, 20));

// A server that answers from a list and remembers what it was told.
function served(answers: (ServedReply | Error)[], state: Record<string, unknown> = {}) {
  const told: ServedRequest[] = [];
  const faults: string[] = [];
  const model = new ServedModel(
    {
      async exchange(said) {
        told.push(structuredClone(said));
        const answer = answers.shift() ?? turn();
        if (answer instanceof Error) throw answer;
        return answer;
      },
      shared: async (name) => ({ get: () => name }),
      fault: (text) => faults.push(text),
    },
    state,
  );
  return { model, told, faults };
}

test("the first turn brings the state, and events for it", async () => {
  const { model, told } = served([turn({ state: { catalogue: { runs: ["a"] } } })], { key: "k" });
  const heard: unknown[] = [];
  model.on("change:catalogue", () => heard.push(model.get("catalogue")));
  await model.open();
  assert.deepEqual(told, [{ state: { key: "k" }, messages: [], first: true }]);
  assert.deepEqual(heard, [{ runs: ["a"] }]);
  model.close();
});

test("what is set and sent goes out in one turn, and answers come back as messages", async () => {
  const buffers = [new DataView(new ArrayBuffer(8))];
  const { model, told } = served([
    turn(),
    turn({ messages: [{ content: { op: "csv" }, buffers }] }),
  ]);
  await model.open();
  const heard: unknown[] = [];
  model.on("msg:custom", (...values) => heard.push(values));
  model.set("wanted", { kind: "scalar" });
  model.save_changes();
  model.send({ op: "csv" });
  await moment();
  assert.deepEqual(told[1], {
    state: { wanted: { kind: "scalar" } },
    messages: [{ op: "csv" }],
    first: false,
  });
  assert.deepEqual(heard, [[{ op: "csv" }, buffers]]);
  assert.equal(told.length, 2);
  model.close();
});

test("a turn that failed is told, and told again", async () => {
  const { model, told, faults } = served([turn(), new Error("the server is gone")]);
  await model.open();
  model.set("wanted", 1);
  model.save_changes();
  await moment();
  assert.deepEqual(faults, ["the server is gone"]);
  model.save_changes();
  await moment();
  assert.deepEqual(told[2]?.state, { wanted: 1 });
  assert.deepEqual(faults, ["the server is gone", ""]);
  model.close();
});

test("a document that the server forgot is told what it was told before", async () => {
  const { model, told } = served([turn(), turn(), turn({ renewed: true })]);
  await model.open();
  model.set("wanted", 7);
  model.save_changes();
  await moment();
  model.send("hello");
  await moment();
  assert.deepEqual(
    told.map((t) => t.state),
    [{}, { wanted: 7 }, {}, { wanted: 7 }],
  );
  model.close();
});

test("the server's rhythm is kept while somebody looks, and nothing is asked after the end", async () => {
  const { model, told } = served(Array.from({ length: 50 }, () => turn({ again: 0.005 })));
  await model.open();
  await moment();
  const seen = told.length;
  assert.ok(seen > 1);
  model.watch(false);
  await moment();
  const asleep = told.length;
  await moment();
  assert.equal(told.length, asleep);
  model.watch(true);
  await moment();
  assert.ok(told.length > asleep);
  model.close();
  const end = told.length;
  await moment();
  assert.equal(told.length, end);
});
