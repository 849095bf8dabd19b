import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { unpacked } from "../src/protocol/framing";

// `value` as the server's side packs it, where a python3 is found that can run that file by itself.
function packedByPython(expression: string): ArrayBuffer {
  const program = `
import importlib.util, sys
spec = importlib.util.spec_from_file_location("framing", "../tfnb/notebook/server/framing.py")
framing = importlib.util.module_from_spec(spec)
spec.loader.exec_module(framing)
sys.stdout.buffer.write(framing.packed(${expression}))`;
  const found = execFileSync(process.env.PYTHON ?? "python3", ["-c", program]);
  return found.buffer.slice(found.byteOffset, found.byteOffset + found.byteLength) as ArrayBuffer;
}

const bytes = (view: unknown) => {
  assert.ok(view instanceof DataView);
  return [...new Uint8Array(view.buffer, view.byteOffset, view.byteLength)];
};

test("what Python packs is unpacked", () => {
  const body = packedByPython(
    '{"a": [1, None, "é", {"b": b"123456789"}], "c": b"", "d": memoryview(b"xy"), "nan": float("nan")}',
  );
  const value = unpacked(body) as { a: unknown[]; c: unknown; d: unknown; nan: unknown };
  assert.deepEqual(value.a.slice(0, 3), [1, null, "é"]);
  const { b } = value.a[3] as { b: unknown };
  assert.deepEqual(bytes(b), [...new TextEncoder().encode("123456789")]);
  assert.equal((b as DataView).byteOffset % 8, 0);
  assert.deepEqual(bytes(value.c), []);
  assert.deepEqual(bytes(value.d), [120, 121]);
  assert.equal(value.nan, null);
});

test("a body that was cut is refused", () => {
  const body = packedByPython('{"a": b"0123456789abcdef"}');
  assert.throws(() => unpacked(body.slice(0, body.byteLength - 8)), RangeError);
});
