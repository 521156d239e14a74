// A session as a file: what the server told, message by message, and when. A record is its time (f64, ms since the first
// one), whether it is text (u8: 0 or 1), its bytes' number (u32) and its bytes; numbers are little-endian.

const MAGIC = "selene console session 1\n";
const HEAD_BYTES = 13;
/** A longer recording ends by itself: it is kept in memory until it is saved. */
export const BYTES_MAX = 400_000_000;

export class Recorder {
  constructor() {
    this.parts = [MAGIC];
    this.bytes = MAGIC.length;
    this.begun = performance.now();
  }

  /** Keeps a message, a string or an ArrayBuffer; whether there was room. */
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

/** The messages of a file in order: when, in ms, and what. Throws what is wrong with it. */
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

/** Plays messages back: `show` takes a list of those whose time has come. */
export class Player {
  constructor(messages, show) {
    Object.assign(this, { messages, show, next: 0, ms: 0, isPlaying: true, since: performance.now() });
  }

  get lengthMs() { return this.messages.at(-1).ms; }

  /** Goes on by the time that has passed. */
  tick() {
    const now = performance.now();
    if (this.isPlaying) this.ms = Math.min(this.lengthMs, this.ms + now - this.since);
    this.since = now;
    const from = this.next;
    while (this.next < this.messages.length && this.messages[this.next].ms <= this.ms) this.next++;
    this.show(this.messages.slice(from, this.next).map(({ data }) => data));
  }

  /** Goes to an instant; what was told before it is told again from the beginning if it lies behind. */
  seek(ms) {
    if (ms < this.ms) this.next = 0;
    this.ms = ms;
  }
}
