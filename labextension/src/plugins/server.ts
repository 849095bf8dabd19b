// Requests to the server's part of tfnb (tfnb/notebook/server), with Jupyter's own authentication.
import { URLExt } from "@jupyterlab/coreutils";
import { ServerConnection } from "@jupyterlab/services";
import { unpacked } from "../protocol/framing";
import type { DocumentKind, ServedReply, ServedRequest } from "../protocol/served";

const MISSING =
  "the server's part of tfnb does not answer: is tfnb installed where Jupyter's server runs, and was that restarted since?";

async function request(path: string, init: RequestInit): Promise<Response> {
  const settings = ServerConnection.makeSettings();
  const address = URLExt.join(settings.baseUrl, "tfnb", path);
  const response = await ServerConnection.makeRequest(address, init, settings);
  if (response.ok) return response;
  const told = (await response.json().catch(() => null)) as { message?: unknown } | null;
  if (typeof told?.message === "string" && told.message !== "Not Found")
    throw new Error(told.message);
  throw new Error(response.status === 404 ? MISSING : `${response.status} ${response.statusText}`);
}

/** One turn of the document `name`, which shows the file or folder at `path`. */
export async function exchange(
  name: string,
  kind: DocumentKind,
  path: string,
  told: ServedRequest,
): Promise<ServedReply> {
  const body = JSON.stringify({ name, kind, path, ...told });
  const response = await request("document", { method: "POST", body });
  const found = unpacked(await response.arrayBuffer()) as ServedReply | { readonly fault: string };
  if ("fault" in found) throw new Error(found.fault);
  return found;
}

/** The document is closed. */
export async function forget(name: string): Promise<void> {
  await request(`document?name=${encodeURIComponent(name)}`, { method: "DELETE" });
}

/** The module that draws documents of a kind, and its style sheet. */
export interface Drawing {
  readonly module: Module;
  readonly style: string;
}

type Act = (given: { model: unknown; el: HTMLElement }) => unknown;

export interface Module {
  readonly initialize?: Act;
  readonly render?: Act;
}

const drawings = new Map<DocumentKind, Promise<Drawing>>();

/** Loaded once for a page; after a fault again. */
export function drawing(kind: DocumentKind): Promise<Drawing> {
  const found = drawings.get(kind) ?? load(kind);
  drawings.set(kind, found);
  found.catch(() => drawings.delete(kind));
  return found;
}

async function load(kind: DocumentKind): Promise<Drawing> {
  const response = await request(`module/${kind}`, {});
  const told = (await response.json()) as { module: string; style: string };
  const place = URL.createObjectURL(new Blob([told.module], { type: "text/javascript" }));
  try {
    const found = (await import(/* webpackIgnore: true */ place)) as { default: unknown };
    const made = typeof found.default === "function" ? await found.default() : found.default;
    return { module: made as Module, style: told.style };
  } finally {
    URL.revokeObjectURL(place);
  }
}

let bokeh: Promise<ArrayBuffer> | undefined;

/** BokehJS as the widgets take it: a model with the zipped text as `source`. */
export async function bokehLibrary(): Promise<{ get(key: string): unknown }> {
  bokeh ??= request("bokeh", {}).then((response) => response.arrayBuffer());
  try {
    const source = new DataView(await bokeh);
    return { get: (key) => (key === "source" ? source : undefined) };
  } catch (fault) {
    bokeh = undefined;
    throw fault;
  }
}
