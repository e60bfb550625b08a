// The panel of the microphones' levels: a map or bars, the numbers of one microphone, and the processor that measures them.

import { fullScale_pa, isOfSamples, kReference_pa, meters, metersOf, powerLevel } from "./levels.js";
import { answered, element, fillSelect, fillTable, input, onClick, setText } from "./page.js";
import { contextOf, microphoneText, placesOfMicrophones } from "./panels.js";
import { colours } from "./scene.js";
import { changed, known, subscribe, view } from "./store.js";
import { link } from "./stream.js";
import { number, settingIn } from "./units.js";

const kMostBars = 64;
const kRange_db = { map: 50, bars: 100 };
/** Window of meters that the page adds: a power of two of samples, of this time at least. A frame follows the other without a gap. */
const kWindow_s = 0.08;
const kNamed = 8;  // overloaded microphones that are named

const canvas = element("meters", HTMLCanvasElement);
const time = element("meters-time", HTMLSelectElement);
const form = element("meters-form", HTMLSelectElement);
const channel = input("meters-channel");

/** @type {{x: number, y: number}[]} where the microphones were drawn last, in pixels of the page, by their indices */
let places = [];

const peakLevel = (/** @type {number} */ pascal) => 20 * Math.log10(pascal / kReference_pa);
const decibels = (/** @type {number} */ level_db) => (Number.isFinite(level_db) ? `${level_db.toFixed(1).replace("-", "−")} dB` : number(level_db));
const shownLevel = () => meters.level[/** @type {keyof typeof meters.level} */ (time.value)];

/** "dB(A)" of the processor's weighting. */
function unitOfLevels() {
  const product = known.layouts.get(metersOf())?.products.find(({ name }) => name === "level");
  const weighting = /([AC])-weighted/.exec(product?.quantity ?? "")?.[1];
  return weighting ? `dB(${weighting})` : "dB";
}

/**
 * Top of the scale, dB: it rises with the largest level or peak so far, and thus does not follow the sound.
 * @param {"map" | "bars"} kind
 */
function top_db(kind) {
  const most_db = kind === "map" ? powerLevel(meters.most) : peakLevel(meters.hold_pa.reduce((max, peak) => (peak > max ? peak : max), 0));
  return Number.isFinite(most_db) ? 10 * Math.ceil(most_db / 10) : 100;
}

/**
 * Sizes of a drawing, in pixels of the page, and its scale.
 * @typedef {object} Sizes
 * @property {number} width
 * @property {number} height
 * @property {number} top        dB
 * @property {number} range      dB
 * @property {(name: string) => string} colour   of the page
 */

// --- the map and the bars ---

/** @param {number} t  on the scale, 0 to 1 */
function colourAt(t) {
  const [r, g, b] = colours.magnitude[Math.round(255 * Math.max(0, Math.min(1, t)))];
  return `rgb(${r}, ${g}, ${b})`;
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Sizes} sizes
 * @param {ArrayLike<number>} level
 */
function drawBars(context, { width, height, top, range, colour }, level) {
  const [left, below, above] = [30, 16, 8];
  const yOf = (/** @type {number} */ level_db) => above + (height - above - below) * Math.max(0, Math.min(1, (top - level_db) / range));
  context.fillStyle = colour("--dim");
  context.strokeStyle = colour("--line");
  for (let level_db = top; level_db >= top - range; level_db -= 10) {
    context.textAlign = "right";
    if ((top - level_db) % 20 === 0) context.fillText(String(level_db), left - 4, yOf(level_db));
    context.strokeRect(left, yOf(level_db), width - left, 0);
  }
  const step = (width - left) / level.length;
  places = Array.from(level, (power, i) => {
    const x = left + i * step;
    const y = yOf(powerLevel(power));
    context.fillStyle = colourAt((powerLevel(power) - top + range) / range);
    if (power > 0) context.fillRect(x + 0.1 * step, y, 0.8 * step, height - below - y);
    context.fillStyle = colour("--text");
    if (meters.hold_pa[i] > 0) context.fillRect(x + 0.1 * step, yOf(peakLevel(meters.hold_pa[i])) - 1, 0.8 * step, 2);
    context.fillStyle = colour("--over");
    if (meters.isOver[i]) context.fillRect(x + 0.05 * step, 0, 0.9 * step, above - 1);
    context.fillStyle = colour("--dim");
    context.textAlign = "center";
    if (i % Math.ceil(24 / step) === 0 && x + step / 2 < width - 8) context.fillText(String(meters.channels[i]), x + step / 2, height - 7);
    return { x: x + step / 2, y: height / 2 };
  });
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Sizes} sizes
 * @param {ArrayLike<number>} level
 */
