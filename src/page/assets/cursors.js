// Cursors, their values, and peaks.

import { apply } from "./geometry.js";
import { element, fillTable } from "./page.js";
import { edgesOf } from "./picture.js";
import { showPanels } from "./refresh.js";
import { referenceOf, shown, sourcesAt } from "./shown.js";
import { markDirty, stage, view } from "./state.js";
import { levelOf, levelRule, number, unitText } from "./units.js";
import { peaksOf, pixelAt, readingOf } from "./values.js";

/** @param {{x: number, y: number}} place @param {boolean} isSecond */
export function setCursor(place, isSecond) {
  const grid = shown()?.picture.grid;
  const pixel = grid && pixelAt(grid, place.x, place.y);
  if (!grid || !pixel) return;
  const at = { x: grid.across.values[pixel.column], y: grid.down.values[pixel.row] };
  if (isSecond && view.cursors.length > 0) view.cursors[1] = at;
  else view.cursors[0] = at;
  markDirty();
  showPanels();
}

/**
 * The step to the next column or row, [columns, rows], that leads most nearly in a direction of the stage, however the field lies there.
 * @param {import("./picture.js").Grid} grid
 * @param {{x: number, y: number}} from
 * @param {number} right
 * @param {number} down
 */
function stepOnField(grid, from, right, down) {
  const [left, rightEdge] = edgesOf(grid.across);
  const [top, bottom] = edgesOf(grid.down);
  const [x0, y0] = apply(stage.toCanvas, from.x, from.y);
  const cosine = (/** @type {number[]} */ [columns, rows]) => {
    const [x, y] = apply(stage.toCanvas, from.x + (columns * (rightEdge - left)) / grid.columns, from.y + (rows * (bottom - top)) / grid.rows);
    return ((x - x0) * right + (y - y0) * down) / Math.hypot(x - x0, y - y0);
  };
  return [[1, 0], [-1, 0], [0, 1], [0, -1]].reduce((best, step) => (cosine(step) > cosine(best) ? step : best));
}

/** @param {number} right @param {number} down  on the stage */
export function moveCursor(right, down) {
  const grid = shown()?.picture.grid;
  if (!grid) return;
  const cursor = view.cursors[0] ?? { x: grid.across.values[grid.columns >> 1], y: grid.down.values[grid.rows >> 1] };
  const pixel = pixelAt(grid, cursor.x, cursor.y);
  if (!pixel) return;
  const step = stepOnField(grid, cursor, right, down);
  const column = Math.max(0, Math.min(grid.columns - 1, pixel.column + step[0]));
  const row = Math.max(0, Math.min(grid.rows - 1, pixel.row + step[1]));
  setCursor({ x: grid.across.values[column], y: grid.down.values[row] }, false);
}

export function showCursors() {
  const now = shown();
  const grid = now?.picture.grid;
  if (!now || !grid) return;
  const { product } = now.picture;
  const unit = unitText(product.unit);
  const readings = view.cursors.map((cursor) => {
    const pixel = pixelAt(grid, cursor.x, cursor.y);
    return { ...cursor, pixel, reading: pixel ? readingOf(product, now.values, pixel.row * grid.columns + pixel.column) : null };
  });
  const place = (/** @type {number} */ x, /** @type {number} */ y) => `${number(x, 3)}, ${number(y, 3)}`;
  /** @type {string[][]} */
  const rows = [];
  readings.forEach(({ x, y, reading }, i) => {
    if (!reading) return;
    rows.push([i === 0 ? "A" : "B", place(x, y), Number.isFinite(reading.level_db) ? reading.level_db.toFixed(1) : "–",
      number(reading.value), reading.isComplex ? `${reading.phase_deg.toFixed(1)}°` : "–"]);
  });
  const [a, b] = readings;
  if (a?.reading && b?.reading) {
    const phase = ((b.reading.phase_deg - a.reading.phase_deg + 540) % 360) - 180;
    rows.push(["B−A", place(b.x - a.x, b.y - a.y),
      (b.reading.level_db - a.reading.level_db).toFixed(1), `× ${number(b.reading.magnitude / a.reading.magnitude, 3)}`, a.reading.isComplex ? `${phase.toFixed(1)}°` : "–"]);
  }
  const reference = referenceOf(now.picture);
  if (reference && a?.pixel && a.reading) {
    const kept = readingOf(reference.picture.product, reference.values, a.pixel.row * grid.columns + a.pixel.column);
    const phase = ((a.reading.phase_deg - kept.phase_deg + 540) % 360) - 180;
    rows.push(["A−ref.", "", (a.reading.level_db - kept.level_db).toFixed(1), `× ${number(a.reading.magnitude / kept.magnitude, 3)}`, a.reading.isComplex ? `${phase.toFixed(1)}°` : "–"]);
  }
  const head = `${grid.across.name}, ${grid.down.name}${grid.across.unit === "1" ? "" : ` / ${grid.across.unit}`}`;
  const texts = rows.map((row) => row.map((text) => text.replace(/^-/, "−")));
  fillTable(element("cursor-table", HTMLTableElement), texts, ["", head, "dB", unit || "value", "phase"]);
}

export function showPeaks() {
  const now = shown();
  const grid = now?.picture.grid;
  if (!now || !grid) return;
  const rule = levelRule(now.picture.product);
  const peaks = peaksOf(grid, now.values, 6);
  fillTable(element("peaks", HTMLTableElement), peaks.map((peak) => {
    const [x, y] = [grid.across.values[peak.column], grid.down.values[peak.row]];
    return [{ label: `${number(x)}, ${number(y)}`, action: () => setCursor({ x, y }, false) },
      rule ? `${levelOf(rule, peak.magnitude).toFixed(1)} dB` : "–", `${number(peak.magnitude)} ${unitText(now.picture.product.unit)}`];
  }), ["peak at", "level", "value"]);
  const table = sourcesAt(now.picture)?.table;
  fillTable(element("sources", HTMLTableElement), (table?.x ?? []).map((x, i) => [
    `${table?.id?.[i] ?? i + 1}`, `${number(x, 3)}, ${number(table?.y?.[i], 3)}, ${number(table?.z?.[i] ?? NaN, 3)}`,
    table?.level_db ? `${number(table.level_db[i], 3)} dB` : "–", table?.confidence ? `${Math.round(100 * table.confidence[i])} %` : "–",
  ]), ["source", "x, y, z", "level", "confidence"]);
}
