// Freeze, go back, play; the reference.

import { look, showChoices } from "./choice.js";
import { kMostBytes } from "./history.js";
import { element, setText } from "./page.js";
import { shown } from "./shown.js";
import { history, known, kPictures, markDirty, paint, ui, view } from "./state.js";
import { link } from "./stream.js";
import { number } from "./units.js";

/** @param {boolean} isFrozen */
export function freeze(isFrozen) {
  if (isFrozen && history.length === 0) return;
  view.isFrozen = isFrozen;
  view.isPlaying = false;
  view.index = history.length - 1;
  view.frozen = isFrozen ? history.at(view.index) : null;
  if (!isFrozen) {
    known.newest = view.product ? known.newest : null;
    const request = link.requests.get(kPictures);
    if (request && request.most_hz !== Number(ui.mostHz.value)) look(view.processor, view.product);
    link.next(kPictures);
  }
  showTransport();
}

/** @param {number} index */
export function goTo(index) {
  if (!view.isFrozen) freeze(true);
  if (!view.isFrozen) return;
  view.index = Math.max(0, Math.min(history.length - 1, index));
  view.frozen = history.at(view.index);
  showTransport();
}

let played_ms = 0;

/** @param {number} step_s */
export function playOn(step_s) {
  const present = history.at(view.index);
  const next = history.at(view.index + 1);
  if (!present || !next) {
    goTo(0);
    played_ms = 0;
    return;
  }
  played_ms += 1000 * step_s * Number(ui.slow.value);
  let index = view.index;
  while (index + 1 < history.length && history.at(index + 1).head.capture_mono_ms - present.head.capture_mono_ms <= played_ms) index += 1;
  if (index === view.index) return;
  played_ms -= history.at(index).head.capture_mono_ms - present.head.capture_mono_ms;
  goTo(index);
}

/** @param {boolean} isPlaying */
export function play(isPlaying) {
  if (isPlaying && !view.isFrozen) freeze(true);
  view.isPlaying = isPlaying && view.isFrozen;
  played_ms = 0;
  showTransport();
}

export function showTransport() {
  ui.freeze.setAttribute("aria-pressed", String(view.isFrozen));
  setText(ui.freeze, view.isFrozen ? "Go on live" : "Freeze");
  ui.play.setAttribute("aria-pressed", String(view.isPlaying));
  for (const control of [ui.back, ui.forward, ui.play, ui.position]) control.disabled = !view.isFrozen;
  ui.position.max = String(Math.max(0, history.length - 1));
  ui.position.value = String(view.isFrozen ? view.index : history.length - 1);
  const kept = `${number(history.seconds, 3)} s in ${history.length} pictures, ${number(history.bytes / 2 ** 20, 3)} of at most ${kMostBytes / 2 ** 20} MiB`;
  const picture = view.isFrozen ? view.frozen : null;
  const back_s = picture ? (history.at(history.length - 1).head.capture_mono_ms - picture.head.capture_mono_ms) / 1000 : 0;
  setText(element("history-text", HTMLElement), picture ? `Picture ${view.index + 1} of ${history.length}, ${back_s.toFixed(3)} s before the last` : `Kept: ${kept}`);
  ui.flip.disabled = view.kept === null;
  ui.flip.setAttribute("aria-pressed", String(view.isFlipped));
  markDirty();
}

export function keepReference() {
  const now = shown();
  if (!now) return;
  view.kept = { ...now, values: now.values.slice() };
  paint.uploadedKept = null;
  view.isFlipped = false;
  showTransport();
  showChoices();
}

export function flip() {
  if (!view.kept) return;
  view.isFlipped = !view.isFlipped;
  showTransport();
}
