// The messages of tfnb/notebook/cluster_view.py. The reports of the tasks are made by report_of in
// tfnb/session/dask/membership/rpc_service.py and completed by health_monitor.py. Only the first fields exist for a task
// that never answered.

export type State = "alive" | "late" | "lost";

export interface TaskTold {
  readonly name: string;
  readonly job: string;
  readonly index: number;
  readonly address: string;
  readonly state: State;
  /** Why it is lost, or "". */
  readonly why: string;
  /** How many processes have had the role. */
  readonly lives: number;
  /** Seconds since its last answer, null before the first. */
  readonly silent: number | null;
  readonly host?: string;
  readonly pid?: number;
  /** Bytes of the process. */
  readonly memory?: number;
  readonly steps?: number;
  readonly refused?: number;
  readonly variables?: number;
  readonly variable_bytes?: number;
  /** Name, bytes and shape of the largest variables. */
  readonly largest?: readonly (readonly [string, number, readonly number[]])[];
}

export interface DeviceTold {
  readonly task: string;
  readonly name: string;
  readonly kind: string;
  readonly in_use: number;
  readonly peak: number;
  readonly cached: number;
  readonly limit: number;
}

/** What a task has sent to another; `rate` is in bytes a second, between the last two answers. */
export interface Sent {
  readonly from: string;
  readonly to: string;
  readonly messages: number;
  readonly bytes: number;
  readonly seconds: number;
  readonly steps: number;
  readonly rate: number;
  /** Name, messages and bytes of the tensors with the most bytes. */
  readonly tensors: readonly (readonly [string, number, number])[];
}

export interface ClusterState {
  readonly tasks: readonly TaskTold[];
  readonly devices: readonly DeviceTold[];
  readonly sent: readonly Sent[];
  /** Where Dask's own dashboard is, or "". */
  readonly dashboard: string;
}

export type FromKernel =
  | { readonly type: "state"; readonly state: ClusterState }
  | { readonly type: "note"; readonly text: string };

/** Whether somebody sees the view: the kernel asks the tasks only then. */
export interface ToKernel {
  readonly type: "hello" | "bye";
}
