// Values at nodes: when they are still those of their nodes, and what a training says. Commands without a kernel.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { BuilderNode, LossPoint, RunValue } from "../../src/protocol/builder";
import { whileThere } from "../../src/views/builder/commands";
import { Session, type ToKernel } from "../../src/views/builder/state/session";
import type { Panel } from "../../src/views/builder/state/state";
import { isValueOf, lossText } from "../../src/views/builder/values";

function node(shape: (number | null)[] | null, dtype = "float32", isWrong = false): BuilderNode {
  const problem = isWrong ? { text: "no", port: "", fixes: [] } : null;
  const made = { id: "y", outputs: [{ name: "y", dtype, shape }], inputs: [], problem };
  return made as unknown as BuilderNode;
}

function panel(shape: number[], dtype = "float32"): Panel {
  const value = { name: "y", dtype, shape } as unknown as RunValue;
  const result = { values: [value] } as unknown as Panel["result"];
  return { kind: "text", result, losses: [], isRunning: false };
}

test("a value goes when its node has another shape or type, or a problem", () => {
  assert.ok(isValueOf(panel([3, 4]), node([null, 4])));
  assert.ok(isValueOf(panel([3, 4]), node(null)));
  assert.ok(isValueOf(panel([]), node([])));
  assert.ok(!isValueOf(panel([3, 4]), node([null, 5])));
  assert.ok(!isValueOf(panel([3, 4]), node([3])));
  assert.ok(!isValueOf(panel([3, 4]), node([3, 4], "int32")));
  assert.ok(!isValueOf(panel([3, 4]), node([3, 4], "float32", true)));
  assert.ok(!isValueOf(panel([3, 4]), undefined));
  assert.ok(isValueOf({ ...panel([3]), isRunning: true }, node([4])));
});

test("losses stay at a scalar only", () => {
  const losses = [{ step: 1, value: 2 } as unknown as LossPoint];
  assert.ok(isValueOf({ ...panel([]), result: null, losses }, node([])));
  assert.ok(!isValueOf({ ...panel([]), result: null, losses }, node([3])));
});

test("a loss that is not finite is said, and is no zero", () => {
  const point = (value: number, is_finite: boolean, broken: string): LossPoint =>
    ({ value, is_finite, broken }) as unknown as LossPoint;
  assert.equal(lossText(point(0.38934, true, "")), "loss 0.3893");
  assert.equal(lossText(point(0, false, "NaN since step 212")), "loss NaN since step 212");
  assert.equal(lossText(point(1, true, "inf at step 7")), "loss 1, inf at step 7");
});

test("when the kernel has ended nothing is sent, and what needs it cannot be done", () => {
  const sent: ToKernel[] = [];
  let refused = 0;
  const session = new Session(
    (message) => sent.push(message),
    () => {
      refused += 1;
    },
  );
  const command = (id: string) => ({ id, label: id, keys: [], can: () => true, run: () => {} });
  const [train, fit] = whileThere(session, [command("train"), command("fit")]);
  assert.ok(train?.can() && fit?.can());
  session.gesture({ edit: "delete", nodes: ["a"], heal: false });
  session.isGone = true;
  assert.ok(!train?.can() && fit?.can());
  session.gesture({ edit: "delete", nodes: ["a"], heal: false });
  session.undo("undo");
  session.send({ type: "open" });
  assert.deepEqual([sent.length, refused, session.waitingCount], [1, 3, 1]);
});
