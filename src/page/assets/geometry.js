// Plane geometry: placement of a field on the canvas. A matrix is nine numbers, rows first.

/** @typedef {number[]} Matrix */

/** @param {Matrix} a @param {Matrix} b @returns {Matrix} */
export function multiply(a, b) {
  const c = [];
  for (let row = 0; row < 3; ++row) {
    for (let column = 0; column < 3; ++column) {
      c.push(a[3 * row] * b[column] + a[3 * row + 1] * b[3 + column] + a[3 * row + 2] * b[6 + column]);
    }
  }
  return c;
}

/** @param {Matrix} m @returns {Matrix} */
export function inverse(m) {
  const [a, b, c, d, e, f, g, h, i] = m;
  const A = e * i - f * h;
  const B = f * g - d * i;
  const C = d * h - e * g;
  const scale = 1 / (a * A + b * B + c * C);
  return [A, c * h - b * i, b * f - c * e, B, a * i - c * g, c * d - a * f, C, b * g - a * h, a * e - b * d].map(
    (value) => value * scale);
}

/** @param {Matrix} m @param {number} x @param {number} y @returns {[number, number]} */
export function apply(m, x, y) {
  const w = m[6] * x + m[7] * y + m[8];
  return [(m[0] * x + m[1] * y + m[2]) / w, (m[3] * x + m[4] * y + m[5]) / w];
}

/**
 * Maps (1, 0, 0), (0, 1, 0), (0, 0, 1) and (1, 1, 1) to four points; null if three of these are collinear.
 * @param {[number, number][]} points
 * @returns {Matrix | null}
 */
function frameOf(points) {
  const area = (/** @type {number[]} */ [i, j, k]) => (points[j][0] - points[i][0]) * (points[k][1] - points[i][1]) -
    (points[k][0] - points[i][0]) * (points[j][1] - points[i][1]);
  // The weights of the first three points, whose sum is the fourth one.
  const weights = [[3, 1, 2], [0, 3, 2], [0, 1, 3]].map(area);
  const areas = [...weights, area([0, 1, 2])].map(Math.abs);
  if (!(Math.min(...areas) > 1e-9 * Math.max(...areas))) return null;
  return [0, 1, 2].flatMap((row) => weights.map((weight, i) => weight * (row === 2 ? 1 : points[i][row])));
}

/**
 * The projective transform that maps four points to four others; null if three of them are collinear.
 * @param {[number, number][]} from
 * @param {[number, number][]} to
 * @returns {Matrix | null}
 */
export function projective(from, to) {
  const [a, b] = [frameOf(from), frameOf(to)];
  return a && b && multiply(b, inverse(a));
}

/**
 * @typedef {object} Rectangle
 * @property {number} x
 * @property {number} y
 * @property {number} width
 * @property {number} height
 *
 * @typedef {object} Turn
 * @property {boolean} mirror
 * @property {number} quarters    turns of 90 degrees, clockwise
 */

/**
 * Maps places of a field to the canvas, with the same scale across and down: across to the right, down to below, unless turned.
 * @param {[number, number]} across   the field's edges
 * @param {[number, number]} down
 * @param {Rectangle} area
 * @param {Turn} turn
 * @returns {Matrix}
 */
export function placed(across, down, area, turn) {
  const width = Math.abs(across[1] - across[0]);
  const height = Math.abs(down[1] - down[0]);
  const isUpright = turn.quarters % 2 === 0;
  const scale = Math.min(area.width / (isUpright ? width : height), area.height / (isUpright ? height : width));
  const toMiddle = [1, 0, -(across[0] + across[1]) / 2, 0, 1, -(down[0] + down[1]) / 2, 0, 0, 1];
  const mirrored = [turn.mirror ? -scale : scale, 0, 0, 0, scale, 0, 0, 0, 1];
  const cos = [1, 0, -1, 0][turn.quarters % 4];
  const sin = [0, 1, 0, -1][turn.quarters % 4];
  const turned = [cos, -sin, area.x + area.width / 2, sin, cos, area.y + area.height / 2, 0, 0, 1];
  return multiply(turned, multiply(mirrored, toMiddle));
}

/**
 * Maps places of a field to (0, 0) .. (1, 1) over its edges.
 * @param {[number, number]} across
 * @param {[number, number]} down
 * @returns {Matrix}
 */
export function toUnit(across, down) {
  const width = across[1] - across[0];
  const height = down[1] - down[0];
  return [1 / width, 0, -across[0] / width, 0, 1 / height, -down[0] / height, 0, 0, 1];
}

/**
 * A 4 x 4 matrix, columns first, of an eye that circles round the origin.
 * @param {number} turn_rad
 * @param {number} tilt_rad
 * @param {number} distance
 * @param {number} aspect
 */
export function orbit(turn_rad, tilt_rad, distance, aspect) {
  const [ct, st, ce, se] = [Math.cos(turn_rad), Math.sin(turn_rad), Math.cos(tilt_rad), Math.sin(tilt_rad)];
  // Rows: right, up, towards the eye; x to the right, y down the field, z up from the field.
  const right = [ct, st, 0];
  const up = [st * se, -ct * se, ce];
  const back = [-st * ce, ct * ce, se];
  const near = 0.1;
  const far = 10;
  const focal = 1.8;
  const fx = aspect >= 1 ? focal / aspect : focal;
  const fy = aspect >= 1 ? focal : focal * aspect;
  const a = -(far + near) / (far - near);
  const b = (-2 * far * near) / (far - near);
  /** @param {number} i */
  const column = (i) => [fx * right[i], fy * up[i], a * back[i], -back[i]];
  return new Float32Array([...column(0), ...column(1), ...column(2), 0, 0, -a * distance + b, distance]);
}
