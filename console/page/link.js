// The way between a rover and those who watch it, for rehearsals: messages take the time that their bytes need, one after
// the other, and then the delay; some are lost. A link that is switched off holds nothing back. The page asks again when
// the way is free, so a thin link shows fewer pictures instead of late ones.

const later = (ms, call) => (ms > 0 ? setTimeout(call, ms) : call());

export class Link {
  constructor() {
    Object.assign(this, { delayMs: 0, bitsPerSecond: Infinity, loss: 0, freeAt: 0, lost: 0, connection: 0 });
  }

  /** Begins anew: what is on the way belongs to a connection that has ended. */
  begin() {
    this.connection++;
    this.freeAt = 0;
  }

  isLost() {
    const isLost = Math.random() < this.loss;
    if (isLost) this.lost++;
    return isLost;
  }

  /** Calls `show` when so many bytes have come over, unless they are lost, and `next` when others may follow. */
  down(bytes, show, next) {
    const { connection } = this, now = performance.now();
    this.freeAt = Math.max(now, this.freeAt) + (8000 * bytes) / this.bitsPerSecond;
    const waits = this.freeAt - now, call = (what) => () => connection === this.connection && what();
    if (!this.isLost()) later(waits + this.delayMs, call(show));
    later(waits, call(next));
  }

  /** Calls `send` when what is said to the rover is there, unless it is lost. */
  up(send) {
    const { connection } = this;
    if (!this.isLost()) later(this.delayMs, () => connection === this.connection && send());
  }
}
