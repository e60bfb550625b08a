// Saves the view as files.

import { element, save, stamp } from "./page.js";
import { csvOf, figuresOf, jsonOf, selectionText, timeOf } from "./saving.js";
import { ageOf, draw, heldText, shown } from "./shown.js";
import { history, known, stage, ui, view } from "./state.js";
import { unitText } from "./units.js";

function captionLines() {
  const now = shown();
  if (!now) return [];
  const { picture } = now;
  const time = timeOf(picture, ageOf(picture));
  const value = ui.mode.selectedOptions[0]?.textContent ?? "";
  const holdText = now.held === "" ? "" : `, ${heldText(now)}`;
  return [
    `Nearfield ${known.version}, ${picture.layout.processor}, ${picture.product.name}: ${picture.product.quantity}${unitText(picture.product.unit) ? ` in ${unitText(picture.product.unit)}` : ""}; ${[selectionText(picture), value].filter((text) => text !== "").join("; ")}${holdText}`,
    `${time.toISOString()}, sequence ${picture.head.sequence}, epoch ${picture.head.epoch}, ${picture.head.valid_microphones} microphones, flags ${picture.head.flags}`,
    figuresOf(picture).map((row) => row.join(" ")).join("; "),
  ].filter((line) => line !== "");
}

/** @param {import("./picture.js").Picture} picture */
const stemOf = (picture) => `nearfield-${stamp(timeOf(picture, ageOf(picture)))}`;

/** @param {string} stem  stem of the file's name; empty: the time of the picture */
async function writePicture(stem) {
  const now = shown();
  if (!now) return null;
  stage.overlayKey = "";
  draw(false);
  const blob = await stage.toPng(captionLines());
  if (blob) save(`${stem || stemOf(now.picture)}.png`, blob);
  return blob;
}

/** @returns {string} stem of the file's name; empty if no picture has arrived yet */
function writeSeconds() {
  if (history.length === 0) return "";
  const index = view.isFrozen ? view.index : history.length - 1;
  const pictures = history.before(index, Number(element("seconds", HTMLSelectElement).value));
  const stem = stemOf(history.at(index));
  save(`${stem}.json`, new Blob([jsonOf(pictures)], { type: "application/json" }));
  return stem;
}

export const savePicture = () => writePicture("");
export const saveSeconds = () => { writeSeconds(); };

export function saveCsv() {
  const now = shown();
  if (!now) return;
  const time = timeOf(now.picture, ageOf(now.picture));
  save(`nearfield-${stamp(time)}.csv`, new Blob([csvOf(now.picture, now.values, time, heldText(now))], { type: "text/csv" }));
}

/**
 * Saves the picture, and the seconds before it, under one name: the estimate of the daemon's clock, and with it
 * a picture's time, changes by a millisecond now and then.
 */
export const saveSnapshot = () => writePicture(writeSeconds());
