// Generated from tfnb/notebook/protocol/cluster.py by scripts/browser_protocol.py.
//
// The messages of `tf.show_cluster`: the state of the tasks, out of the reports of `tfnb.session.dask`.

export type TaskState = "alive" | "late" | "lost";

/** The state of a task. Only the required fields are present if the task has never answered. */
export interface TaskReport {
  readonly host?: string;
  readonly pid?: number;
  /** Memory of the process in bytes. */
  readonly memory?: number;
  readonly steps?: number;
  readonly refused?: number;
  readonly variables?: number;
  readonly variable_bytes?: number;
  /** Name, bytes and shape of the largest variables. */
  readonly largest?: readonly (readonly [string, number, readonly number[]])[];
  readonly name: string;
  readonly job: string;
  readonly index: number;
  readonly address: string;
  readonly state: TaskState;
  /** Why the task is lost, or "". */
  readonly why: string;
  /** How many processes have run this task so far. */
  readonly lives: number;
  /** Seconds since its last answer, null before the first. */
  readonly silent: number | null;
}

export interface DeviceReport {
  readonly task: string;
  readonly name: string;
  readonly kind: string;
  readonly in_use: number;
  readonly peak: number;
  readonly cached: number;
  readonly limit: number;
}

/**
 * The transfers from one task to another; `rate` is in bytes per second, between the last two
 * reports.
 */
export interface Sent {
  readonly from: string;
  readonly to: string;
  readonly messages: number;
  readonly bytes: number;
  readonly seconds: number;
  readonly steps: number;
  readonly rate: number;
  /** For the tensors with the most bytes: name, number of messages, bytes. */
  readonly tensors: readonly (readonly [string, number, number])[];
}

export interface ClusterState {
  readonly tasks: readonly TaskReport[];
  readonly devices: readonly DeviceReport[];
  readonly sent: readonly Sent[];
  /** The address of Dask's dashboard, or "". */
  readonly dashboard: string;
}

export interface StateMessage {
  readonly type: "state";
  readonly state: ClusterState;
}

export interface NoteMessage {
  readonly type: "note";
  readonly text: string;
}

export type FromKernel = StateMessage | NoteMessage;

/** Whether the view is visible; the kernel polls the tasks only while it is. */
export interface ToKernel {
  readonly type: "hello" | "bye";
}
