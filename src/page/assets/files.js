// Saves the view as files: the picture, its values, and the seconds before it.

import { misplacedText } from "./background.js";
import { kModes } from "./drawing.js";
import { latencyText } from "./latency.js";
import { onClick, save } from "./page.js";
import { axisOf, figuresOf, selectionText } from "./picture.js";
import { lookOf } from "./scale.js";
import { draw, stage } from "./scene.js";
import { barOf } from "./stage.js";
import { ageOf, heldText, history, known, shown, view } from "./store.js";
import { levelOf, levelRule, number, unitText } from "./units.js";
import { rangeOf, readingOf } from "./values.js";

/** @typedef {import("./picture.js").Picture} Picture */

/**
 * Capture time of the picture, by this computer's clock.
 * @param {Picture} picture
 */
export function timeOf(picture) {
  const age_ms = ageOf(picture);
  return new Date(Date.now() - (age_ms ?? performance.now() - picture.received_ms));
}

/**
 * Stem of a file's name, with a time such as 20261123T153000.123Z.
 * @param {Date} time
 */
export const stemOf = (time) => `nearfield-${time.toISOString().replace(/[-:]/g, "")}`;

/**
 * The picture's values as CSV, one pixel per line.
 * @param {Picture} picture
 * @param {Float32Array} values
 * @param {Date} time
 * @param {string} held   origin of the values if they are not the picture's own: "max of 12 pictures"
 */
function csvOf(picture, values, time, held) {
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
function jsonOf(pictures) {
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
 * The scale in words: "scale 54 to 84 dB re 20 µPa".
 * @param {import("./store.js").Shown} now
 */
function scaleText(now) {
  const { product } = now.picture;
  const look = lookOf(product, now.values);
  if (look.mode === kModes.phase || look.mode === kModes.phaseDifference) return "";
  const { title } = barOf(look, product.unit, levelRule(product)?.text ?? "");
  const { most } = rangeOf(now.values);
  const rule = look.isDb ? levelRule(product) : null;
  const maximum = look.mode === kModes.magnitude && most > 0 ? `, maximum ${number(rule ? levelOf(rule, most) : most)}` : "";
  return `scale ${number(look.mode === kModes.real ? -look.high : look.low)} to ${number(look.high)}${title ? ` ${title}` : ""}${maximum}`;
}

/**
 * What stands below a picture that is saved: its field, time, scale and figures.
 * @param {import("./store.js").Shown} now
 */
export function captionLines(now) {
  const { picture } = now;
  const unit = unitText(picture.product.unit);
  const mode = document.querySelector("#mode option:checked")?.textContent ?? "";
  const texts = [selectionText(picture), mode].filter((text) => text !== "").join("; ");
  return [
    `Nearfield ${known.version}, ${picture.layout.processor}, ${picture.product.name}: ${picture.product.quantity}${unit ? ` in ${unit}` : ""}; ${[texts, heldText(now)].filter((text) => text !== "").join(", ")}`,
    `${timeOf(picture).toISOString()}, sequence ${picture.head.sequence}, epoch ${picture.head.epoch}, ${picture.head.valid_microphones} microphones, flags ${picture.head.flags}`,
    [scaleText(now), misplacedText(), latencyText()].filter((text) => text !== "").join("; "),
    figuresOf(picture).map((row) => row.join(" ")).join("; "),
  ].filter((line) => line !== "");
}

/** @param {string} stem  stem of the file's name; empty: the time of the picture */
async function savePicture(stem) {
  const now = shown();
  if (!now) return;
  draw(false);
  const lines = captionLines(now);
  const canvas = Object.assign(document.createElement("canvas"), stage.sizeWith(lines.length));
  stage.compose(canvas, lines);
  /** @type {Blob | null} */
  const blob = await new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
  if (blob) save(`${stem || stemOf(timeOf(now.picture))}.png`, blob);
}

function saveCsv() {
  const now = shown();
  if (!now) return;
  const time = timeOf(now.picture);
  save(`${stemOf(time)}.csv`, new Blob([csvOf(now.picture, now.values, time, heldText(now))], { type: "text/csv" }));
}

/** @returns {string} stem of the file's name; empty if no picture has arrived yet */
function saveSeconds() {
  if (history.length === 0) return "";
  const index = view.isFrozen ? view.index : history.length - 1;
  const stem = stemOf(timeOf(history.at(index)));
  save(`${stem}.json`, new Blob([jsonOf(history.before(index, view.choice.seconds))], { type: "application/json" }));
  return stem;
}

/**
 * Saves the picture, and the seconds before it, under one name: the estimate of the daemon's clock, and with it
 * a picture's time, changes by a millisecond now and then.
 */
export const saveSnapshot = () => { savePicture(saveSeconds()); };

onClick("snapshot", () => { savePicture(""); });
onClick("save-csv", saveCsv);
onClick("save-seconds", saveSeconds);
