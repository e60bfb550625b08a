// A walk with a sound calibrator from microphone to microphone: which one it is over, by the levels of all, and what each deviates by.

import { kReference_pa } from "./levels.js";
import { number } from "./units.js";

/**
 * The calibrator over one microphone, once.
 * @typedef {object} Reading
 * @property {number} channel
 * @property {number} deviation_db  measured level less that of the calibrator
 *
 * Readings of one microphone.
 * @typedef {object} Result
 * @property {number} channel
 * @property {number} deviation_db  mean of its readings
 * @property {number} apart_db      largest difference between them
 * @property {number} count
 *
 * Finding in one frame.
 * @typedef {object} Finding
 * @property {"waiting" | "candidate" | "refused" | "far" | "found"} kind
 * @property {number} channel   -1 if it is of no microphone
 * @property {string} text
 */

/** Least excess of the microphone under the calibrator over all others, as of `nearfield calibrate --channel auto`. */
const kAlone_db = 10;
/** Largest spread of the level for this time. */
const kSteady_db = 0.2;
const kSteady_s = 1.5;
const kFewestFrames = 4;
/** Least share of the microphone's level that is in the calibrator's band. */
const kShare = 0.9;
/** Largest deviation that needs no confirmation. */
const kFar_db = 20;
/** Time without the calibrator after which the same microphone is read again. */
const kLifted_s = 0.5;
/** Longest time between two frames of one reading. */
const kGap_s = 3;
/** Nominal centres of the third octaves in which the tone is looked for, Hz. */
export const kCentres_hz = [200, 250, 315, 400, 500, 630, 800, 1000, 1250, 1600, 2000, 2500, 3150, 4000];
/** Ratio of the limits of the bands that are judged: third octaves. */
const kThird = 1.3;

/** @param {number} power @param {number} reference */
const decibels = (power, reference) => 10 * Math.log10(power / reference);

const nominal = (/** @type {number} */ centre_hz) => kCentres_hz.find((one) => Math.abs(one / centre_hz - 1) < 0.03) ?? centre_hz;

/** @param {number} value_db */
export const signed = (value_db) => `${value_db < 0 ? "−" : "+"}${Math.abs(value_db).toFixed(2)} dB`;

/** @param {number[]} values */
export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** @param {ArrayLike<number>} values  of which the largest finite one and the second are found */
function loudestOf(values) {
  let [at, second] = [-1, -1];
  for (let i = 0; i < values.length; ++i) {
    if (!Number.isFinite(values[i])) continue;
    if (at < 0 || values[i] > values[at]) [second, at] = [at, i];
    else if (second < 0 || values[i] > values[second]) second = i;
  }
  return { at, second, above_db: second < 0 ? Infinity : decibels(values[at], values[second]) };
}

/** @param {number[][]} bands_hz @param {number} frequency_hz  whose third octave is found; -1: there is none */
export const bandOf = (bands_hz, frequency_hz) => bands_hz.findIndex(([low, high]) => high < kThird * low && low <= frequency_hz && frequency_hz < high);

export class Walk {
  /**
   * @param {number} level_db       of the calibrator, re 20 µPa
   * @param {number} frequency_hz
   */
  constructor(level_db, frequency_hz) {
    this.level_db = level_db;
    this.frequency_hz = frequency_hz;
    this.reference = kReference_pa ** 2 * 10 ** (level_db / 10);
    /** @type {Reading[]} */
    this.readings = [];
    /** @type {Finding} */
    this.finding = { kind: "waiting", channel: -1, text: "" };
    /** @type {{time_s: number, power: number}[]} latest levels of the candidate */
    this.span = [];
    this.candidate = -1;
    /** The microphone that was read last, until the calibrator is lifted; -1: none. */
    this.held = -1;
    this.heldAt_s = NaN;
    /** The microphone whose large deviation is confirmed; -1: none. */
    this.confirmed = -1;
    /** The last large deviation that was confirmed, dB: others near it need no confirmation. */
    this.usual_db = 0;
    /** @type {(channel: number) => boolean} true if a microphone is at full scale */
    this.isOver = () => false;
  }

  /** @param {import("./levels.js").BandFrame} frame */
  take(frame) {
    this.finding = this.#judge(frame);
    const isHeld = this.finding.kind !== "waiting" && this.finding.channel === this.held;
    if (isHeld) this.heldAt_s = frame.time_s;
    else if (!(frame.time_s - this.heldAt_s < kLifted_s)) this.held = -1;
    if (this.finding.channel !== this.confirmed) this.confirmed = -1;
  }