function drawMap(context, { width, height, top, range, colour }, level) {
  const below = 26;
  const room = Math.min(width, height - below) - 16;
  const radius = Math.max(1.5, Math.min(9, (0.42 * room) / Math.sqrt(level.length)));
  const all = placesOfMicrophones();
  places = meters.channels.map((number_) => ({ x: width / 2 + (all[number_].x - 0.5) * room, y: (height - below) / 2 + (all[number_].y - 0.5) * room }));
  places.forEach(({ x, y }, i) => {
    context.beginPath();
    if (meters.isOver[i]) context.rect(x - radius, y - radius, 2 * radius, 2 * radius);  // the form differs as well as the colour
    else context.arc(x, y, radius, 0, 2 * Math.PI);
    context.fillStyle = meters.isOver[i] ? colour("--over") : colourAt((powerLevel(level[i]) - top + range) / range);
    context.strokeStyle = colour(meters.isOver[i] ? "--text" : "--line");
    if (level[i] > 0) context.fill();
    if (meters.isOver[i] || !(level[i] > 0)) context.stroke();
  });
  for (let x = 0; x < width; ++x) {
    context.fillStyle = colourAt(x / (width - 1));
    context.fillRect(x, height - 20, 1, 6);
  }
  context.fillStyle = colour("--dim");
  for (const [share, align] of /** @type {[number, CanvasTextAlign][]} */ ([[0, "left"], [0.5, "center"], [1, "right"]])) {
    context.textAlign = align;
    context.fillText(`${top - range * (1 - share)} dB`, share * width, height - 6);
  }
}

const hasMap = () => known.microphones_m.length > 0 && meters.channels.every((one) => one < known.microphones_m.length);

function draw() {
  requestAnimationFrame(draw);
  if (!view.open.has("meters-panel") || canvas.hidden || !meters.isUndrawn) return;
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  if (width === 0) return;
  meters.isUndrawn = false;
  const context = contextOf(canvas, width, height);
  const style = getComputedStyle(canvas);
  const colour = (/** @type {string} */ name) => style.getPropertyValue(name);
  context.font = "11px system-ui, sans-serif";
  context.textBaseline = "middle";
  const kind = form.value === "bars" || !hasMap() ? "bars" : "map";
  const drawn = kind === "bars" ? drawBars : drawMap;
  drawn(context, { width, height, top: top_db(kind), range: kRange_db[kind], colour }, shownLevel());
  const chosen = places[meters.channels.indexOf(channel.valueAsNumber)];
  if (!chosen) return;
  context.strokeStyle = colour("--accent");
  context.lineWidth = 2;
  const [across, down] = kind === "map" ? [12, 12] : [Math.max(6, width / places.length), height - 40];
  context.strokeRect(chosen.x - across / 2, chosen.y - down / 2, across, down);
}
requestAnimationFrame(draw);

/** @param {PointerEvent} event  chooses the microphone that is nearest to it */
function choose(event) {
  const box = canvas.getBoundingClientRect();
  const [x, y] = [event.clientX - box.left, event.clientY - box.top];
  const distances = places.map((place) => Math.hypot(place.x - x, form.value === "bars" ? 0 : place.y - y));
  const nearest = distances.indexOf(Math.min(...distances));
  if (nearest < 0) return;
  channel.value = String(meters.channels[nearest]);
  redraw();
}
canvas.addEventListener("pointermove", choose);
canvas.addEventListener("pointerdown", choose);

