// The scale of the view, and what follows from it.

import { kModes } from "./drawing.js";
import { background, changed, changedByPicture, productInView, shown, view } from "./store.js";
import { isSigned, levelOf, levelRule, niceStep, valueOf } from "./units.js";
import { rangeOf } from "./values.js";

/**
 * @typedef {import("./picture.js").Picture} Picture
 * @typedef {import("./picture.js").Product} Product
 * @typedef {import("./store.js").Scale} Scale
 */

/** @param {Product} product @returns {Scale} */
function scaleOf(product) {
  const key = `${view.processor}/${product.name}`;
  const scale = view.scales.get(key) ?? { top: NaN, range_db: 30, isDb: levelRule(product) !== null && product.unit !== "1" };
  view.scales.set(key, scale);
  return scale;
}

/**
 * The scale of a product as it applies; its top is in dB if it is of levels.
 * @param {Product} product
 */
export function scaleInUse(product) {
  const { top, range_db, isDb: wantsDb } = scaleOf(product);
  const rule = levelRule(product);
  const isDb = wantsDb && rule !== null;
  return { isDb, rule, range_db, top: isDb ? levelOf(rule, top) : top, linearTop: top };
}

/**
 * Key of the field that a scale was fitted to: another processor, product, frequency or plane is another field, whose levels are unrelated.
 * @param {Picture} picture
 */
const fieldOf = ({ layout, product }) => JSON.stringify([layout.processor, product.name, layout.select]);

/**
 * True if the scale is fitted to a picture before it is drawn: if it follows each picture, and for the first one of another field, even if it is
 * fixed. A reference is shown on the scale of the picture that it is compared with.
 * @param {Picture} picture
 */
export function isToFit(picture) {
  return !view.choice.scaleHold || !Number.isFinite(scaleOf(picture.product).top) || (!view.isFlipped && view.fitted !== fieldOf(picture));
}

/**
 * Sets the scale's top by a picture: the next whole decibel, or two digits. Silence leaves it as it is.
 * @param {Picture} picture
 * @param {Float32Array} values
 */
export function fitScale(picture, values) {
  const { most } = rangeOf(values);
  if (!(most > 0)) return;
  const isOtherField = view.fitted !== fieldOf(picture);
  view.fitted = fieldOf(picture);
  const scale = scaleOf(picture.product);
  const { isDb, rule, linearTop } = scaleInUse(picture.product);
  const step = niceStep(most / 20);
  scale.top = isDb && rule ? valueOf(rule, Math.ceil(levelOf(rule, most) - 1e-6)) : step * Math.ceil(most / step - 1e-6);
  if (scale.top !== linearTop) (isOtherField ? changed : changedByPicture)();
}

/** Widest soft edge of a map over a background, on the scale from 0 to 1. */
const kSoft = 0.15;
const kLeastShown = 0.02;

/**
 * The positions on the scale, 0 to 1, at which a map over a background begins to be seen, the threshold below its maximum, and is seen in full.
 * @param {Product} product
 * @param {Float32Array} values
 * @param {number} low
 * @param {number} high
 */
function edgeOf(product, values, low, high) {
  const { isDb, rule } = scaleInUse(product);
  const { most } = rangeOf(values);
  const positionOf = (/** @type {number} */ value) => ((isDb && rule ? levelOf(rule, value) : value) - low) / (high - low);
  const top = Math.min(1, positionOf(most));  // what is above the scale has one colour with its top
  if (!(top > 0)) return { start: 0, full: kSoft };
  const least = positionOf(most * 10 ** (-view.choice.thresholdDb / (rule?.perDecade ?? 20)));
  const start = Math.max(0, Math.min(least, top - kLeastShown));
  return { start, full: start + Math.min(kSoft, (top - start) / 2) };
}

/**
 * Display parameters of the picture.
 * @param {Product} product
 * @param {Float32Array} values
 * @returns {import("./drawing.js").Look}
 */
export function lookOf(product, values) {
  const { choice } = view;
  const { isDb, rule, range_db, top, linearTop } = scaleInUse(product);
  const mode = kModes[/** @type {keyof typeof kModes} */ (choice.mode)];
  const isReal = mode === kModes.real;
  const isDifference = mode === kModes.levelDifference;
  const low = isDifference ? -range_db / 2 : isDb ? top - range_db : 0;
  const high = isDifference ? range_db / 2 : isReal ? linearTop : top;
  const fades = background.image !== null && mode === kModes.magnitude;
  return {
    mode, isDb, perDecade: rule?.perDecade ?? 20, reference: rule?.reference ?? 1,
    low, high,
    phase: isReal && !isSigned(product) ? view.phase : 0,
    smooth: choice.smooth,
    opacity: background.image ? choice.opacity : 1,
    fades, ...(fades ? edgeOf(product, values, low, high) : { start: 0, full: kSoft }),
  };
}

/** Share of the pixels outside the scale above which a map is one colour to the eye. */
const kOutside = 0.9;

/**
 * Text that a map has one colour because its values are outside the scale; empty if they are not. A map whose maximum is in the upper half of
 * the scale is none, however much of it is silent.
 * @param {import("./drawing.js").Look} look   of the drawing
 * @param {Float32Array} values
 */
export function outsideText(look, values) {
  if (look.mode !== kModes.magnitude) return "";
  const [low, middle, high] = [look.isDb ? 0 : 1 / 510, 0.5, 1].map((position) => {  // a linear scale has zero: values of its lowest colour are below it
    const at = look.low + position * (look.high - look.low);
    return (look.isDb ? look.reference * 10 ** (at / look.perDecade) : at) ** 2;
  });
  let [count, above, below, most] = [0, 0, 0, 0];
  for (let i = 0; i < values.length; i += 2) {
    const square = values[i] ** 2 + values[i + 1] ** 2;
    if (!Number.isFinite(square)) continue;
    count += 1;
    if (square > high) above += 1;
    else if (square < low) below += 1;
    if (square > most) most = square;
  }
  const text = (/** @type {number} */ outside) => (outside === count ? "all values are" : `${Math.floor((100 * outside) / count)} % of the values are`);
  if (above > kOutside * count) return `${text(above)} above the scale`;
  return below > kOutside * count && most < middle ? `${text(below)} below the scale` : "";
}

/** @param {(scale: Scale, product: Product) => void} change */
export function changeScale(change) {
  const product = productInView();
  if (product) change(scaleOf(product), product);
  changed();
}

/** @param {number} range_db */
export const setRange = (range_db) => changeScale((scale) => {
  if (range_db >= 1 && range_db <= 120) scale.range_db = range_db;
});

/** @param {number} more_db */
export const widenScale = (more_db) => changeScale((scale) => { scale.range_db = Math.max(5, Math.min(120, scale.range_db + more_db)); });

/**
 * Sets the top that a user typed. It applies to the field in view from now on, even if that was not drawn yet.
 * @param {number} typed
 */
export function setTop(typed) {
  const now = shown();
  if (now) view.fitted = fieldOf(now.picture);
  view.choice.scaleHold = true;
  changeScale((scale, product) => {
    const rule = levelRule(product);
    const value = scale.isDb && rule ? valueOf(rule, typed) : typed;
    if (value > 0 && Number.isFinite(value)) scale.top = value;
  });
}

export function autoOnce() {
  const now = shown();
  if (!now) return;
  fitScale(now.picture, now.values);
  changed();
}
