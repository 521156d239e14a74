// Simulates the radio link between the Moon and the console, for rehearsals: messages are sent one after the other at
// the link's data rate, arrive after the delay, and some are lost. A link that is switched off delays nothing. The page
// sends its next request when the link is free, so a slow link shows fewer pictures instead of late ones. Half of the
// rate is kept for telemetry, so that it does not wait behind pictures and ground (bulk), which have the other half.

const later = (ms, call) => (ms > 0 ? setTimeout(call, ms) : call());

export class Link {
  constructor() {
    Object.assign(this, { delayMs: 0, bitsPerSecond: Infinity, loss: 0, lost: 0, connection: 0 });
    this.freeAt = { telemetry: 0, bulk: 0 };
    this.sending = new Set(); // messages that the link has not sent completely
  }

  /** Resets the link for a new connection: messages under way belong to the one that has ended. */
  begin() {
    this.connection++;
    this.freeAt = { telemetry: 0, bulk: 0 };
    this.sending.clear();
  }

  /** Changes the data rate; what is being sent at the old one arrives at once. */
  setRate(bitsPerSecond) {
    this.bitsPerSecond = bitsPerSecond;
    this.freeAt = { telemetry: 0, bulk: 0 };
    [...this.sending].forEach((sent) => sent());
  }

  isLost() {
    const isLost = Math.random() < this.loss;
    if (isLost) this.lost++;
    return isLost;
  }

  /** Calls `show` when a message of `bytes` has arrived, unless it is lost, and `next` when its half is free again. */
  down(half, bytes, show, next) {
    const { connection } = this, now = performance.now(), isLost = this.isLost();
    this.freeAt[half] = Math.max(now, this.freeAt[half]) + (8000 * bytes) / (this.bitsPerSecond / 2);
    const sent = () => {
      if (!this.sending.delete(sent) || connection !== this.connection) return;
      if (!isLost) later(this.delayMs, () => connection === this.connection && show());
      next();
    };
    this.sending.add(sent);
    later(this.freeAt[half] - now, sent);
  }

  /** Calls `send` when a command would arrive at the rover, unless it is lost. */
  up(send) {
    const { connection } = this;
    if (!this.isLost()) later(this.delayMs, () => connection === this.connection && send());
  }
}
