// A turn between an open document and Jupyter's server: tfnb/notebook/server/documents.py.

export type Kind = "events" | "graph" | "trace";

/** What the browser tells. */
export interface Told {
  readonly state: Readonly<Record<string, unknown>>;
  readonly messages: readonly unknown[];
  /** The document starts anew. */
  readonly first: boolean;
}

/** What it hears. */
export interface Turn {
  readonly state: Readonly<Record<string, unknown>>;
  readonly messages: readonly {
    readonly content: unknown;
    readonly buffers: readonly DataView[];
  }[];
  /** Seconds until there may be news; 0: never. */
  readonly again: number;
  /** The server had forgotten the document, and has made it anew. */
  readonly renewed: boolean;
}
