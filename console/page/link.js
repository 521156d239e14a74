// Simulates the radio link between the Moon and the console, for rehearsals: messages are sent one after the other at
// the link's data rate, arrive after the delay, and some are lost. A link that is switched off delays nothing. The page
// sends its next request when the link is free, so a slow link shows fewer pictures instead of late ones.

const later = (ms, call) => (ms > 0 ? setTimeout(call, ms) : call());

export class Link {
  constructor() {
    Object.assign(this, { delayMs: 0, bitsPerSecond: Infinity, loss: 0, freeAt: 0, lost: 0, connection: 0 });
  }

  /** Resets the link for a new connection: messages under way belong to the one that has ended. */
  begin() {
    this.connection++;
    this.freeAt = 0;
  }

  isLost() {
    const isLost = Math.random() < this.loss;
    if (isLost) this.lost++;
    return isLost;
  }

  /** Calls `show` when a message of `bytes` has arrived, unless it is lost, and `next` when the link is free again. */
  down(bytes, show, next) {
    const { connection } = this, now = performance.now();
    this.freeAt = Math.max(now, this.freeAt) + (8000 * bytes) / this.bitsPerSecond;
    const waits = this.freeAt - now, call = (what) => () => connection === this.connection && what();
    if (!this.isLost()) later(waits + this.delayMs, call(show));
    later(waits, call(next));
  }

  /** Calls `send` when a command would arrive at the rover, unless it is lost. */
  up(send) {
    const { connection } = this;
    if (!this.isLost()) later(this.delayMs, () => connection === this.connection && send());
  }
}
