// What the view of a cluster says of the numbers it gets.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ClusterState, Sent, TaskReport } from "../src/protocol/cluster";
import {
  linkOf,
  MEASURES,
  MOST_TASKS,
  matrixOf,
  measureText,
  pairKey,
  pairText,
  shortName,
  strength,
  summary,
} from "../src/views/cluster/figures";

const name = (k: number) => `/job:worker/replica:0/task:${k}`;

function task(k: number, state: TaskReport["state"] = "alive"): TaskReport {
  return {
    name: name(k),
    job: "worker",
    index: k,
    address: "tcp://127.0.0.1:1",
    state,
    why: "",
    lives: 1,
    silent: 0.1,
    variables: 2,
    variable_bytes: 2048,
  };
}

function sent(from: number, to: number, bytes: number): Sent {
  const tensors = [["w:0", 4, bytes]] as const;
  return {
    from: name(from),
    to: name(to),
    messages: 4,
    bytes,
    seconds: 0.002,
    steps: 2,
    rate: 10,
    tensors,
  };
}

const cluster = (tasks: TaskReport[], pairs: Sent[]): ClusterState => ({
  tasks,
  devices: [],
  sent: pairs,
  dashboard: "",
});

test("names and links", () => {
  assert.equal(shortName(name(3)), "worker 3");
  assert.equal(shortName("<b>tcp://1"), "<b>tcp://1");
  assert.equal(linkOf("http://127.0.0.1:8787/status"), "http://127.0.0.1:8787/status");
  assert.equal(linkOf("javascript:alert(1)"), null);
  assert.equal(linkOf(""), null);
});

test("a pair in words and measures", () => {
  const pair = sent(0, 1, 4096);
  assert.equal(
    pairText(pair),
    "worker 0 to worker 1: 4 KiB in 4 messages, 2 KiB and 1 ms per step",
  );
  assert.equal(measureText("bytes per step", MEASURES["bytes per step"](pair)), "2 KiB");
  assert.equal(measureText("total time", MEASURES["total time"](pair)), "2 ms");
  assert.equal(measureText("bytes per second", MEASURES["bytes per second"](pair)), "10 bytes/s");
  assert.equal(MEASURES["bytes per step"]({ ...pair, steps: 0 }), 4096);
});

test("the matrix has the tasks that send or receive, the busiest of very many", () => {
  const few = matrixOf(cluster([task(0), task(1), task(2)], [sent(0, 2, 5)]));
  assert.deepEqual(few.names, [name(0), name(2)]);
  assert.equal(few.pairs.get(pairKey(name(0), name(2)))?.bytes, 5);
  const tasks = Array.from({ length: 60 }, (_, k) => task(k));
  const many = matrixOf(
    cluster(
      tasks,
      tasks.slice(1).map((_, k) => sent(0, k + 1, k + 1)),
    ),
  );
  assert.equal(many.names.length, MOST_TASKS);
  assert.equal(many.hidden, 60 - MOST_TASKS);
  assert.equal(many.names[0], name(0));
  assert.equal(many.names.at(-1), name(59));
});

test("strength grows with the value, and small ones are seen", () => {
  assert.equal(strength(0, 10), 0);
  assert.equal(strength(10, 10), 1);
  assert.ok(strength(1, 10) < 1 && strength(1, 10) > strength(0.1, 10));
  assert.equal(strength(1e-9, 10), 0.06);
});

test("one sentence about all of it", () => {
  const text = summary(cluster([task(0), task(1, "lost"), task(2, "late")], [sent(0, 1, 1024)]));
  assert.equal(
    text,
    "1 of 3 tasks alive, 1 late, 1 lost, 6 variables of 6 KiB, 1 KiB sent between tasks, 10 bytes/s now",
  );
});
