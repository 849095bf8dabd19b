// Runs tests/**/*.test.ts with node's own test runner, each bundled first (node 20 reads no TypeScript).
//
//   node scripts/test.mjs [NAME ...]      only the files whose path contains one of the words

import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";
import { texts } from "./build.mjs";

const HERE = dirname(dirname(fileURLToPath(import.meta.url)));
const words = process.argv.slice(2);
const tests = readdirSync(join(HERE, "tests"), { recursive: true })
  .filter((name) => name.endsWith(".test.ts"))
  .filter((name) => !words.length || words.some((word) => name.includes(word)));
if (!tests.length) throw new Error(`no test file is called like ${words.join(", ")}`);

// Inside the project, so that packages are found from there.
const out = mkdtempSync(join(HERE, "lib-tests-"));
try {
  await esbuild.build({
    absWorkingDir: HERE,
    bundle: true,
    entryPoints: tests.map((name) => join("tests", name)),
    outbase: join(HERE, "tests"),
    format: "esm",
    logLevel: "warning",
    outdir: out,
    outExtension: { ".js": ".mjs" },
    packages: "external",
    platform: "node",
    plugins: [texts],
    sourcemap: "inline",
    target: "node20",
  });
  const files = readdirSync(out, { recursive: true }).filter((name) => name.endsWith(".mjs"));
  const ran = spawnSync(
    process.execPath,
    [
      "--enable-source-maps",
      "--test",
      "--test-reporter=spec",
      ...files.map((name) => join(out, name)),
    ],
    { cwd: HERE, stdio: "inherit" },
  );
  process.exitCode = ran.status ?? 1;
} finally {
  rmSync(out, { recursive: true, force: true });
}
