// Bundles src/widgets/NAME.ts to tfnb/notebook/static/NAME.js, one ES module each for anywidget, and
// src/plugins/ to the prebuilt JupyterLab extension tfnb/labextension. Nothing is left to be loaded
// from elsewhere but JupyterLab's own shared packages.
//
//   node scripts/build.mjs [widgets | extension | watch]      without a word: widgets and extension

import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";

const HERE = dirname(dirname(fileURLToPath(import.meta.url)));
const STATIC = resolve(HERE, "../tfnb/notebook/static");
const EXTENSION = resolve(HERE, "../tfnb/labextension");
const LIB = join(HERE, "lib");
const PACKAGE = JSON.parse(readFileSync(join(HERE, "package.json"), "utf8"));

const COMMON = {
  absWorkingDir: HERE,
  bundle: true,
  charset: "utf8",
  format: "esm",
  legalComments: "inline",
  logLevel: "warning",
  minify: true,
  target: "es2022",
};

// The licences of bundled packages go with what bundles them.
const LICENSES = "third-party-licenses.json";
const bundled = new Set();

function note({ inputs }) {
  for (const path of Object.keys(inputs)) {
    const name = path.match(/.*node_modules\/((?:@[^/]+\/)?[^/]+)\//)?.[1];
    if (name) bundled.add(name);
  }
}

const installed = (name) => join(HERE, "node_modules", name);
const facts = (name) => JSON.parse(readFileSync(join(installed(name), "package.json"), "utf8"));

/** The bundled packages in the form in which JupyterLab lists licences. */
function licenses() {
  // What a package depends on may be bundled in the package itself.
  const all = new Set(bundled);
  for (const name of all)
    for (const other of Object.keys(facts(name).dependencies ?? {})) all.add(other);
  return [...all].sort().map((name) => {
    const folder = installed(name);
    const { version, license } = facts(name);
    const file = readdirSync(folder).find((entry) => /^licen[cs]e(\.|$)/i.test(entry));
    if (!file) throw new Error(`${name} is bundled, but has no file with its licence`);
    const extractedText = readFileSync(join(folder, file), "utf8");
    return { name, versionInfo: version, licenseId: license, extractedText };
  });
}

function writeLicenses(folder) {
  writeFileSync(join(folder, LICENSES), `${JSON.stringify({ packages: licenses() }, null, 2)}\n`);
}

// `import text from "./page.css?text"`, `import source from "./layout.ts?worker"`.
export const texts = {
  name: "texts",
  setup(build) {
    build.onResolve({ filter: /\?(text|worker)$/ }, async ({ path, resolveDir, importer }) => {
      const [bare, kind] = path.split("?");
      const found = await build.resolve(bare, { kind: "import-statement", resolveDir, importer });
      return { errors: found.errors, path: found.path, namespace: kind };
    });
    build.onLoad({ filter: /.*/, namespace: "text" }, ({ path }) => ({
      contents: readFileSync(path, "utf8"),
      loader: "text",
      watchFiles: [path],
    }));
    build.onLoad({ filter: /.*/, namespace: "worker" }, async ({ path }) => {
      const made = await esbuild.build({
        ...COMMON,
        entryPoints: [path],
        format: "iife",
        metafile: true,
        plugins: [texts],
        write: false,
      });
      note(made.metafile);
      return {
        contents: made.outputFiles[0].text,
        loader: "text",
        watchFiles: Object.keys(made.metafile.inputs).map((name) => resolve(HERE, name)),
      };
    });
  },
};

function inside(folder) {
  const path = join(HERE, "src", folder);
  return (existsSync(path) ? readdirSync(path) : [])
    .filter((name) => name.endsWith(".ts") && !name.endsWith(".d.ts"))
    .map((name) => join("src", folder, name));
}

const widgets = () => ({
  ...COMMON,
  entryPoints: inside("widgets"),
  outdir: STATIC,
  plugins: [texts],
});

const plugins = () => ({
  ...COMMON,
  chunkNames: "parts/[name]-[hash]",
  entryPoints: ["src/plugins/index.ts"],
  external: Object.keys(PACKAGE.dependencies),
  minify: false, // the next step does it, and would miss its own comments
  outdir: LIB,
  plugins: [texts],
  splitting: true,
});

async function buildWidgets() {
  const { entryPoints } = widgets();
  if (entryPoints.length) {
    note((await esbuild.build({ ...widgets(), metafile: true })).metafile);
    writeLicenses(STATIC);
  }
  return entryPoints.map((name) => basename(name, ".ts"));
}

async function buildExtension() {
  rmSync(LIB, { recursive: true, force: true });
  note((await esbuild.build({ ...plugins(), metafile: true })).metafile);
  rmSync(join(EXTENSION, "static"), { recursive: true, force: true });
  const builder = join(HERE, "node_modules/@jupyter/builder/lib/build-labextension.js");
  const core = join(HERE, "node_modules/@jupyterlab/core-meta/core.package.json");
  const ran = spawnSync(process.execPath, [builder, "--core-package-file", core, HERE], {
    cwd: HERE,
    encoding: "utf8",
  });
  if (ran.status !== 0 || !existsSync(join(EXTENSION, "package.json"))) {
    throw new Error(`the JupyterLab extension was not built:\n${ran.stdout}${ran.stderr}`);
  }
  writeLicenses(join(EXTENSION, "static")); // the next step's own list misses what was bundled before it
}

async function main(what) {
  const start = performance.now();
  if (what === "watch") {
    await (await esbuild.context(widgets())).watch();
    console.log("watching src/widgets");
    return;
  }
  const names = what === "extension" ? [] : await buildWidgets();
  if (what !== "widgets") await buildExtension();
  const made = [
    ...names.map((name) => `${name}.js`),
    ...(what === "widgets" ? [] : ["labextension"]),
  ];
  console.log(`built ${made.join(", ")} in ${((performance.now() - start) / 1000).toFixed(1)} s`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main(process.argv[2]);
