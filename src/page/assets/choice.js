// The view: processor, product and the entries of its other axes.

import { followSpectrum } from "./curves.js";
import { element, fillSelect, setText } from "./page.js";
import { axisOf, entryText, obstacleToCompare, planeOf, sizeOf } from "./picture.js";
import { showScale } from "./scale.js";
import { hold, known, kOwnSources, kPictures, kSources, markDirty, ui, view } from "./state.js";
import { link } from "./stream.js";
import { freeze } from "./transport.js";
import { isLength, isSigned } from "./units.js";

/** @typedef {import("./picture.js").Layout} Layout */

/**
 * The products of a processor that are pictures.
 * @param {Layout | undefined} layout
 */
export const picturesOf = (layout) => (layout?.products ?? []).filter((product) => planeOf(product));

/**
 * Arrays that are curves: with a last axis of eight entries or more, and no plane.
 * @param {Layout} layout
 */
const curvesOf = (layout) => layout.products.filter((product) => {
  if (product.form !== "array" || planeOf(product)) return false;
  const axis = axisOf(layout, product.axes[product.axes.length - 1] ?? "");
  return axis !== null && sizeOf(axis) >= 8;
});

/** Chooses the first processor with pictures initially. */
export function choose() {
  for (const processor of view.processors) {
    const [product] = picturesOf(known.layouts.get(processor));
    if (product) return look(processor, product.name);
    if (!known.layouts.has(processor)) return undefined;  // its layout is on its way
  }
  return undefined;
}

/**
 * Views a product, with the current selection of axes that are the same.
 * @param {string} processor
 * @param {string} product
 */
export function look(processor, product) {
  const layout = known.layouts.get(processor);
  const found = layout?.products.find((candidate) => candidate.name === product);
  if (!layout || !found) return;
  /** @type {string[]} */
  const plane = planeOf(found) ?? [];
  /** @type {Record<string, number>} */
  const select = {};
  for (const name of found.axes) {
    const axis = axisOf(layout, name);
    if (axis && !plane.includes(name)) select[name] = Math.min(view.select[name] ?? 0, sizeOf(axis) - 1);
  }
  view.processor = processor;
  view.product = product;
  view.select = select;
  known.subscribeError = "";
  forgetPicture();
  link.subscribe(kPictures, { processor, product, select, most_hz: Number(ui.mostHz.value) });
  showChoices();
  showScale();
}

/**
 * The table of the sources that a processor finds.
 * @param {Layout | undefined} layout
 */
const sourcesOf = (layout) => layout?.products.find((product) => product.form === "table" && product.columns.some((column) => column.name === "x"));

/** Offers the processors that find sources, and subscribes to the table of the chosen one. */
export function followSources() {
  const finders = view.processors.filter((name) => sourcesOf(known.layouts.get(name)));
  /** @type {HTMLElement} */ (ui.sourcesOf.parentElement).hidden = finders.length === 0;
  fillSelect(ui.sourcesOf, [{ value: kOwnSources, text: "the processor above" }, ...finders.map((name) => ({ value: name, text: name })), { value: "", text: "none" }],
    ui.sourcesOf.value === "" || finders.includes(ui.sourcesOf.value) ? ui.sourcesOf.value : kOwnSources);
  const processor = ui.sourcesOf.value === kOwnSources ? view.processor : ui.sourcesOf.value;
  const table = sourcesOf(known.layouts.get(processor));
  const request = link.requests.get(kSources);
  if (!table) link.unsubscribe(kSources);
  else if (request?.processor !== processor || request?.product !== table.name) link.subscribe(kSources, { processor, product: table.name, most_hz: 20 });
}

/** Discards the pictures of the previous view. */
function forgetPicture() {
  known.pending = null;
  known.newest = null;
  hold.reset();
  markDirty();
}

/**
 * Handles the layout of a replaced ring, whose axes may differ.
 * @param {Layout} layout
 */
