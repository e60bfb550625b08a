// The panels that set the daemon's processing: its settings, and limits, whose events are listed.

import { answered, element, fillTable, input, onSubmit, setText } from "./page.js";
import { axisOf, sizeOf } from "./picture.js";
import { known, layoutInView, productInView, subscribe, view } from "./store.js";
import { link } from "./stream.js";
import { levelRule, number, taiText, unitText } from "./units.js";

/**
 * @typedef {import("./picture.js").Product} Product
 *
 * An event as described in docs/reference/control.md.
 * @typedef {object} Event
 * @property {string} name
 * @property {"begin" | "end"} event
 * @property {number} tai_ns
 * @property {number | null} value
 * @property {number | null} largest
 * @property {string} unit
 * @property {Record<string, any>} position
 */

const kPreparing = "The daemon prepares the new configuration …";
const kMostEvents = 50;

/** Units whose limits are levels, like on the page; others are limited in their unit. */
const kLevels = ["Pa", "Pa^2", "m/s", "(m/s)^2", "m^2", "W/m^2"];

/** @param {Product | null} product */
const isLevel = (product) => product !== null && (kLevels.includes(product.unit) || (product.unit === "m" && levelRule(product) !== null));

/**
 * The chosen entry of an axis, or the middle of a band; null if there is no such choice.
 * @param {string[]} names   of the axis
 */
function chosenEntry(...names) {
  const layout = layoutInView();
  for (const name of names) {
    const axis = layout && axisOf(layout, name);
    const index = view.select[name];
    if (!axis || index === undefined || index >= sizeOf(axis)) continue;
    const entry = axis.values.slice(index * axis.components, (index + 1) * axis.components);
    return Number((entry.reduce((sum, value) => sum + value, 0) / entry.length).toPrecision(7));
  }
  return null;
}

/** Settings for a limit at the cursor. Throws if there is no place or product for it. */
function settingsOfLimit() {
  const [cursor] = view.cursors;
  const product = productInView();
  if (!cursor || !product) throw new Error("click the picture first: the limit is that of the pixel at the cursor");
  if (!product.axes.includes("x")) throw new Error("the cursor is at angles: a limit needs a picture over x and y");
  const above = input("limit-above").valueAsNumber;
  return Object.entries({
    processor: view.processor, product: product.name,
    point_m: `[${Number(cursor.x.toPrecision(6))}, ${Number(cursor.y.toPrecision(6))}]`, region_m: null,
    frequency_hz: chosenEntry("frequency", "band"), plane_m: chosenEntry("z", "distance"),
    above: isLevel(product) ? null : above, above_db: isLevel(product) ? above : null,
    hold_s: input("limit-hold").valueAsNumber, record: input("limit-record").checked,
  }).map(([key, value]) => `daemon.limits.${input("limit-name").value.trim()}.${key}=${value}`);
}

/** @param {Event} event */
function rowOf(event) {
  const unit = unitText(event.unit ?? "");
  const place = Object.entries(event.position ?? {}).map(([axis, value]) => `${axis} ${[value].flat().map((one) => number(Number(one))).join(", ")}`);
  const value = event.event === "begin" ? event.value : event.largest;
  return [taiText(event.tai_ns), event.name, event.event === "begin" ? "exceeded" : "left, after at most",
    value === null || value === undefined ? "–" : `${number(value)} ${unit}`, place.join(", ")];
}

let eventsShown = "";

async function listEvents() {
  try {
    const { events } = await link.control({ command: "events" });
    const newest = /** @type {Event[]} */ (events).slice(-kMostEvents).reverse();
    fillTable("limit-events", newest.map(rowOf), ["time", "limit", "what", "value", "at"]);
    setText("limit-events-text", newest.length === 0 ? "No limit was exceeded since the daemon began." : "");
  } catch (error) {
    setText("limit-events-text", `The events are not known: ${/** @type {Error} */ (error).message}`);
  }
}

subscribe(() => {
  const product = productInView();
  const rule = product && levelRule(product);
  setText("limit-above-name", `Above, ${isLevel(product) && rule ? rule.text : unitText(product?.unit ?? "") || "1"}`);
  element("limit-set", HTMLButtonElement).disabled = !known.isWritable;
  element("limit-hint", HTMLElement).hidden = known.isWritable;
  if (!known.status) return;
  const state = JSON.stringify([known.status.epoch, (known.status.limits ?? []).map((/** @type {any} */ one) => [one.name, one.state, one.events])]);
  if (state !== eventsShown) listEvents();
  eventsShown = state;
}, "limits-panel");

onSubmit("limit-form", () => {
  answered((text) => setText("limit-answer", text), () => link.control({ command: "set", settings: settingsOfLimit() }), kPreparing);
});

/**
 * The numbers of a list, "500, 1000". Throws on anything else.
 * @param {string} text
 * @param {string} name
 */
function numbersOf(text, name) {
  const words = text.split(/[\s,;[\]]+/).filter((word) => word !== "");
  for (const word of words) if (!Number.isFinite(Number(word))) throw new Error(`${name}: expected numbers, found “${word}”`);
  return `[${words.join(", ")}]`;
}

/** @type {[string, (text: string) => string[]][]} fields, and the texts KEY=VALUE of what is filled in */
const kFields = [
  ["frequencies", (text) => [`front_end.frequencies_hz=${numbersOf(text, "Frequencies")}`]],
  ["standoff", (text) => [`holography.standoff_m=${text}`]],
  ["off", (text) => [`array.dead_channels=${numbersOf(text, "Microphones off")}`]],
  ["others", (text) => text.split("\n").map((one) => one.trim()).filter((one) => one !== "")],
];
/** @param {string} name */
const field = (name) => /** @type {HTMLInputElement | HTMLTextAreaElement} */ (element(`change-${name}`, HTMLElement));

/** Sets what is filled in; empty fields leave settings unchanged. */
function change() {
  const settings = kFields.flatMap(([name, settingsOf]) => (field(name).value.trim() ? settingsOf(field(name).value.trim()) : []));
  if (settings.length === 0) throw new Error("nothing is filled in");
  return link.control({ command: "set", settings });
}

onSubmit("change-form", async () => {
  if (!await answered((text) => setText("change-answer", text), change, kPreparing)) return;
  for (const [name] of kFields) field(name).value = "";
});

subscribe(() => {
  element("change-set", HTMLButtonElement).disabled = !known.isWritable;
  element("change-hint", HTMLElement).hidden = known.isWritable;
}, "settings-panel");
