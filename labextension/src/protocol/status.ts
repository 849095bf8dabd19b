// What a kernel tells of itself: tfnb/notebook/status.py.

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
  readonly more: number;
  readonly fault: string;
}