function redraw() {
  meters.isUndrawn = true;
  changed();
}
for (const control of [time, form, channel]) control.addEventListener("input", redraw);
matchMedia("(prefers-color-scheme: light)").addEventListener("change", redraw);
new ResizeObserver(redraw).observe(canvas);

// --- texts ---

/** The loudest and the quietest microphone, and those at full scale. */
function endsText() {
  const level = shownLevel();
  const { loudest, quietest } = meters.ends(level);
  const named = (/** @type {number} */ i) => `microphone ${microphoneText(meters.channels[i])}, ${decibels(powerLevel(level[i])).replace("dB", unitOfLevels())}`;
  const silent = meters.channels.filter((_, i) => !Number.isFinite(level[i]));
  const over = meters.channels.filter((_, i) => meters.isOver[i]);
  const listed = (/** @type {number[]} */ all) => `${all.slice(0, kNamed).map(microphoneText).join(", ")}${all.length > kNamed ? ` and ${all.length - kNamed} more` : ""}`;
  return [
    loudest < 0 ? "No microphone has a level" : `Loudest: ${named(loudest)}; quietest: ${named(quietest)}`,
    silent.length > 0 && loudest >= 0 ? `without a level: ${listed(silent)}` : "",
    over.length > 0 ? `overloaded: ${listed(over)}` : Number.isFinite(meters.limit()) ? "" : "full scale is not known, and no overload is marked",
  ].filter((text) => text !== "").join("; ");
}

/** @returns {string[][]} the numbers of the chosen microphone */
function rowsOfOne() {
  const chosen = channel.valueAsNumber;
  const i = meters.channels.indexOf(chosen);
  if (i < 0) return channel.value === "" && !channel.validity.badInput ? [] : [["microphone", `expected ${channel.min} to ${channel.max}`]];
  const place = known.microphones_m[meters.channels[i]];
  const unit = unitOfLevels();
  const level = (/** @type {number} */ power) => decibels(powerLevel(power)).replace("dB", unit);
  const peak = (/** @type {number} */ pascal) => `${decibels(peakLevel(pascal))} (${number(pascal)} Pa)`;
  return [
    ...(microphoneText(chosen) === String(chosen) ? [] : [["microphone", microphoneText(chosen)]]),
    ["fast, slow", `${level(meters.level.fast[i])}, ${level(meters.level.slow[i])}`], ["window", level(meters.level.window[i])],
    ["peak", peak(meters.peak_pa[i])], ["peak held", `${peak(meters.hold_pa[i])}${meters.isOver[i] ? ", overloaded" : ""}`],
    ["offset", `${number(meters.offset_pa[i])} Pa`], ["place", place ? `${place.map((one) => number(one)).join(", ")} m` : "–"],
  ];
}

/** Words on what the levels are, and what of the peaks this page has not received. */
function sourceText() {
  const name = metersOf();
  if (!name) return "";
  const unknown = isOfSamples() && known.status?.input?.pascal_per_unit === null
    ? " The unit of the samples is not known (array.pascal_per_unit): levels are right only if 1 is 1 Pa." : "";
  const missed = meters.missed > 0 ? `, without ${meters.missed} of ${meters.frames + meters.missed} windows, which this page did not receive` : "";
  const heard = (known.rings[name]?.rate_hz * Number.parseInt(settingIn(known.config, `  ${name}`, "window_samples"), 10)) / known.status?.input?.sample_rate_hz;
  const between = heard < 0.97 ? ` Windows are ${Math.round(100 * heard)} % of the time: what is between them is not measured.` : "";
  return `Levels re 20 µPa by the processor ${name}. Peaks and overloads since ${meters.since.toLocaleTimeString("sv")}${missed}.${between}${unknown}`;
}

