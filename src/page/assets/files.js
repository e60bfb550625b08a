// What is in view, as files.

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

export async function savePicture() {
  const now = shown();
  if (!now) return null;
  stage.overlayKey = "";
  draw(false);
  const blob = await stage.toPng(captionLines());
  if (blob) save(`nearfield-${stamp(timeOf(now.picture, ageOf(now.picture)))}.png`, blob);
  return blob;
}

export function saveCsv() {
  const now = shown();
  if (!now) return;
  const time = timeOf(now.picture, ageOf(now.picture));
  save(`nearfield-${stamp(time)}.csv`, new Blob([csvOf(now.picture, now.values, time, heldText(now))], { type: "text/csv" }));
}

export function saveSeconds() {
  if (history.length === 0) return;
  const index = view.isFrozen ? view.index : history.length - 1;
  const pictures = history.before(index, Number(element("seconds", HTMLSelectElement).value));
  const time = timeOf(history.at(index), ageOf(history.at(index)));
  save(`nearfield-${stamp(time)}.json`, new Blob([jsonOf(pictures)], { type: "application/json" }));
}

/** The picture, and beside it the seconds before it. */
export function saveSnapshot() {
  saveSeconds();  // first: while the picture is made, others come
  return savePicture();
}
