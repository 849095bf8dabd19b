// What scripts/build.mjs makes of two kinds of imports.

/** The text of a file. */
declare module "*?text" {
  const text: string;
  export default text;
}

/** A TypeScript module, bundled into the text of one classic script: for `new Worker` of a blob. */
declare module "*?worker" {
  const source: string;
  export default source;
}
