// Generated from tfnb/notebook/protocol/served.py by scripts/browser_protocol.py.
//
// One exchange between an open document and Jupyter's server, which feeds it where there is no kernel.

import type { Bytes } from "./bytes";

export type DocumentKind = "events" | "graph" | "trace";

/** What the browser sends. */
export interface ServedRequest {
  readonly state: Readonly<Record<string, unknown>>;
  readonly messages: readonly unknown[];
  /** The document starts anew. */
  readonly first: boolean;
}

export interface ServedMessage {
  readonly content: unknown;
  readonly buffers: readonly Bytes[];
}

/** What the server answers. */
export interface ServedReply {
  readonly state: Readonly<Record<string, unknown>>;
  readonly messages: readonly ServedMessage[];
  /** Seconds until there may be news; 0: never. */
  readonly again: number;
  /** The server had forgotten the document, and has opened it again. */
  readonly renewed: boolean;
}
