// The type of the content of a tag, by the kind of the tag.
import type { Content, Kind } from "../../protocol/viewer";

export type Contents = { readonly [K in Kind]: Extract<Content, { kind: K }> };
