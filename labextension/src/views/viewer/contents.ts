// The contents of tags by their kind.
import type { Content, Kind } from "../../protocol/viewer";

export type Contents = { readonly [K in Kind]: Extract<Content, { kind: K }> };
