// The panel of cursors, peaks and sources.

import { setCursor } from "./actions.js";
import { sourcesAt } from "./marks.js";
import { fillTable } from "./page.js";
import { referenceOf, shown, subscribe, view } from "./store.js";
import { levelOf, levelRule, number, unitText } from "./units.js";
import { peaksOf, pixelAt, readingOf } from "./values.js";

/** @typedef {ReturnType<typeof readingOf>} Reading */

/** @param {number} x @param {number} y */
const placeText = (x, y) => `${number(x, 3)}, ${number(y, 3)}`;

/** @param {string} name @param {string} place @param {Reading} a @param {Reading} b  @returns {string[]} the row of a, less b */
function differenceRow(name, place, a, b) {
  const phase = ((a.phase_deg - b.phase_deg + 540) % 360) - 180;
  return [name, place, (a.level_db - b.level_db).toFixed(1), `× ${number(a.magnitude / b.magnitude, 3)}`, a.isComplex ? `${phase.toFixed(1)}°` : "–"];
}

/** @param {import("./store.js").Shown} now @param {import("./picture.js").Grid} grid */
function showCursors(now, grid) {
  const { product } = now.picture;
  const readings = view.cursors.flatMap(({ x, y }) => {
    const pixel = pixelAt(grid, x, y);
    const index = pixel ? pixel.row * grid.columns + pixel.column : -1;
    return pixel ? [{ x, y, index, ...readingOf(product, now.values, index) }] : [];
  });
  const rows = readings.map((one, i) => ["AB"[i], placeText(one.x, one.y), Number.isFinite(one.level_db) ? one.level_db.toFixed(1) : "–",
    number(one.value), one.isComplex ? `${one.phase_deg.toFixed(1)}°` : "–"]);
  const [a, b] = readings;
  if (b) rows.push(differenceRow("B−A", placeText(b.x - a.x, b.y - a.y), b, a));
  const reference = referenceOf(now.picture);
  if (reference && a) rows.push(differenceRow("A−ref.", "", a, readingOf(reference.picture.product, reference.values, a.index)));
  const head = `${grid.across.name}, ${grid.down.name}${grid.across.unit === "1" ? "" : ` / ${grid.across.unit}`}`;
  const texts = rows.map((row) => row.map((text) => text.replace(/^-/, "−")));
  fillTable("cursor-table", texts, ["", head, "dB", unitText(product.unit) || "value", "phase"]);
}

subscribe(() => {
  const now = shown();
  const grid = now?.picture.grid;
  if (!now || !grid) return;
  showCursors(now, grid);
  const rule = levelRule(now.picture.product);
  fillTable("peaks", peaksOf(grid, now.values, 6).map((peak) => {
    const [x, y] = [grid.across.values[peak.column], grid.down.values[peak.row]];
    return [{ label: `${number(x)}, ${number(y)}`, action: () => setCursor({ x, y }, false) },
      rule ? `${levelOf(rule, peak.magnitude).toFixed(1)} dB` : "–", `${number(peak.magnitude)} ${unitText(now.picture.product.unit)}`];
  }), ["peak at", "level", "value"]);
  const { id, x, y, z, level_db, confidence } = sourcesAt(now.picture)?.table ?? {};
  fillTable("sources", (x ?? []).map((_, i) => [
    `${id?.[i] ?? i + 1}`, `${placeText(x[i], y?.[i])}, ${number(z?.[i] ?? NaN, 3)}`,
    level_db ? `${number(level_db[i], 3)} dB` : "–", confidence ? `${Math.round(100 * confidence[i])} %` : "–",
  ]), ["source", "x, y, z", "level", "confidence"]);
}, "cursor-panel");
