// Generated from tfnb/notebook/protocol/status.py by scripts/browser_protocol.py.
//
// What JupyterLab's side panel shows of a kernel.

export interface Device {
  readonly name: string;
  readonly hardware: string;
  readonly platform: string;
  readonly units: number;
  readonly memory: number;
}

export interface OpenSession {
  readonly nodes: number;
  readonly devices: readonly string[];
  readonly in_use: number;
}

export interface Report {
  readonly devices: readonly Device[];
  readonly sessions: readonly OpenSession[];
  /** How many further sessions are open. */
  readonly more: number;
  /** Why the devices are not known, or "". */
  readonly fault: string;
}