  /**
   * @param {import("./levels.js").BandFrame} frame
   * @returns {Finding}
   */
  #judge({ time_s, channels, bands_hz, bands, level }) {
    const band = bands[bandOf(bands_hz, this.frequency_hz)];
    const [inBand, inAll] = [loudestOf(band), loudestOf(level)];
    const isNear = (/** @type {number} */ power) => decibels(power, this.reference) > Math.min(0, this.usual_db) - kFar_db;
    const refused = (/** @type {number} */ at, /** @type {string} */ text) => {
      this.#forget();
      return /** @type {Finding} */ ({ kind: "refused", channel: channels[at], text });
    };
    const waiting = () => {
      this.#forget();
      return /** @type {Finding} */ ({ kind: "waiting", channel: -1, text: `Put the calibrator on ${this.readings.length === 0 ? "a" : "another"} microphone.` });
    };
    if (inBand.at < 0 || !(level[inAll.at] > 0)) return waiting();
    for (const { at, above_db } of [inAll, inBand]) {
      if (band[at] >= kShare * level[at] || above_db < kAlone_db || !isNear(level[at])) continue;
      return refused(at, `This is no calibrator of ${number(this.frequency_hz)} Hz: ${this.#elsewhere(bands_hz, bands, level[at], at)} of microphone ${channels[at]}.`);
    }
    if (inBand.above_db < kAlone_db) {
      if (!isNear(band[inBand.at])) return waiting();
      return refused(inBand.at, `Not alone: microphone ${channels[inBand.second]} is only ${inBand.above_db.toFixed(1)} dB below microphone ${channels[inBand.at]}, and ${kAlone_db} dB are needed.`);
    }
    if (band[inBand.at] < kShare * level[inBand.at]) return waiting();
    return this.#listen(time_s, channels[inBand.at], band[inBand.at]);
  }

  /**
   * Words on where most of a level is.
   * @param {number[][]} bands_hz
   * @param {ArrayLike<number>[]} bands
   * @param {number} level
   * @param {number} at
   */
  #elsewhere(bands_hz, bands, level, at) {
    const thirds = bands_hz.map(([low, high], i) => ({ centre_hz: Math.sqrt(low * high), power: high < kThird * low ? bands[i][at] : 0 }));
    const most = thirds.reduce((a, b) => (b.power > a.power ? b : a));
    const own = bands[bandOf(bands_hz, this.frequency_hz)][at];
    return most.power > level / 2 && most.power !== own ? `the band of ${number(nominal(most.centre_hz), 3)} Hz has most of the level`
      : `its band has ${Math.round((100 * own) / level)} % of the level`;
  }

  /**
   * Takes the level of the one microphone that may have the calibrator.
   * @param {number} time_s
   * @param {number} channel
   * @param {number} power
   * @returns {Finding}
   */
  #listen(time_s, channel, power) {
    const last = this.span[this.span.length - 1];
    if (channel !== this.candidate || (last && time_s - last.time_s > kGap_s)) this.#forget();
    this.candidate = channel;
    this.span.push({ time_s, power });
    while (this.span.length > 2 && this.span[1].time_s <= time_s - kSteady_s) this.span.shift();
    if (channel === this.held) return { kind: "found", channel, text: `Microphone ${channel}: ${this.#text(channel)}. Now put the calibrator on another one.` };
    if (this.isOver(channel)) return { kind: "refused", channel, text: `Microphone ${channel} is at full scale: its level is not known.` };
    const powers = this.span.map((one) => one.power);
    const spread_db = decibels(Math.max(...powers), Math.min(...powers));
    const heard_s = time_s - this.span[0].time_s;
    if (heard_s < kSteady_s || powers.length < kFewestFrames) return { kind: "candidate", channel, text: `Microphone ${channel}: hold still …` };
    if (spread_db > kSteady_db) {
      return { kind: "refused", channel, text: `Not steady: the level of microphone ${channel} varied by ${spread_db.toFixed(2)} dB in ${heard_s.toFixed(1)} s, and less than ${kSteady_db} dB are needed.` };
    }
    // The median: the calibrator may have come within the first window.
    const deviation_db = decibels(median(powers), this.reference);
    const isFar = Math.min(Math.abs(deviation_db), Math.abs(deviation_db - this.usual_db)) > kFar_db;
    if (isFar && this.confirmed !== channel) {
      const way = deviation_db < 0 ? "below" : "above";
      return { kind: "far", channel, text: `Microphone ${channel} has a steady tone, but ${Math.abs(deviation_db).toFixed(1)} dB ${way} ${number(this.level_db)} dB by its present sensitivity. Take it only if the calibrator is on it.` };
    }
    if (isFar) this.usual_db = deviation_db;
    this.readings.push({ channel, deviation_db });
    this.held = channel;
    return { kind: "found", channel, text: `Microphone ${channel}: ${this.#text(channel)}.` };
  }

  #forget() {
    this.span = [];
    this.candidate = -1;
  }

  /** @param {number} channel */
  #text(channel) {
    const result = this.results().find((one) => one.channel === channel);
    if (!result) return "undone";
    return `${signed(result.deviation_db)}${result.count > 1 ? `, ${result.count} times, at most ${result.apart_db.toFixed(2)} dB apart` : ""}`;
  }

  /** Takes the tone that is far from the present sensitivity. */
  confirm() {
    this.confirmed = this.finding.kind === "far" ? this.finding.channel : -1;
  }

  undo() {
    this.readings.pop();
  }

  /** @returns {Result[]} in the order of the microphones */
  results() {
    /** @type {Map<number, number[]>} */
    const all = new Map();
    for (const { channel, deviation_db } of this.readings) all.set(channel, [...(all.get(channel) ?? []), deviation_db]);
    return [...all].sort(([a], [b]) => a - b).map(([channel, values]) => ({
      channel, count: values.length, deviation_db: values.reduce((sum, one) => sum + one, 0) / values.length, apart_db: Math.max(...values) - Math.min(...values),
    }));
  }

  /** Median and spread of the microphones' deviations, dB; null before the first one. */
  summary() {
    const values = this.results().map((one) => one.deviation_db);
    return values.length > 0 ? { median_db: median(values), spread_db: Math.max(...values) - Math.min(...values) } : null;
  }
}
