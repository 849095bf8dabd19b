// Generated from tfnb/notebook/protocol/cluster.py by scripts/browser_protocol.py.
//
// The messages of `tf.show_cluster`: the state of the tasks, of which `tfnb.session.dask` sends reports.

export type TaskState = "alive" | "late" | "lost";

/** A task that never answered has only the required fields. */
export interface TaskReport {
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
  readonly name: string;
  readonly job: string;
  readonly index: number;
  readonly address: string;
  readonly state: TaskState;
  /** Why it is lost, or "". */
  readonly why: string;
  /** How many processes have had the role. */
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
  readonly tasks: readonly TaskReport[];
  readonly devices: readonly DeviceReport[];
  readonly sent: readonly Sent[];
  /** The address of Dask's own dashboard, or "". */
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

/** Whether the view is visible: the kernel asks the tasks only then. */
export interface ToKernel {
  readonly type: "hello" | "bye";
}
