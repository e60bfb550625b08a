// Levels, peaks and offsets of all microphones, as a processor of kind levels gives them, weighted by time and held.

import { axisOf, sizeOf } from "./picture.js";
import { known, view } from "./store.js";
import { settingIn } from "./units.js";

/**
 * Levels of all channels in the bands of one frame.
 * @typedef {object} BandFrame
 * @property {number} time_s             of the frame, by the daemon's clock
 * @property {number} number             of the frame
 * @property {number[]} channels         numbers of the microphones
 * @property {number[][]} bands_hz       lower and upper limit of each band
 * @property {ArrayLike<number>[]} bands  [band][microphone], Pa^2
 * @property {ArrayLike<number>} level   [microphone], Pa^2, of all frequencies
 */

const kProducts = ["level", "peak", "offset"];
/** Names of the axis of microphones. */
const kChannels = ["channel", "microphone"];
/** Time constants of fast and slow, IEC 61672-1. */
export const kFast_s = 0.125;
export const kSlow_s = 1;
export const kReference_pa = 20e-6;
/** Share of full scale from which on a peak counts as clipped, as in the daemon. */
const kClip = 0.95;
/** What one sample of bits or of integers is at most; other samples, floating-point numbers, have no full scale. */
const kIntegers = ["s16", "s24", "s32"];

/** @param {number} power  Pa^2 */
export const powerLevel = (power) => 10 * Math.log10(power / kReference_pa ** 2);

/** @param {string} name  of a processor */
function hasLevels(name) {
  const products = known.layouts.get(name)?.products ?? [];
  return kProducts.every((wanted) => products.some((product) => product.name === wanted && kChannels.includes(product.axes.join())));
}

/** @param {import("./picture.js").Product} product  true if its values are of single microphones, and no curve */
export const isOfMicrophones = (product) => product.axes.some((axis) => kChannels.includes(axis));

/** The processor whose levels are shown: "meters", or else the first one; empty if there is none. */
export const metersOf = () => ["meters", ...known.processors].find((name) => known.processors.includes(name) && hasLevels(name)) ?? "";

/** @type {boolean | null} */
let ofSamples = null;

/** True if the input is samples, false if it is bits, null if the daemon has never said it. A status may be missing for a moment. */
export function isOfSamples() {
  if (known.status?.counted_in) ofSamples = known.status.counted_in === "samples";
  return ofSamples;
}

/** Peak of full scale, Pa; NaN where the daemon does not know it. */
export function fullScale_pa() {
  const setting = (/** @type {string} */ key) => Number.parseFloat(settingIn(known.config, "array", key));
  if (isOfSamples() === false) return Math.SQRT2 * 10 ** (-setting("sensitivity_dbfs") / 20);
  const isInteger = settingIn(known.config, "daemon", "kind") === "audio" || kIntegers.includes(settingIn(known.config, "daemon", "format"));
  return isOfSamples() && isInteger ? (Number.isNaN(setting("pascal_per_unit")) ? 1 : setting("pascal_per_unit")) : NaN;
}

/** What the values in pascal depend on: they cannot be compared with those of another text. */
export const scaleText = () => [...["sensitivity_dbfs", "pascal_per_unit", "calibration"].map((key) => settingIn(known.config, "array", key)), ...known.channels].join();

/** @param {number} count */
const unknowns = (count) => new Float64Array(count).fill(NaN);

class Meters {
  constructor() {
    /** @type {number[]} numbers of the microphones, in the order of all arrays here */
    this.channels = [];
    /** Mean squares of the newest window, and weighted by fast and slow, Pa^2. */
    this.level = { window: unknowns(0), fast: unknowns(0), slow: unknowns(0) };
    this.peak_pa = unknowns(0);
    this.offset_pa = unknowns(0);
    /** Largest peaks since the holds began. */
    this.hold_pa = unknowns(0);
    this.isOver = new Uint8Array();
    /** Largest level of all windows and microphones since then, Pa^2. */
    this.most = 0;
    this.since = new Date();
    /** Frames that the holds are of, and those between them that this page has not received. */
    this.frames = 0;
    this.missed = 0;
    /** Peak from which on a microphone counts as overloaded, Pa, as the user sets it; NaN: by full scale. */
    this.limit_pa = NaN;
    /** True if the bands of each frame are wanted. */
    this.wantsBands = false;
    /** @type {(frame: BandFrame) => void} */
    this.onBands = () => {};
    /** True if something was not drawn yet. */
    this.isUndrawn = false;
    this.scale = "";
    this.time_s = NaN;
    this.number = NaN;
    this.levelNumber = NaN;
    /** @type {Omit<BandFrame, "level"> | null} bands whose levels are on their way */
    this.bands = null;
  }

