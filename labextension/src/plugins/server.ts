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
  const error = (await response.json().catch(() => null)) as { message?: unknown } | null;
  if (typeof error?.message === "string" && error.message !== "Not Found")
    throw new Error(error.message);
  throw new Error(response.status === 404 ? MISSING : `${response.status} ${response.statusText}`);
}

/** One exchange with the document `name`, which shows the file or folder at `path`. */
export async function exchange(
  name: string,
  kind: DocumentKind,
  path: string,
  exchanged: ServedRequest,
): Promise<ServedReply> {
  const body = JSON.stringify({ name, kind, path, ...exchanged });
  const response = await request("document", { method: "POST", body });
  const reply = unpacked(await response.arrayBuffer()) as ServedReply | { readonly fault: string };
  if ("fault" in reply) throw new Error(reply.fault);
  return reply;
}

/** Closes the document on the server. */
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

/** The modules by kind: each is loaded once per page, and again after an error. */
export function drawing(kind: DocumentKind): Promise<Drawing> {
  const drawing = drawings.get(kind) ?? load(kind);
  drawings.set(kind, drawing);
  drawing.catch(() => drawings.delete(kind));
  return drawing;
}

async function load(kind: DocumentKind): Promise<Drawing> {
  const response = await request(`module/${kind}`, {});
  const texts = (await response.json()) as { module: string; style: string };
  const place = URL.createObjectURL(new Blob([texts.module], { type: "text/javascript" }));
  try {
    const module = (await import(/* webpackIgnore: true */ place)) as { default: unknown };
    const exported = typeof module.default === "function" ? await module.default() : module.default;
    return { module: exported as Module, style: texts.style };
  } finally {
    URL.revokeObjectURL(place);
  }
}

let bokeh: Promise<ArrayBuffer> | undefined;

/** BokehJS in the form that the widgets expect: a model with the gzipped text as `source`. */
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
