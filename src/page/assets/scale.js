// The scale of the view.

import { productInView } from "./choice.js";
import { kModes } from "./drawing.js";
import { element, setText } from "./page.js";
import { isPhotoShown, shown } from "./shown.js";
import { markDirty, ui, view } from "./state.js";
import { isSigned, levelOf, levelRule, niceStep, unitText, valueOf } from "./units.js";
import { largest, smallest } from "./values.js";

/**
 * @typedef {import("./picture.js").Picture} Picture
 * @typedef {import("./picture.js").Product} Product
 * @typedef {import("./state.js").Scale} Scale
 */

/** @param {Product} product @returns {Scale} */
export function scaleOf(product) {
  const key = `${view.processor}/${product.name}`;
  let scale = view.scales.get(key);
  if (!scale) {
    scale = { top: NaN, range_db: 30, isDb: levelRule(product) !== null && product.unit !== "1" };
    view.scales.set(key, scale);
    if (isSigned(product)) ui.mode.value = "real";
  }
  return scale;
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
  return !ui.scaleHold.checked || !Number.isFinite(scaleOf(picture.product).top) || (!view.isFlipped && view.fitted !== fieldOf(picture));
}

/**
 * Sets the scale's top by a picture: the next whole decibel, or two digits. Silence leaves it as it is.
 * @param {Picture} picture
 * @param {Float32Array} values
 */
export function fitScale(picture, values) {
  const { product } = picture;
  const most = largest(values);
  if (!(most > 0)) return;
  view.fitted = fieldOf(picture);
  const scale = scaleOf(product);
  const rule = levelRule(product);
  if (scale.isDb && rule) {
    scale.top = valueOf(rule, Math.ceil(levelOf(rule, most) - 1e-6));
  } else {
    const step = niceStep(most / 20);
    scale.top = step * Math.ceil(most / step - 1e-6);
  }
  showScale();
}

export function showScale() {
  const product = productInView();
  if (!product) return;
  const scale = scaleOf(product);
  const rule = levelRule(product);
  const isDb = scale.isDb && rule !== null;
  ui.decibels.checked = isDb;
  ui.decibels.disabled = rule === null;
  setText(element("top-name", HTMLElement), `Top, ${isDb ? "dB" : unitText(product.unit) || "1"}`);
  if (document.activeElement !== ui.top) {
    const top = isDb && rule ? levelOf(rule, scale.top) : scale.top;
    ui.top.value = Number.isFinite(top) ? String(Number(top.toPrecision(6))) : "";
  }
  ui.range.value = String(scale.range_db);
  if (document.activeElement !== ui.rangeNumber) ui.rangeNumber.value = String(scale.range_db);
  markDirty();
}

/**
 * Display parameters of the picture.
 * @param {Product} product
 * @returns {import("./drawing.js").Look}
 */
export function lookOf(product) {
  const scale = scaleOf(product);
  const rule = levelRule(product);
  const mode = kModes[/** @type {keyof typeof kModes} */ (ui.mode.value)];
  const isDb = scale.isDb && rule !== null;
  const top = isDb && rule ? levelOf(rule, scale.top) : scale.top;
  const isReal = mode === kModes.real;
  const isDifference = mode === kModes.levelDifference;
  const half_db = scale.range_db / 2;
  const hasPhoto = isPhotoShown();
  return {
    mode, isDb, perDecade: rule?.perDecade ?? 20, reference: rule?.reference ?? 1,
    low: isDifference ? -half_db : isDb ? top - scale.range_db : 0,
    high: isDifference ? half_db : isReal ? scale.top : top,
    phase: isReal && !isSigned(product) ? view.phase : 0,
    smooth: ui.smooth.checked,
    opacity: hasPhoto ? ui.photoOpacity.valueAsNumber : 1,
    fades: hasPhoto && mode === kModes.magnitude,
  };
}

/**
 * Text that a map has one colour because its values are outside the scale; empty if they are not.
 * @param {Picture} picture
 * @param {Float32Array} values
 */
export function outsideText(picture, values) {
  const look = lookOf(picture.product);
  if (look.mode !== kModes.magnitude) return "";
  const rule = levelRule(picture.product);
  const at = (/** @type {number} */ value) => (look.isDb && rule ? levelOf(rule, value) : value);
  if (at(smallest(values)) > look.high) return "all values are above the scale";
  return look.isDb && at(largest(values)) < look.low ? "all values are below the scale" : "";
}

/** @param {(scale: Scale, product: Product) => void} change */
export function changeScale(change) {
  const product = productInView();
  if (!product) return;
  change(scaleOf(product), product);
  showScale();
}

/**
 * Sets the top that a user typed. It applies to the field in view from now on, even if that was not drawn yet.
 * @param {number} typed
 */
export function setTop(typed) {
  const now = shown();
  if (now) view.fitted = fieldOf(now.picture);
  ui.scaleHold.checked = true;
  changeScale((scale, product) => {
    const rule = levelRule(product);
    const value = scale.isDb && rule ? valueOf(rule, typed) : typed;
    if (value > 0 && Number.isFinite(value)) scale.top = value;
  });
}

export function autoOnce() {
  const now = shown();
  if (now) fitScale(now.picture, now.values);
}
