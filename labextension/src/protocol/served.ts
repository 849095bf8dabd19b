// Generated from tfnb/notebook/protocol/served.py by scripts/browser_protocol.py.
//
// The exchange between an open document and Jupyter's server, which replaces the kernel for documents.

import type { Bytes } from "./bytes";

export type DocumentKind = "events" | "graph" | "trace";

/** A request of the browser. */
export interface ServedRequest {
  readonly state: Readonly<Record<string, unknown>>;
  readonly messages: readonly unknown[];
  /** Whether the document is opened, or reloaded. */
  readonly first: boolean;
}

export interface ServedMessage {
  readonly content: unknown;
  readonly buffers: readonly Bytes[];
}

/** The server's reply. */
export interface ServedReply {
  readonly state: Readonly<Record<string, unknown>>;
  readonly messages: readonly ServedMessage[];
  /** Seconds until the browser should ask again; 0: never. */
  readonly again: number;
  /** Whether the server had closed the document in the meantime and has opened it again. */
  readonly renewed: boolean;
}
