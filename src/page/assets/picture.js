// One picture of the stream: the binary message of the server, decoded, with its layout.

import { number, unitText } from "./units.js";

/**
 * @typedef {object} Axis
 * @property {string} name
 * @property {string} unit
 * @property {number} components
 * @property {number[]} values   [entry][component]
 *
 * @typedef {object} Column
 * @property {string} name
 * @property {string} unit
 * @property {string} type
 *
 * @typedef {object} Product
 * @property {string} name
 * @property {string} quantity
 * @property {string} unit
 * @property {"array" | "figure" | "table"} form
 * @property {string} type
 * @property {string[]} axes
 * @property {Column[]} columns
 *
 * @typedef {object} Layout
 * @property {number} id
 * @property {string} processor
 * @property {string} ring_id
 * @property {string} epoch
 * @property {Axis[]} axes
 * @property {Product[]} products
 * @property {Record<string, number>} select
 *
 * @typedef {object} Head
 * @property {number} number   of the frame, from 1, in its ring
 * @property {bigint} sequence
 * @property {bigint} centre_bit_time
 * @property {number} capture_mono_ms
 * @property {bigint} capture_tai_ns
 * @property {number} flags
 * @property {number} valid_microphones
 * @property {number} missing_bit_times
 * @property {number} shed_hops
 * @property {bigint} epoch
 *
 * @typedef {object} Grid
 * @property {number} columns
 * @property {number} rows
 * @property {Axis} across
 * @property {Axis} down
 *
 * @typedef {object} Picture
 * @property {number} id
 * @property {Layout} layout
 * @property {Product} product
 * @property {Head} head
 * @property {Grid | null} grid          grid of a product over two axes of space
 * @property {Float32Array} values       with a grid: pairs (re, im), rows from the top; else the values as received
 * @property {Record<string, any[]>} table  columns of a table
 * @property {Map<string, ArrayLike<any>>} figures
 * @property {number} bytes              memory that it occupies
 * @property {number} received_ms
 */

export const kMagic = 0x4950464e;
export const kFlags = {
  fellBack: 1, masked: 2, missing: 4, overload: 8, nonFinite: 16, clipped: 32, aboveNyquist: 64, commonToAll: 128, limit: 256,
  memory: 512, informationMissing: 1024, doubtfulInput: 2048, searchPending: 4096, eitherSide: 8192,
};

const kHeadAt = 24;
/** Pairs of axes that span a picture: down, across. */
const kPlanes = [["y", "x"], ["elevation", "azimuth"]];
/** @type {Record<string, number>} */
const kBytes = { complex64: 8, float32: 4, float64: 8, uint32: 4, uint64: 8 };

/** @param {number} bytes */
const padded = (bytes) => (bytes + 7) & ~7;

/**
 * The pair of axes of space of an array; null if it has none.
 * @param {Product} product
 * @returns {[string, string] | null}
 */
export function planeOf(product) {
  if (product.form !== "array") return null;
  for (const [down, across] of kPlanes) {
    if (product.axes.includes(down) && product.axes.includes(across)) return [down, across];
  }
  return null;
}

/** @param {Layout} layout @param {string} name */
export function axisOf(layout, name) {
  return layout.axes.find((axis) => axis.name === name) ?? null;
}

/** @param {Axis} axis */
export const sizeOf = (axis) => axis.values.length / axis.components;

/** @param {string} type @param {ArrayBuffer} buffer @param {number} offset @param {number} count   number of values @returns {ArrayLike<any>} */
function valuesAt(type, buffer, offset, count) {
  switch (type) {
    case "complex64": return new Float32Array(buffer, offset, 2 * count);
    case "float32": return new Float32Array(buffer, offset, count);
    case "float64": return new Float64Array(buffer, offset, count);
    case "uint32": return new Uint32Array(buffer, offset, count);
    case "uint64": return new BigUint64Array(buffer, offset, count);
    default: throw new Error(`expected a type of values, found "${type}"`);
  }
}

/**
 * Pairs (re, im), rows first, whatever the order of the axes and the type of the values.
 * @param {ArrayLike<any>} values
 * @param {boolean} isComplex
 * @param {Grid} grid
 * @param {boolean} isTransposed   the axis across is the slower one
 */
function pairsOf(values, isComplex, grid, isTransposed) {
  if (isComplex && !isTransposed) return /** @type {Float32Array} */ (values);
  const pairs = new Float32Array(2 * grid.rows * grid.columns);
  for (let row = 0, to = 0; row < grid.rows; ++row) {
    for (let column = 0; column < grid.columns; ++column, to += 2) {
      const from = isTransposed ? column * grid.rows + row : row * grid.columns + column;
      pairs[to] = Number(values[isComplex ? 2 * from : from]);
      pairs[to + 1] = isComplex ? values[2 * from + 1] : 0;
    }
  }
  return pairs;
}

/** @param {DataView} view @param {number} at @returns {Head} */
function headOf(view, at) {
  return {
    number: Number(view.getBigUint64(at, true) / 2n),
    sequence: view.getBigUint64(at + 16, true),
    centre_bit_time: view.getBigUint64(at + 32, true),
    capture_mono_ms: Number(view.getBigInt64(at + 56, true)) / 1e6,
    capture_tai_ns: view.getBigInt64(at + 64, true),
    flags: view.getUint32(at + 88, true),
    valid_microphones: view.getUint32(at + 92, true),
    missing_bit_times: Number(view.getBigUint64(at + 96, true)),
    shed_hops: Number(view.getBigUint64(at + 104, true)),
    epoch: view.getBigUint64(at + 112, true),
  };
}

