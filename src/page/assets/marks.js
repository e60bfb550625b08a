// Marks on the picture: cursors, peaks, and the sources that a processor has found.

import { axisOf, sizeOf } from "./picture.js";
import { finderFor, known, view } from "./store.js";
import { levelOf, levelRule, number } from "./units.js";
import { peaksOf, pixelAt } from "./values.js";

/**
 * @typedef {import("./picture.js").Picture} Picture
 * @typedef {{x: number, y: number, z: number}} Source   a place, m, or a direction's cosines; negative z before the array
 */

const kDegrees = 180 / Math.PI;

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
function placeOnMap(source, isDirection, picture, standoff_m) {
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

/**
 * The table of the sources that are drawn over a picture.
 * @param {Picture} picture
 */
export const sourcesAt = (picture) => known.sources.at(picture, finderFor(picture.layout.processor));

/** @param {Picture} picture @param {Float32Array} values @returns {import("./stage.js").Mark[]} */
export function marksOf(picture, values) {
  const grid = picture.grid;
  if (!grid) return [];
  /** @type {import("./stage.js").Mark[]} */
  const marks = [];
  const table = sourcesAt(picture);
  table?.table.x?.forEach((x, i) => {
    const { id, y, z, level_db, confidence } = table.table;
    const isDirection = table.product.columns.find((column) => column.name === "x")?.unit !== "m";
    const place = placeOnMap({ x, y: y?.[i], z: z?.[i] }, isDirection, picture, known.standoff_m);
    if (!place || !pixelAt(grid, place.x, place.y)) return;
    const words = [level_db ? `${number(level_db[i], 3)} dB` : "", confidence ? `${Math.round(100 * confidence[i])} %` : ""];
    marks.push({ ...place, text: `${id?.[i] ?? i + 1}: ${words.filter((text) => text !== "").join(", ")}`, kind: "source" });
  });
  if (view.choice.showPeaks) {
    const rule = levelRule(picture.product);
    for (const peak of peaksOf(grid, values, 6)) {
      const text = rule ? `${number(levelOf(rule, peak.magnitude), 4)} dB` : number(peak.magnitude);
      marks.push({ x: grid.across.values[peak.column], y: grid.down.values[peak.row], text, kind: "peak" });
    }
  }
  view.cursors.forEach(({ x, y }, i) => marks.push({ x, y, text: i === 0 ? "A" : "B", kind: i === 0 ? "cursor" : "second" }));
  return marks;
}
