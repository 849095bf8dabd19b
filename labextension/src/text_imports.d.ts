// The types of two kinds of imports that scripts/build.mjs resolves.

/** An import of a file as text. */
declare module "*?text" {
  const text: string;
  export default text;
}

/** A TypeScript module, bundled into the text of one classic script: for `new Worker` of a blob. */
declare module "*?worker" {
  const source: string;
  export default source;
}
