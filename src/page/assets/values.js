// Computations on the values of a field: pixels, levels, peaks, holds, cursors.

import { edgesOf } from "./picture.js";
import { isSigned, levelOf, levelRule } from "./units.js";

/**
 * @typedef {import("./picture.js").Grid} Grid
 * @typedef {import("./picture.js").Picture} Picture
 * @typedef {import("./picture.js").Product} Product
 */

/**
 * The pixel at a place of the field; null outside.
 * @param {Grid} grid
 * @param {number} x
 * @param {number} y
 */
export function pixelAt(grid, x, y) {
  const index = (/** @type {import("./picture.js").Axis} */ axis, /** @type {number} */ count, /** @type {number} */ value) => {
    const [first, last] = edgesOf(axis);
    return Math.floor(((value - first) / (last - first)) * count);
  };
  const column = index(grid.across, grid.columns, x);
  const row = index(grid.down, grid.rows, y);
  return column >= 0 && column < grid.columns && row >= 0 && row < grid.rows ? { column, row } : null;
}

/** @param {Float32Array} pairs @param {number} index @returns {number} */
export const magnitudeAt = (pairs, index) => Math.hypot(pairs[2 * index], pairs[2 * index + 1]);

/**
 * The smallest and the largest magnitude; NaN if there is no number.
 * @param {Float32Array} pairs
 */
export function rangeOf(pairs) {
  let [least, most] = [NaN, NaN];
  for (let i = 0; i < pairs.length / 2; ++i) {
    const magnitude = magnitudeAt(pairs, i);
    if (!Number.isFinite(magnitude)) continue;
    if (!(magnitude >= least)) least = magnitude;
    if (!(magnitude <= most)) most = magnitude;
  }
  return { least, most };
}

/**
 * Pixels that are larger than their eight neighbours, largest first.
 * @param {Grid} grid
 * @param {Float32Array} pairs
 * @param {number} most
 */
export function peaksOf(grid, pairs, most) {
  const { columns, rows } = grid;
  const magnitudes = new Float32Array(columns * rows);
  for (let i = 0; i < magnitudes.length; ++i) magnitudes[i] = magnitudeAt(pairs, i);
  const peaks = [];
  for (let row = 0; row < rows; ++row) {
    for (let column = 0; column < columns; ++column) {
      const magnitude = magnitudes[row * columns + column];
      if (!(magnitude > 0)) continue;
      let isPeak = true;
      for (let i = Math.max(0, row - 1); isPeak && i <= Math.min(rows - 1, row + 1); ++i) {
        for (let k = Math.max(0, column - 1); k <= Math.min(columns - 1, column + 1); ++k) {
          if (magnitudes[i * columns + k] > magnitude) isPeak = false;
        }
      }
      if (isPeak) peaks.push({ column, row, magnitude });
    }
  }
  peaks.sort((a, b) => b.magnitude - a.magnitude);
  return peaks.slice(0, most);
}

/** Maximum and mean of the pictures received since its begin. */
export class Hold {
  constructor() {
    this.count = 0;
    this.maximum = new Float32Array();
    this.sums = new Float64Array();
    this.first_ms = 0;
  }

  reset() {
    this.count = 0;
  }

  /** @param {Picture} picture */
  add(picture) {
    const values = picture.values;
    if (this.count === 0 || this.maximum.length !== values.length) {
      this.count = 0;
      this.maximum = new Float32Array(values.length);
      this.sums = new Float64Array(values.length / 2);
      this.first_ms = performance.now();
    }
    this.count += 1;
    this.meansValues = isSigned(picture.product) || levelRule(picture.product)?.perDecade !== 20;
    for (let i = 0; i < values.length; i += 2) {
      const power = values[i] * values[i] + values[i + 1] * values[i + 1];
      const held = this.maximum[i] * this.maximum[i] + this.maximum[i + 1] * this.maximum[i + 1];
      if (power > held) {
        this.maximum[i] = values[i];
        this.maximum[i + 1] = values[i + 1];
      }
      this.sums[i / 2] += this.meansValues ? values[i] : power;
    }
  }

  /** Pairs of the means: arithmetic for powers, root mean square for amplitudes. */
  mean() {
    const pairs = new Float32Array(this.maximum.length);
    for (let i = 0; i < this.sums.length; ++i) {
      const mean = this.sums[i] / this.count;
      pairs[2 * i] = this.meansValues ? mean : Math.sqrt(mean);
    }
    return pairs;
  }
}

/**
 * Value and level of a pixel.
 * @param {Product} product
 * @param {Float32Array} pairs
 * @param {number} index
 */
export function readingOf(product, pairs, index) {
  const rule = levelRule(product);
  const re = pairs[2 * index];
  const im = pairs[2 * index + 1];
  const magnitude = Math.hypot(re, im);
  const isComplex = product.type === "complex64" && !isSigned(product);
  return {
    re, im, magnitude, isComplex,
    value: isComplex ? magnitude : re,
    level_db: rule ? levelOf(rule, magnitude) : NaN,
    phase_deg: isComplex ? (Math.atan2(im, re) * 180) / Math.PI : NaN,
  };
}
