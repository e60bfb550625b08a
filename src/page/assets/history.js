// The pictures of the last minute, in bounded memory, to freeze and go back.

/** @typedef {import("./picture.js").Picture} Picture */

export const kSeconds = 60;
export const kMostBytes = 96 * 1024 * 1024;

export class History {
  /** @param {number} mostBytes */
  constructor(mostBytes = kMostBytes) {
    this.mostBytes = mostBytes;
    /** @type {Picture[]} oldest first */
    this.pictures = [];
    this.bytes = 0;
    this.first = 0;
  }

  /** @param {Picture} picture */
  add(picture) {
    this.pictures.push(picture);
    this.bytes += picture.bytes;
    const oldest_ms = picture.received_ms - 1000 * kSeconds;
    while (this.first < this.pictures.length - 1 && this.pictures[this.first].received_ms < oldest_ms) this.#drop();
    if (this.bytes > this.mostBytes) this.#thin();
    while (this.first < this.pictures.length - 1 && this.bytes > this.mostBytes) this.#drop();
    const kDropped = 512;  // removed from the array's begin at once: each removal moves all others
    if (this.first >= kDropped) {
      this.pictures.splice(0, this.first);
      this.first = 0;
    } else if (this.first > 0) {
      // Dropped pictures must not stay in memory.
      for (let i = this.first - 1; i >= 0 && this.pictures[i]; --i) delete this.pictures[i];
    }
  }

  /** Removes the oldest picture. */
  #drop() {
    this.bytes -= this.pictures[this.first].bytes;
    this.first += 1;
  }

  /** Removes half of the older half, always the picture whose neighbours are nearest in time: the minute remains, without a large gap. */
  #thin() {
    const kept = this.pictures.slice(this.first);
    let end = kept.length >> 1;
    for (let more = end >> 1; more > 0; --more, --end) {
      let nearest = 1;
      const gapAt = (/** @type {number} */ i) => kept[i + 1].received_ms - kept[i - 1].received_ms;
      for (let i = 2; i < end; ++i) if (gapAt(i) < gapAt(nearest)) nearest = i;
      kept.splice(nearest, 1);
    }
    this.pictures = kept;
    this.first = 0;
    this.bytes = kept.reduce((sum, picture) => sum + picture.bytes, 0);
  }

  get length() {
    return this.pictures.length - this.first;
  }

  /** @param {number} index  0 is the oldest */
  at(index) {
    return this.pictures[this.first + index];
  }

  clear() {
    this.pictures = [];
    this.first = 0;
    this.bytes = 0;
  }

  /** The seconds between the oldest and the newest picture. */
  get seconds() {
    return this.length < 2 ? 0 : (this.at(this.length - 1).received_ms - this.at(0).received_ms) / 1000;
  }

  /**
   * The pictures of the last seconds before and with one of them.
   * @param {number} index
   * @param {number} seconds
   */
  before(index, seconds) {
    const last = this.at(index);
    const result = [];
    for (let i = index; i >= 0; --i) {
      if (this.at(i).head.capture_mono_ms < last.head.capture_mono_ms - 1000 * seconds) break;
      result.unshift(this.at(i));
    }
    return result;
  }
}