subscribe(() => {
  const name = metersOf();
  const has = name !== "" && meters.channels.length > 0;
  for (const id of ["meters", "meters-choices", "meters-ends", "meters-one-row", "meters-clear"]) element(id, HTMLElement).hidden = !has;
  setText("meters-text", sourceText());
  element("meters-add", HTMLButtonElement).hidden = name !== "";
  element("meters-remove", HTMLButtonElement).hidden = name === "";
  showOffer(name);
  if (!has) return;
  const forms = [...(hasMap() ? [{ value: "map", text: "Map" }] : []), ...(meters.channels.length <= kMostBars ? [{ value: "bars", text: "Bars" }] : [])];
  if (forms.length === 0) forms.push({ value: "bars", text: "Bars" });
  const wanted = forms.some(({ value }) => value === form.value) ? form.value : meters.channels.length <= kMostBars ? "bars" : forms[0].value;
  fillSelect(form, forms, wanted);
  const ends = endsText();
  setText("meters-ends", `${ends}.`);
  canvas.setAttribute("aria-label", `Levels of ${meters.channels.length} microphones. ${ends}`);
  [channel.min, channel.max] = [Math.min, Math.max].map((end) => String(end(...meters.channels)));
  fillTable("meters-one", rowsOfOne());
  const fullScale = fullScale_pa();
  input("meters-limit").placeholder = Number.isFinite(fullScale) ? `${decibels(peakLevel(meters.limit()))}: 0.95 of full scale` : "not known";
}, "meters-panel");

onClick("meters-clear", () => {
  meters.clear();
  changed();
});
input("meters-limit").addEventListener("input", () => {
  const level_db = input("meters-limit").valueAsNumber;
  meters.limit_pa = Number.isNaN(level_db) ? NaN : kReference_pa * 10 ** (level_db / 20);
  changed();
});

// --- the processor ---

/** Settings of the page's own meters, of windows that follow each other. */
function settingsOfMeters() {
  const rate_hz = known.status?.input?.sample_rate_hz ?? 46875;
  const samples = 2 ** Math.ceil(Math.log2(kWindow_s * rate_hz));
  const everyHops = Math.max(1, Math.floor((known.status.hop_rate_hz * samples) / rate_hz));
  return ["processors.meters.kind=levels", `processors.meters.every_hops=${everyHops}`, `processors.meters.window_samples=${samples}`, "processors.meters.weighting=z"];
}

/** @param {string} name  of the processor; empty if there is none */
function showOffer(name) {
  const [add, remove] = ["meters-add", "meters-remove"].map((id) => element(id, HTMLButtonElement));
  add.disabled = !known.isWritable || !known.status;
  remove.disabled = !known.isWritable;
  element("meters-weighting-row", HTMLElement).hidden = name === "";
  const weighting = element("meters-weighting", HTMLSelectElement);
  weighting.disabled = !known.isWritable;
  if (document.activeElement !== weighting) weighting.value = /\((.)\)/.exec(unitOfLevels())?.[1].toLowerCase() ?? "z";
  const token = known.isWritable ? "" : " This page may only look on: open it with a token for that.";
  const words = name || !known.status ? "" : `No processor measures the levels of the microphones. “Add the meters” sets ${settingsOfMeters().join(" ")}: a new configuration, in some seconds, until the daemon ends or the meters are removed.${token}`;
  setText("meters-offer", words);
}

const say = (/** @type {string} */ text) => setText("meters-answer", text);
const kPreparing = "The daemon prepares the new configuration …";

onClick("meters-add", () => { answered(say, () => link.control({ command: "set", settings: settingsOfMeters() }), kPreparing); });
element("meters-weighting", HTMLSelectElement).addEventListener("change", (event) => {
  const weighting = /** @type {HTMLSelectElement} */ (event.target).value;
  answered(say, () => link.control({ command: "set", settings: [`processors.${metersOf()}.weighting=${weighting}`] }), kPreparing);
});

onClick("meters-remove", () => { answered(say, () => link.control({ command: "set", settings: [`processors.${metersOf()}=null`] }), kPreparing); });