  /** @param {number[]} channels */
  begin(channels) {
    const count = channels.length;
    Object.assign(this, {
      channels, level: { window: unknowns(count), fast: unknowns(count), slow: unknowns(count) }, peak_pa: unknowns(count),
      offset_pa: unknowns(count), time_s: NaN, number: NaN, levelNumber: NaN, bands: null,
    });
    this.clear();
  }

  /** Lets go of the peaks and overloads that are held. */
  clear() {
    const count = this.channels.length;
    Object.assign(this, { hold_pa: unknowns(count), isOver: new Uint8Array(count), most: 0, frames: 0, missed: 0, since: new Date(), isUndrawn: true });
  }

  /** The products that the page needs now. */
  wanted() {
    const name = metersOf();
    if (!name || !view.open.has("meters-panel")) return [];
    return this.wantsBands && this.bandsOf(name).length > 0 ? [...kProducts, "bands"] : kProducts;
  }

  /**
   * Lower and upper limits of the bands of a processor, Hz.
   * @param {string} name
   * @returns {number[][]}
   */
  bandsOf(name) {
    const layout = known.layouts.get(name);
    const axis = layout && layout.products.some((product) => product.name === "bands") ? axisOf(layout, "band") : null;
    return axis?.components === 2 ? Array.from({ length: sizeOf(axis) }, (_, i) => axis.values.slice(2 * i, 2 * i + 2)) : [];
  }

  limit() {
    return Number.isNaN(this.limit_pa) ? kClip * fullScale_pa() : this.limit_pa;
  }

  /** @param {import("./picture.js").Picture} picture   of one of the products */
  take({ product, layout, head, values }) {
    const axis = layout.axes.find(({ name, components }) => kChannels.includes(name) && components === 1);
    if (!axis) return;
    if (axis.values.join() !== this.channels.join() || (known.config && this.scale !== scaleText())) {
      this.scale = scaleText();
      this.begin([...axis.values]);
    }
    const time_s = head.capture_mono_ms / 1000;
    if (product.name === "offset") this.offset_pa.set(values);
    else if (product.name === "peak") this.#takePeaks(head.number, values);
    else if (product.name === "level") this.#takeLevels(time_s, values);
    else this.#takeBands(layout, product.axes[0] === "band", { time_s, number: head.number }, values);
    if (product.name === "level") this.levelNumber = head.number;
    if (this.bands && this.bands.number === this.levelNumber) {
      this.onBands({ ...this.bands, level: this.level.window });
      this.bands = null;
    }
    this.isUndrawn = true;
  }

  /** @param {number} time_s @param {ArrayLike<number>} values */
  #takeLevels(time_s, values) {
    const passed_s = time_s - this.time_s;
    this.time_s = time_s;
    this.level.window.set(values);
    for (const power of this.level.window) if (power > this.most) this.most = power;
    for (const [mean, constant_s] of /** @type {[Float64Array, number][]} */ ([[this.level.fast, kFast_s], [this.level.slow, kSlow_s]])) {
      const share = passed_s > 0 ? 1 - Math.exp(-passed_s / constant_s) : 1;
      mean.forEach((old, i) => { mean[i] = Number.isFinite(old) ? old + share * (values[i] - old) : values[i]; });
    }
  }

  /** @param {number} number  of the frame @param {ArrayLike<number>} values */
  #takePeaks(number, values) {
    this.frames += 1;
    if (number > this.number) this.missed += number - this.number - 1;
    this.number = number;
    const limit_pa = this.limit();
    this.peak_pa.set(values);
    this.peak_pa.forEach((peak, i) => {
      if (!(peak <= this.hold_pa[i])) this.hold_pa[i] = Number.isNaN(peak) ? this.hold_pa[i] : peak;
      if (peak >= limit_pa) this.isOver[i] = 1;
    });
  }

  /**
   * Keeps bands until the levels of their frame are there.
   * @param {import("./picture.js").Layout} layout
   * @param {boolean} isByBands   the microphone is the faster axis
   * @param {{time_s: number, number: number}} frame
   * @param {ArrayLike<number>} values
   */
  #takeBands(layout, isByBands, frame, values) {
    const bands_hz = this.bandsOf(layout.processor);
    const count = this.channels.length;
    const bands = bands_hz.map((_, band) => Float64Array.from({ length: count }, (__, i) => values[isByBands ? band * count + i : i * bands_hz.length + band]));
    this.bands = { ...frame, channels: this.channels, bands_hz, bands };
  }

  /**
   * Indices of the loudest and of the quietest microphone; -1 where no level is a number.
   * @param {ArrayLike<number>} level
   */
  ends(level) {
    let [loudest, quietest] = [-1, -1];
    for (let i = 0; i < level.length; ++i) {
      if (!Number.isFinite(level[i])) continue;
      if (loudest < 0 || level[i] > level[loudest]) loudest = i;
      if (quietest < 0 || level[i] < level[quietest]) quietest = i;
    }
    return { loudest, quietest };
  }
}

export const meters = new Meters();
