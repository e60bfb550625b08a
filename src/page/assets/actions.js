// Changes of the view by the user: processor, product and the entries of its other axes; freezing, playing and comparing; cursors.

import { keep, readKept } from "./page.js";
import { axisOf, entryText, planeOf, sizeOf } from "./picture.js";
import { changed, changedByPicture, history, hold, isOffered, known, layoutInView, markDirty, reducedMotion, shown, view } from "./store.js";
import { isSigned } from "./units.js";
import { pixelAt } from "./values.js";

/** @typedef {import("./picture.js").Layout} Layout */

const kModeNames = ["magnitude", "phase", "real", "levelDifference", "phaseDifference"];

/**
 * The products of a processor that are pictures.
 * @param {Layout | undefined} layout
 */
export const picturesOf = (layout) => (layout?.products ?? []).filter((product) => planeOf(product));

/** Leaves a mode that the product in view does not have. */
export function fitMode() {
  if (!isOffered(view.choice.mode)) view.choice.mode = "magnitude";
}

/** @param {Partial<typeof view.choice>} change */
export function choose(change) {
  Object.assign(view.choice, change);
  if ("hold" in change) hold.reset();
  if ("spectrumOf" in change) known.spectrumText = "";
  fitMode();
  changed();
}

/** @param {"mode" | "form" | "hold"} key  a choice, whose next value is chosen */
export function chooseNext(key) {
  const values = { mode: kModeNames.filter(isOffered), form: ["map", "surface"], hold: ["none", "max", "mean"] }[key];
  choose({ [key]: values[(values.indexOf(view.choice[key]) + 1) % values.length] });
}

/** Chooses the first processor with pictures initially. */
export function lookAtFirst() {
  for (const processor of known.processors) {
    const [product] = picturesOf(known.layouts.get(processor));
    if (product) return look(processor, product.name);
    if (!known.layouts.has(processor)) return undefined;  // its layout is on its way
  }
  return undefined;
}

const kEntry = "entry ";  // and the name of an axis: names of what is kept

/** @param {import("./picture.js").Axis} axis  @returns {number} index of the entry that was chosen last on an axis of this name, also at an earlier visit; 0 if it has no such entry */
const keptEntry = (axis) => Math.max(0, Array.from({ length: sizeOf(axis) }, (_, i) => entryText(axis, i)).indexOf(readKept(kEntry + axis.name)));

/**
 * Views a product, with the current selection of axes that are the same.
 * @param {string} processor
 * @param {string} [name]   of the product; otherwise its first picture
 */
export function look(processor, name) {
  const layout = known.layouts.get(processor);
  const product = picturesOf(layout).find((candidate) => name === undefined || candidate.name === name);
  if (!layout || !product) return;
  /** @type {string[]} */
  const plane = planeOf(product) ?? [];
  /** @type {Record<string, number>} */
  const select = {};
  for (const axisName of product.axes) {
    const axis = axisOf(layout, axisName);
    if (axis && !plane.includes(axisName)) select[axisName] = Math.min(view.select[axisName] ?? keptEntry(axis), sizeOf(axis) - 1);
  }
  if (isSigned(product) && !view.scales.has(`${processor}/${product.name}`)) view.choice.mode = "real";
  Object.assign(view, { processor, product: product.name, select });
  Object.assign(known, { subscribeError: "", newest: null, isUndrawn: false });
  hold.reset();
  fitMode();
  changed();
}

/** @param {Record<string, number>} change */
export function select(change) {
  freeze(false);
  view.select = { ...view.select, ...change };
  for (const [name, index] of Object.entries(change)) {
    const layout = layoutInView();
    const axis = layout && axisOf(layout, name);
    if (axis) keep(kEntry + name, entryText(axis, index));
  }
  look(view.processor, view.product);
}

/**
 * The next or previous entry of an axis.
 * @param {string} name
 * @param {number} step
 */
export function stepAxis(name, step) {
  const layout = layoutInView();
  const axis = layout && axisOf(layout, name);
  if (!axis || !(name in view.select)) return;
  const size = sizeOf(axis);
  select({ [name]: (view.select[name] + step + size) % size });
}

/** @param {boolean} isFrozen */
export function freeze(isFrozen) {
  if (isFrozen && history.length === 0) return;
  Object.assign(view, { isFrozen, isPlaying: false, index: history.length - 1 });
  changed();
}

/** @param {number} index */
export function goTo(index) {
  if (!view.isFrozen) freeze(true);
  view.index = Math.max(0, Math.min(history.length - 1, index));
  changed();
}

/** @param {number} step */
export const goBy = (step) => goTo((view.isFrozen ? view.index : history.length - 1) + step);

export function play() {
  const isPlaying = !view.isPlaying;
  if (isPlaying && !view.isFrozen) freeze(true);
  view.isPlaying = isPlaying && view.isFrozen;
  view.played_ms = 0;
  changed();
}

/** @param {number} step_s */
function playOn(step_s) {
  const present = history.at(view.index);
  if (!present || view.index + 1 >= history.length) {
    Object.assign(view, { played_ms: 0, index: 0 });
    return changedByPicture();
  }
  const after_ms = (/** @type {number} */ i) => history.at(i).head.capture_mono_ms - present.head.capture_mono_ms;
  view.played_ms += 1000 * step_s * view.choice.slow;
  let index = view.index;
  while (index + 1 < history.length && after_ms(index + 1) <= view.played_ms) index += 1;
  view.played_ms -= after_ms(index);
  if (index === view.index) return undefined;
  view.index = index;
  return changedByPicture();
}

/**
 * Time goes on for what moves by itself: the phase, and pictures that are played.
 * @param {number} step_s
 */
export function advance(step_s) {
  const { mode, animate, speed } = view.choice;
  if (mode === "real" && animate && !reducedMotion.matches) {
    view.phase = (view.phase + 2 * Math.PI * speed * step_s) % (2 * Math.PI);
    markDirty();
  }
  if (view.isPlaying) playOn(step_s);
}

export function keepReference() {
  const now = shown();
  if (!now) return;
  view.kept = { ...now, values: now.values.slice() };
  view.isFlipped = false;
  fitMode();
  changed();
}

export function flip() {
  view.isFlipped = !view.isFlipped && view.kept !== null;
  changed();
}

export function rotate() {
  view.quarters = (view.quarters + 1) % 4;
  changed();
}

/** @param {number} turn_rad @param {number} tilt_rad */
export function turnSurface(turn_rad, tilt_rad) {
  view.surface.turn_rad += turn_rad;
  view.surface.tilt_rad = Math.max(0.05, Math.min(1.55, view.surface.tilt_rad + tilt_rad));
  markDirty();
}

/** @param {number} factor */
export function zoomSurface(factor) {
  view.surface.distance = Math.max(1.4, Math.min(6, view.surface.distance * factor));
  markDirty();
}

/** @param {{x: number, y: number}} place @param {boolean} isSecond */
export function setCursor(place, isSecond) {
  const grid = shown()?.picture.grid;
  const pixel = grid && pixelAt(grid, place.x, place.y);
  if (!grid || !pixel) return;
  view.cursors[isSecond && view.cursors.length > 0 ? 1 : 0] = { x: grid.across.values[pixel.column], y: grid.down.values[pixel.row] };
  changed();
}

export function clearCursors() {
  view.cursors = [];
  changed();
}
