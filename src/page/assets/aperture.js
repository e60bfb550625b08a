// Where the microphones are, and the aperture that they span.

import { edgesOf } from "./picture.js";
import { known, view } from "./store.js";

/**
 * The array as it is drawn over a map.
 * @typedef {object} Aperture
 * @property {number} id     another number for another aperture
 * @property {number[][]} microphones   m
 * @property {[number, number][]} outline       corners of the convex hull of the microphones' pixels
 * @property {boolean} isExceeded               parts of a near-field image lie beyond the outermost microphones
 */

/**
 * The convex hull of points, by Andrew's monotone chain (1979).
 * @param {[number, number][]} points
 */
export function hullOf(points) {
  const sorted = [...points].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  /** @param {[number, number][]} from */
  const chain = (from) => {
    /** @type {[number, number][]} */
    const hull = [];
    for (const point of from) {
      const turns = () => {
        const [a, b] = hull.slice(-2);
        return (b[0] - a[0]) * (point[1] - a[1]) - (b[1] - a[1]) * (point[0] - a[0]);
      };
      while (hull.length > 1 && turns() <= 0) hull.pop();
      hull.push(point);
    }
    return hull.slice(0, -1);
  };
  return [...chain(sorted), ...chain(sorted.reverse())];
}

/** @param {[number, number][]} hull  its corners in one direction @param {[number, number]} point */
const isWithin = (hull, [x, y]) => hull.every(([x0, y0], i) => {
  const [x1, y1] = hull[(i + 1) % hull.length];
  return (x1 - x0) * (y - y0) - (y1 - y0) * (x - x0) >= 0;
});

let apertures = 0;
/** What the aperture was computed from last, and itself: a picture is drawn many times a second. */
let last = { from: /** @type {any[]} */ ([]), aperture: /** @type {Aperture | null} */ (null) };

/**
 * The array over a picture; null if it is not to be drawn, or if the picture has no places in metres.
 * @param {import("./picture.js").Picture} picture
 * @returns {Aperture | null}
 */
export function apertureOf({ grid, product }) {
  if (!view.choice.showMicrophones || grid?.across.unit !== "m") return null;
  const isNear = product.axes.includes("z");
  const from = [known.microphones_m, grid.across, grid.down, isNear];
  if (from.some((one, i) => one !== last.from[i])) last = { from, aperture: makeAperture(grid, isNear) };
  return last.aperture;
}

/** @param {import("./picture.js").Grid} grid @param {boolean} isNear  a near-field image @returns {Aperture | null} */
function makeAperture({ across, down, columns, rows }, isNear) {
  const microphones = known.microphones_m;
  // A pixel around a microphone is measured; half of it lies beyond.
  const [halfX, halfY] = [[across, columns], [down, rows]].map(([axis, count]) => {
    const [first, end] = edgesOf(/** @type {import("./picture.js").Axis} */ (axis));
    return Math.abs(end - first) / Number(count) / 2;
  });
  const corners = /** @type {[number, number][]} */ ([[-1, -1], [1, -1], [1, 1], [-1, 1]]);
  const outline = hullOf(microphones.flatMap(([x, y]) => corners.map(([right, low]) => /** @type {[number, number]} */ ([x + right * halfX, y + low * halfY]))));
  if (microphones.length < 3 || !outline.flat().every(Number.isFinite)) return null;
  const isExceeded = isNear && [across.values[0], across.values[columns - 1]].some((x) => [down.values[0], down.values[rows - 1]].some((y) => !isWithin(outline, [x, y])));
  apertures += 1;
  return { id: apertures, microphones, outline, isExceeded };
}