export function takeLayout(layout) {
  const product = layout.products.find((candidate) => candidate.name === view.product);
  if (!product) return;
  hold.reset();
  for (const [name, index] of Object.entries(view.select)) {
    const axis = axisOf(layout, name);
    if (!axis || index >= sizeOf(axis)) {
      look(layout.processor, view.product);
      return;
    }
  }
}

/** @param {Record<string, number>} change */
export function select(change) {
  if (view.isFrozen) freeze(false);
  Object.assign(view.select, change);
  look(view.processor, view.product);
}

/**
 * The next or previous entry of an axis.
 * @param {string} name
 * @param {number} step
 */
export function stepAxis(name, step) {
  const layout = known.layouts.get(view.processor);
  const axis = layout && axisOf(layout, name);
  if (!axis || !(name in view.select)) return;
  const size = sizeOf(axis);
  select({ [name]: (view.select[name] + step + size) % size });
}

export function showChoices() {
  const processors = view.processors.filter((name) => !known.layouts.has(name) || picturesOf(known.layouts.get(name)).length > 0);
  fillSelect(ui.processor, processors.map((name) => ({ value: name, text: name })), view.processor);
  const layout = known.layouts.get(view.processor);
  fillSelect(ui.product, picturesOf(layout).map(({ name, quantity }) => ({ value: name, text: `${name}: ${quantity}` })), view.product);
  showAxes(layout);
  const curves = view.processors.flatMap((name) => {
    const of = known.layouts.get(name);
    return of ? curvesOf(of).map((product) => ({ value: `${name}/${product.name}`, text: `${name}: ${product.name}` })) : [];
  });
  fillSelect(ui.spectrumProcessor, [{ value: "", text: curves.length > 0 ? "none" : "no processor has one" }, ...curves], ui.spectrumProcessor.value || curves[0]?.value || "");
  followSpectrum();
  followSources();
  const product = productInView();
  const isComplex = product?.type === "complex64" && !isSigned(product);
  const obstacle = view.kept && layout && product ? obstacleToCompare(view.kept.picture, layout, product) : "";
  setText(element("reference-text", HTMLElement), obstacle ? `The reference is of another field: ${obstacle}.` : "");
  const canCompare = view.kept !== null && obstacle === "";
  for (const option of ui.mode.options) {
    option.disabled = (["phase", "phaseDifference"].includes(option.value) && !isComplex) || (option.value.endsWith("Difference") && !canCompare) ||
      (option.value === "real" && !isComplex && !(product && isSigned(product))) || (option.value === "levelDifference" && product !== null && isLength(product));
    if (option.value === "real") option.textContent = product && isSigned(product) ? "Signed value" : "Real part";
  }
  if (ui.mode.selectedOptions[0]?.disabled) ui.mode.value = "magnitude";
}

/** @param {Layout | undefined} layout */
function showAxes(layout) {
  const names = Object.keys(view.select);
  if (ui.axes.dataset.names !== names.join()) {
    ui.axes.dataset.names = names.join();
    ui.axes.replaceChildren(...names.map((name) => {
      const label = document.createElement("label");
      const choice = document.createElement("select");
      choice.dataset.axis = name;
      choice.addEventListener("change", () => select({ [name]: Number(choice.value) }));
      label.append(name[0].toUpperCase() + name.slice(1), " ", choice);
      return label;
    }));
  }
  for (const choice of ui.axes.querySelectorAll("select")) {
    const axis = layout && axisOf(layout, choice.dataset.axis ?? "");
    if (!axis) continue;
    const choices = Array.from({ length: sizeOf(axis) }, (_, i) => ({ value: String(i), text: entryText(axis, i) }));
    fillSelect(choice, choices, String(view.select[axis.name]));
  }
}

export const productInView = () => known.layouts.get(view.processor)?.products.find(({ name }) => name === view.product) ?? null;
