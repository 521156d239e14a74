// Records sessions of the console in files and plays them back. A file holds the server's messages, each as a record:
// its time (f64, ms since the recording began), whether it is text (u8: 0 or 1), its number of bytes (u32) and the
// bytes; numbers are little-endian.

const MAGIC = "selene console session 1\n";
const HEAD_BYTES = 13;
/** Size at which a recording ends by itself, as it stays in memory until it is saved. */
export const BYTES_MAX = 400_000_000;

export class Recorder {
  constructor() {
    this.parts = [MAGIC];
    this.bytes = MAGIC.length;
    this.begun = performance.now();
  }

  /** Appends a message, a string or an ArrayBuffer; returns false if the recording is full. */
  keep(data) {
    const body = typeof data === "string" ? new TextEncoder().encode(data) : new Uint8Array(data.slice(0));
    if (this.bytes + HEAD_BYTES + body.length > BYTES_MAX) return false;
    const head = new DataView(new ArrayBuffer(HEAD_BYTES));
    head.setFloat64(0, performance.now() - this.begun, true);
    head.setUint8(8, typeof data === "string" ? 1 : 0);
    head.setUint32(9, body.length, true);
    this.parts.push(head.buffer, body);
    this.bytes += HEAD_BYTES + body.length;
    return true;
  }

  file() {
    return new Blob(this.parts, { type: "application/octet-stream" });
  }
}

/** The messages of a file in order, each with its time in ms. Throws an error that says what is wrong with the file. */
export function read(buffer) {
  const bytes = new Uint8Array(buffer), view = new DataView(buffer), text = new TextDecoder();
  if (text.decode(bytes.subarray(0, MAGIC.length)) !== MAGIC) throw new Error("is no session of this console");
  const messages = [];
  for (let at = MAGIC.length; at < bytes.length;) {
    const end = at + HEAD_BYTES <= bytes.length ? at + HEAD_BYTES + view.getUint32(at + 9, true) : Infinity;
    if (end > bytes.length) throw new Error(`ends within message ${messages.length + 1}: it was not saved whole`);
    const ms = view.getFloat64(at, true), body = buffer.slice(at + HEAD_BYTES, end), isText = view.getUint8(at + 8) === 1;
    if (!(ms >= (messages.at(-1)?.ms ?? 0))) throw new Error(`message ${messages.length + 1} comes before the one before it`);
    messages.push({ ms, data: isText ? text.decode(body) : body });
    at = end;
  }
  if (!messages.length) throw new Error("has no message");
  return messages;
}

/** Plays messages back: calls `show` with the list of messages that are due. */
export class Player {
  constructor(messages, show) {
    Object.assign(this, { messages, show, next: 0, ms: 0, isPlaying: true, since: performance.now() });
  }

  get lengthMs() { return this.messages.at(-1).ms; }

  /** Advances by the time that has passed since the last call. */
  tick() {
    const now = performance.now();
    if (this.isPlaying) this.ms = Math.min(this.lengthMs, this.ms + now - this.since);
    this.since = now;
    const from = this.next;
    while (this.next < this.messages.length && this.messages[this.next].ms <= this.ms) this.next++;
    this.show(this.messages.slice(from, this.next).map(({ data }) => data));
  }

  /** Goes to an instant; to go back, all messages before it are played again from the beginning. */
  seek(ms) {
    if (ms < this.ms) this.next = 0;
    this.ms = ms;
  }
}
