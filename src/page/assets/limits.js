// The panel of limits: their events, and a limit at the cursor.

import { element, fillTable, setText } from "./page.js";
import { axisOf, sizeOf } from "./picture.js";
import { levelRule, number, unitText } from "./units.js";

/**
 * @typedef {import("./picture.js").Layout} Layout
 * @typedef {import("./picture.js").Product} Product
 *
 * An event as described in docs/use/control.md.
 * @typedef {object} Event
 * @property {string} name
 * @property {"begin" | "end"} event
 * @property {number} tai_ns
 * @property {number | null} value
 * @property {number | null} largest
 * @property {string} unit
 * @property {Record<string, any>} position
 *
 * Parts of a limit at the cursor.
 * @typedef {object} Place
 * @property {{x: number, y: number} | undefined} cursor
 * @property {Layout | undefined} layout
 * @property {Product | null} product
 * @property {Record<string, number>} select
 */

const kMostEvents = 50;
/** Lead of CLOCK_TAI over UTC since 2017. */
const kTaiAhead_s = 37;

/** Units whose limits are levels, like on the page; others are limited in their unit. */
const kLevels = ["Pa", "Pa^2", "m/s", "(m/s)^2", "m^2", "W/m^2"];

/** @param {Product | null} product */
const isLevel = (product) => product !== null && (kLevels.includes(product.unit) || (product.unit === "m" && levelRule(product) !== null));

/**
 * The chosen entry of an axis, or the middle of a band; null if there is no such choice.
 * @param {Place} place
 * @param {string[]} names
 */
function chosenOf({ layout, select }, names) {
  for (const name of names) {
    const axis = layout && axisOf(layout, name);
    const index = select[name];
    if (!axis || index === undefined || index >= sizeOf(axis)) continue;
    const entry = axis.values.slice(index * axis.components, (index + 1) * axis.components);
    return Number((entry.reduce((sum, value) => sum + value, 0) / entry.length).toPrecision(7));
  }
  return null;
}

/**
 * Settings for a limit at the cursor. Throws if there is no place or product for it.
 * @param {string} name
 * @param {Place} place
 * @param {number} above   in decibels, or in the product's unit
 * @param {number} hold_s
 * @param {boolean} records
 */
export function settingsOfLimit(name, place, above, hold_s, records) {
  const { cursor, layout, product } = place;
  if (!cursor || !layout || !product) throw new Error("click the picture first: the limit is that of the pixel at the cursor");
  if (!product.axes.includes("x")) throw new Error("the cursor is at angles: a limit needs a picture over x and y");
  const section = `daemon.limits.${name}`;
  const text = (/** @type {number | null} */ value) => (value === null ? "null" : String(value));
  return [
    ["processor", layout.processor], ["product", product.name],
    ["point_m", `[${Number(cursor.x.toPrecision(6))}, ${Number(cursor.y.toPrecision(6))}]`], ["region_m", "null"],
    ["frequency_hz", text(chosenOf(place, ["frequency", "band"]))], ["plane_m", text(chosenOf(place, ["z", "distance"]))],
    ["above", isLevel(product) ? "null" : String(above)], ["above_db", isLevel(product) ? String(above) : "null"],
    ["hold_s", String(hold_s)], ["record", String(records)],
  ].map(([key, value]) => `${section}.${key}=${value}`);
}

/** @param {Event} event */
function rowOf(event) {
  const time = new Date(event.tai_ns / 1e6 - 1000 * kTaiAhead_s);
  const unit = unitText(event.unit ?? "");
  const place = Object.entries(event.position ?? {}).map(([axis, value]) => `${axis} ${[value].flat().map((one) => number(Number(one))).join(", ")}`);
  const value = event.event === "begin" ? event.value : event.largest;
  return [Number.isNaN(time.getTime()) ? "–" : time.toLocaleString("sv"), event.name, event.event === "begin" ? "exceeded" : "left, after at most",
    value === null || value === undefined ? "–" : `${number(value)} ${unit}`, place.join(", ")];
}

/**
 * @param {import("./link.js").Link} link
 * @param {() => Place} placeOf
 */
export function limitsPanel(link, placeOf) {
  const answer = element("limit-answer", HTMLElement);
  const field = (/** @type {string} */ name) => element(`limit-${name}`, HTMLInputElement);
  let shown = "";
  /** @param {string} state  state of the limits: events are requested when it changes */
  const listEvents = async (state) => {
    shown = state;
    try {
      const { events } = await link.control({ command: "events" });
      const newest = /** @type {Event[]} */ (events).slice(-kMostEvents).reverse();
      fillTable(element("limit-events", HTMLTableElement), newest.map(rowOf), ["time", "limit", "what", "value", "at"]);
      setText(element("limit-events-text", HTMLElement), newest.length === 0 ? "No limit was exceeded since the daemon began." : "");
    } catch (error) {
      setText(element("limit-events-text", HTMLElement), `The events are not known: ${/** @type {Error} */ (error).message}`);
    }
  };
  element("limit-form", HTMLFormElement).addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      const settings = settingsOfLimit(field("name").value.trim(), placeOf(), field("above").valueAsNumber, field("hold").valueAsNumber, field("record").checked);
      setText(answer, "The daemon prepares the new configuration …");
      const result = await link.control({ command: "set", settings });
      setText(answer, result.message ?? "Done.");
    } catch (error) {
      setText(answer, `Refused: ${/** @type {Error} */ (error).message}`);
    }
  });
  /** @param {any} status @param {boolean} isWritable */
  const show = (status, isWritable) => {
    const { product } = placeOf();
    const rule = product && levelRule(product);
    setText(element("limit-above-name", HTMLElement), `Above, ${isLevel(product) && rule ? rule.text : unitText(product?.unit ?? "") || "1"}`);
    element("limit-set", HTMLButtonElement).disabled = !isWritable;
    element("limit-hint", HTMLElement).hidden = isWritable;
    if (!status) return;
    const state = JSON.stringify([status.epoch, (status.limits ?? []).map((/** @type {any} */ one) => [one.name, one.state, one.events])]);
    if (state !== shown && element("limits-panel", HTMLDetailsElement).open) listEvents(state);
  };
  return { show };
}
