// How arrays arrive in messages.

/** The bytes of an array, wherever they begin in their buffer. */
export type Bytes = ArrayBufferView<ArrayBuffer>;