/** @param {Product} product @param {ArrayBuffer} buffer @param {number} at @param {number} rows */
function tableOf(product, buffer, at, rows) {
  /** @type {Record<string, any[]>} */
  const table = {};
  for (const column of product.columns) {
    table[column.name] = Array.from(valuesAt(column.type, buffer, at, rows));
    at += padded(rows * kBytes[column.type]);
  }
  return table;
}

/**
 * Decodes a message. The values of a complex picture are a view into the message, which is thus kept as long as the picture; values of
 * another form, and figures, are copies.
 * @param {ArrayBuffer} buffer
 * @param {Map<number, Layout>} layouts   by the ids of subscriptions
 * @returns {Picture | null}   null for a subscription that has ended
 */
export function decode(buffer, layouts) {
  const view = new DataView(buffer);
  if (view.getUint32(0, true) !== kMagic) throw new Error("expected a picture, found another message");
  const id = view.getUint32(4, true);
  const headBytes = view.getUint32(8, true);
  const parts = view.getUint32(12, true);
  const layout = layouts.get(id);
  if (!layout || parts === 0) return null;
  let at = kHeadAt + headBytes;
  /** @type {Picture | null} */
  let picture = null;
  const figures = new Map();
  let figureBytes = 0;
  for (let part = 0; part < parts; ++part) {
    const product = layout.products[view.getUint32(at, true)];
    const rows = view.getUint32(at + 4, true);
    const bytes = view.getUint32(at + 8, true);
    if (!product) throw new Error("expected a product of the layout, found an index beyond it");
    at += 16;
    if (picture) {
      // A copy: a view would keep the whole message in memory where the picture's values are not in it.
      figures.set(product.name, valuesAt(product.type, buffer.slice(at, at + bytes), 0, bytes / kBytes[product.type]));
      figureBytes += bytes;
    } else {
      picture = firstPart(product, layout, headOf(view, kHeadAt), buffer, { at, rows, bytes });
      picture.id = id;
      picture.figures = figures;
    }
    at += padded(bytes);
  }
  if (picture) picture.bytes = figureBytes + (picture.values.buffer === buffer ? buffer.byteLength : picture.values.byteLength);
  return picture;
}

/**
 * @param {Product} product
 * @param {Layout} layout
 * @param {Head} head
 * @param {ArrayBuffer} buffer
 * @param {{at: number, rows: number, bytes: number}} place
 * @returns {Picture}
 */
function firstPart(product, layout, head, buffer, place) {
  /** @type {Picture} */
  const picture = {
    id: 0, layout, product, head, grid: null, values: new Float32Array(), table: {}, figures: new Map(),
    bytes: 0, received_ms: performance.now(),
  };
  if (product.form === "table") {
    picture.table = tableOf(product, buffer, place.at, place.rows);
    return picture;
  }
  const values = valuesAt(product.type, buffer, place.at, place.bytes / kBytes[product.type]);
  const plane = planeOf(product);
  if (!plane) {
    picture.values = /** @type {Float32Array} */ (values);
    return picture;
  }
  const down = /** @type {Axis} */ (axisOf(layout, plane[0]));
  const across = /** @type {Axis} */ (axisOf(layout, plane[1]));
  picture.grid = { down, across, rows: sizeOf(down), columns: sizeOf(across) };
  const isTransposed = product.axes.indexOf(plane[0]) > product.axes.indexOf(plane[1]);
  picture.values = pairsOf(values, product.type === "complex64", picture.grid, isTransposed);
  return picture;
}

/** @param {Axis} a @param {Axis} b */
const areAxesAlike = (a, b) => a.name === b.name && a.unit === b.unit && a.values.length === b.values.length &&
  a.values.every((value, i) => value === b.values[i]);

/**
 * Reason why a product cannot be compared with a picture, value by value; empty if it can.
 * @param {Picture} kept
 * @param {Layout} layout
 * @param {Product} product
 */
export function obstacleToCompare(kept, layout, product) {
  const plane = planeOf(product);
  if (!plane || !kept.grid) return "it has no plane";
  const word = (/** @type {Product} */ one) => `${one.name}, ${one.quantity}`;
  if (kept.product.name !== product.name || kept.product.quantity !== product.quantity) return `it is ${word(kept.product)}, not ${word(product)}`;
  if (kept.product.unit !== product.unit || kept.product.type !== product.type) {
    return `its values are ${kept.product.type} in ${kept.product.unit}, not ${product.type} in ${product.unit}`;
  }
  for (const [name, axis] of [[plane[0], kept.grid.down], [plane[1], kept.grid.across]]) {
    const present = axisOf(layout, /** @type {string} */ (name));
    if (!present || !areAxesAlike(/** @type {Axis} */ (axis), present)) return `its axis ${/** @type {Axis} */ (axis).name} has other entries`;
  }
  return "";
}

/**
 * The value at an index of an axis, with half a step beyond its ends.
 * @param {Axis} axis
 * @returns {[number, number]}
 */
export function edgesOf(axis) {
  const last = axis.values.length - 1;
  const step = last > 0 ? (axis.values[last] - axis.values[0]) / last : 1;
  return [axis.values[0] - step / 2, axis.values[last] + step / 2];
}

/**
 * Text of an entry in a list of choices.
 * @param {Axis} axis
 * @param {number} index
 */
export function entryText(axis, index) {
  const numbers = axis.values.slice(index * axis.components, (index + 1) * axis.components);
  const text = numbers.map((value) => (value === null ? "∞" : String(Number(value.toPrecision(6))))).join(" to ");
  return axis.unit === "1" ? text : `${text} ${axis.unit}`;
}

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
