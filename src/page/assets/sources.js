// Sources that a processor has found: the tables of the last minute, and the places of their rows on a map.

import { axisOf, sizeOf } from "./picture.js";
import { kSeconds } from "./history.js";

/**
 * @typedef {import("./picture.js").Picture} Picture
 * @typedef {{x: number, y: number, z: number}} Source   a place, m, or a direction's cosines; negative z before the array
 */

/** Largest distance in time between the windows of a table and of its picture: tables may be rarer than pictures. */
const kTogether_ms = 100;
const kDegrees = 180 / Math.PI;

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

/**
 * The entry of an axis that a picture shows; null if it has no such axis.
 * @param {Picture} picture
 * @param {string} name
 */
function chosenOf(picture, name) {
  const axis = axisOf(picture.layout, name);
  const index = picture.layout.select[name];
  if (!axis || index === undefined || !picture.product.axes.includes(name) || sizeOf(axis) <= index) return null;
  const value = axis.values[index];
  return { value, isNearest: (/** @type {number} */ other) => axis.values.every((entry) => Math.abs(entry - other) >= Math.abs(value - other)) };
}

/**
 * Place of a source on a picture's plane, in the units of its axes; null if it is not on it, or if that is unknown.
 * @param {Source} source
 * @param {boolean} isDirection
 * @param {Picture} picture
 * @param {number} standoff_m   distance from the plane z = 0 to the array; NaN: unknown
 * @returns {{x: number, y: number} | null}
 */
export function placeOnMap(source, isDirection, picture, standoff_m) {
  const { x, y } = source;
  const z = isDirection ? source.z : source.z - standoff_m;
  const radius = chosenOf(picture, "radius");
  const distance = radius ?? chosenOf(picture, "distance");
  if (picture.grid?.across.name === "x") {
    if (isDirection) return distance && z < 0 ? { x: (x * distance.value) / -z, y: (y * distance.value) / -z } : null;
    return !distance || distance.isNearest(-z) ? { x, y } : null;
  }
  const range = Math.hypot(x, y, z);
  if (!(range > 0) || (distance && !isDirection && !distance.isNearest(range))) return null;
  if (radius) return { x: Math.atan2(y, x) * kDegrees, y: Math.asin(-z / range) * kDegrees };
  return { x: Math.asin(x / range) * kDegrees, y: Math.asin(y / range) * kDegrees };
}
