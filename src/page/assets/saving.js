// Files for the user: the picture, its values, and the seconds before it.

import { entryText, axisOf } from "./picture.js";
import { readingOf } from "./values.js";
import { levelRule, number, unitText } from "./units.js";

/**
 * @typedef {import("./picture.js").Picture} Picture
 */

/**
 * The fixed axes of a picture: "frequency 1007.08 Hz, z 0 m".
 * @param {Picture} picture
 */
export function selectionText(picture) {
  return Object.entries(picture.layout.select)
    .map(([name, index]) => {
      const axis = axisOf(picture.layout, name);
      return axis ? `${name} ${entryText(axis, index)}` : "";
    })
    .filter((text) => text !== "")
    .join(", ");
}

/**
 * Capture time of the picture, by this computer's clock.
 * @param {Picture} picture
 * @param {number | null} age_ms
 */
export function timeOf(picture, age_ms) {
  const received = Date.now() - (performance.now() - picture.received_ms);
  return new Date(age_ms === null ? received : Date.now() - age_ms);
}

/**
 * The picture's values as CSV, one pixel per line.
 * @param {Picture} picture
 * @param {Float32Array} values
 * @param {Date} time
 * @param {string} held   origin of the values if they are not the picture's own: "max of 12 pictures"
 */
export function csvOf(picture, values, time, held) {
  const { product, grid } = picture;
  if (!grid) return "";
  const rule = levelRule(product);
  const unit = product.unit;
  const lines = [
    `# ${picture.layout.processor} ${product.name}: ${product.quantity} (${unit}), ${[selectionText(picture), held].filter((text) => text !== "").join(", ")}`,
    `# captured ${time.toISOString()}, CLOCK_TAI ${picture.head.capture_tai_ns} ns, sequence ${picture.head.sequence}, epoch ${picture.head.epoch}, flags ${picture.head.flags}`,
    [`${grid.across.name}_${grid.across.unit}`, `${grid.down.name}_${grid.down.unit}`, "re", "im", "magnitude", "phase_deg", rule ? `level_${rule.text.replaceAll(" ", "_")}` : "level"].join(),
  ];
  for (let row = 0, i = 0; row < grid.rows; ++row) {
    for (let column = 0; column < grid.columns; ++column, ++i) {
      const reading = readingOf(product, values, i);
      const cells = [grid.across.values[column], grid.down.values[row], reading.re, reading.im, reading.magnitude, reading.phase_deg, reading.level_db];
      lines.push(cells.map((cell) => (Number.isFinite(cell) ? Number(cell.toPrecision(7)) : "")).join());
    }
  }
  return `${lines.join("\n")}\n`;
}

/**
 * Pictures of one layout and selection as JSON.
 * @param {Picture[]} pictures
 */
export function jsonOf(pictures) {
  const last = pictures[pictures.length - 1];
  const same = pictures.filter((picture) => picture.layout === last.layout && picture.product === last.product);
  const numbers = (/** @type {number} */ first, /** @type {Float32Array} */ values) => {
    const result = [];
    for (let i = first; i < values.length; i += 2) result.push(Number.isFinite(values[i]) ? Number(values[i].toPrecision(7)) : null);
    return result;
  };
  return JSON.stringify({
    processor: last.layout.processor, product: last.product.name, quantity: last.product.quantity, unit: last.product.unit,
    select: last.layout.select, selected: selectionText(last),
    chosen: Object.entries(last.layout.select).flatMap(([name, index]) => {
      const axis = axisOf(last.layout, name);
      return axis ? [{ name, unit: axis.unit, values: axis.values.slice(index * axis.components, (index + 1) * axis.components) }] : [];
    }),
    [last.grid?.down.name ?? "down"]: last.grid?.down.values, [last.grid?.across.name ?? "across"]: last.grid?.across.values,
    axes: last.grid ? [last.grid.down.name, last.grid.across.name] : [],
    axis_units: last.grid ? [last.grid.down.unit, last.grid.across.unit] : [],
    pictures: same.map((picture) => ({
      sequence: String(picture.head.sequence), capture_tai_ns: String(picture.head.capture_tai_ns), epoch: String(picture.head.epoch),
      flags: picture.head.flags, valid_microphones: picture.head.valid_microphones, missing_bit_times: picture.head.missing_bit_times,
      re: numbers(0, picture.values),
      ...(picture.product.type === "complex64" ? { im: numbers(1, picture.values) } : {}),
    })),
  });
}

/**
 * Figures of a picture at its selection, in words: [name, value with unit].
 * @param {Picture} picture
 * @returns {string[][]}
 */
export function figuresOf(picture) {
  const kMost = 4;
  const rows = [];
  for (const [name, values] of picture.figures) {
    const product = picture.layout.products.find((candidate) => candidate.name === name);
    if (!product) continue;
    let first = 0;
    let count = 1;
    for (const axisName of product.axes) {
      const axis = axisOf(picture.layout, axisName);
      const size = axis ? axis.values.length / axis.components : 1;
      const chosen = picture.layout.select[axisName];
      first = first * size + (chosen ?? 0);
      count *= chosen === undefined ? size : 1;
    }
    const shown = Array.from({ length: Math.min(count, kMost) }, (_, i) => number(Number(values[first + i])));
    const unit = unitText(product.unit);
    rows.push([name.replaceAll("_", " "), `${shown.join(", ")}${count > kMost ? " …" : ""}${unit ? ` ${unit}` : ""}`]);
  }
  return rows;
}
