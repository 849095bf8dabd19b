// Generated from tfnb/notebook/protocol/status.py by scripts/browser_protocol.py.
//
// The report on a kernel that JupyterLab's side panel shows: devices, open sessions and caches.

export interface Device {
  readonly name: string;
  readonly hardware: string;
  readonly platform: string;
  readonly units: number;
  /** In bytes. */
  readonly memory: number;
}

export interface OpenSession {
  readonly nodes: number;
  readonly devices: readonly string[];
  /** Bytes of device memory that the session holds. */
  readonly in_use: number;
}

/** All caches of one name together, as `tf.list_caches()` counts them. */
export interface CacheUse {
  readonly name: string;
  readonly caches: number;
  readonly entries: number;
  /** The largest number of entries; a cache that is full drops its oldest entry. */
  readonly limit: number;
  /** Lookups that found an entry. */
  readonly hits: number;
  /** Entries that had to be computed. */
  readonly misses: number;
  /** How long computing them took; None where it is not measured. */
  readonly seconds: number | null;
}

export interface Report {
  readonly devices: readonly Device[];
  readonly sessions: readonly OpenSession[];
  /** The number of open sessions that `sessions` leaves out. */
  readonly more: number;
  readonly caches: readonly CacheUse[];
  /** Why the devices are not known, or "". */
  readonly fault: string;
}
