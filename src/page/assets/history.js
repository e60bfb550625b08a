// The last minute: its pictures, in bounded memory, to freeze and go back, and the tables of the sources that were found.

/** @typedef {import("./picture.js").Picture} Picture */

const kSeconds = 60;
export const kMostBytes = 96 * 1024 * 1024;
/** Largest distance in time between the windows of a table and of its picture: tables may be rarer than pictures. */
const kTogether_ms = 100;

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
    const from_ms = this.at(index).head.capture_mono_ms - 1000 * seconds;
    return this.pictures.slice(this.first, this.first + index + 1).filter(({ head }) => head.capture_mono_ms >= from_ms);
  }
}

export class Sources {
  constructor() {
    /** @type {Picture[]} oldest first */
    this.tables = [];
  }

  /** @param {Picture} table */
  add(table) {
    this.tables.push(table);
    const oldest_ms = table.received_ms - 1000 * kSeconds;
    let old = 0;
    while (this.tables[old].received_ms < oldest_ms) old += 1;
    this.tables.splice(0, old);
  }

  /**
   * The table of a processor that is nearest in time to a picture; null if none is near.
   * @param {Picture} picture
   * @param {string} processor
   */
  at(picture, processor) {
    let best = null;
    let least_ms = kTogether_ms;
    for (const table of this.tables) {
      if (table.layout.processor !== processor || table.head.epoch !== picture.head.epoch) continue;
      const apart_ms = Math.abs(table.head.capture_mono_ms - picture.head.capture_mono_ms);
      if (apart_ms > least_ms) continue;
      least_ms = apart_ms;
      best = table;
    }
    return best;
  }
}
