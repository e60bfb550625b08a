// The controls beside and below the picture, gestures on it, and keys.

import * as actions from "./actions.js";
import { apertureOf } from "./aperture.js";
import { clickBackground, endAlignment, misplacedText } from "./background.js";
import { toggleClip } from "./clip.js";
import { kMostBytes } from "./history.js";
import { element, fillSelect, fillTable, input, onClick, setText } from "./page.js";
import { saveSnapshot } from "./files.js";
import { apply } from "./geometry.js";
import { latencyText } from "./latency.js";
import { isOfSamples } from "./levels.js";
import { axisOf, edgesOf, entryText, selectionText, sizeOf } from "./picture.js";
import { autoOnce, changeScale, scaleInUse, setRange, setTop, widenScale } from "./scale.js";
import { stage } from "./scene.js";
import { background, chosenSources, finders, history, isOffered, known, layoutInView, obstacleToReference, productInView, reducedMotion, shown, subscribe, tell, view } from "./store.js";
import { chosenCurves, curves } from "./stream.js";
import { isSigned, levelOf, levelRule, number, unitText } from "./units.js";
import { pixelAt, rangeOf } from "./values.js";

const { choose, flip, freeze, goBy, goTo, keepReference, look, picturesOf, play, rotate, select, setCursor, stepAxis, turnSurface, zoomSurface } = actions;
const select_ = (/** @type {string} */ id) => element(id, HTMLSelectElement);
const box = element("stage", HTMLElement);

// --- choices, whose controls have their names ---

/** @type {[keyof typeof view.choice, HTMLInputElement | HTMLSelectElement][]} */
const kChoices = /** @type {(keyof typeof view.choice)[]} */ (Object.keys(view.choice)).map(
  (key) => [key, /** @type {any} */ (element(key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`), HTMLElement))]);

for (const [key, control] of kChoices) {
  control.addEventListener("input", () => {
    const kind = typeof view.choice[key];
    choose({ [key]: kind === "boolean" ? /** @type {HTMLInputElement} */ (control).checked : kind === "number" ? Number(control.value) : control.value });
  });
}

function showChoices() {
  for (const [key, control] of kChoices) {
    const value = view.choice[key];
    if (key === "spectrumOf" || key === "sourcesOf" || key === "background") continue;  // they are shown with what is offered
    if (typeof value === "boolean") /** @type {HTMLInputElement} */ (control).checked = value;
    else control.value = String(value);
  }
  for (const option of select_("mode").options) {
    option.disabled = !isOffered(option.value);
    const product = productInView();
    if (option.value === "real") setText(option, product && isSigned(product) ? "Signed value" : "Real part");
  }
  input("animate").disabled = view.choice.mode !== "real" || reducedMotion.matches;
  setText("threshold-text", `${view.choice.thresholdDb} dB`);
  setText("speed-text", reducedMotion.matches ? "(this system asks for reduced motion)" : String(view.choice.speed));
  const obstacle = obstacleToReference();
  setText("reference-text", obstacle ? `The reference is of another field: ${obstacle}.` : "");
}

// --- processor, product and axes; curves and sources ---

select_("processor").addEventListener("change", () => { freeze(false); look(select_("processor").value); });
select_("product").addEventListener("change", () => { freeze(false); look(view.processor, select_("product").value); });

function showOffers() {
  const named = (/** @type {string[]} */ names) => names.map((name) => ({ value: name, text: name }));
  const layout = layoutInView();
  fillSelect(select_("processor"), named(known.processors.filter((name) => !known.layouts.has(name) || picturesOf(known.layouts.get(name)).length > 0)), view.processor);
  fillSelect(select_("product"), picturesOf(layout).map(({ name, quantity }) => ({ value: name, text: `${name}: ${quantity}` })), view.product);
  showAxes(layout);
  const offered = curves();
  fillSelect(select_("spectrum-of"), [{ value: "", text: offered.length > 0 ? "none" : "no processor has one" },
    ...offered.map((name) => ({ value: name, text: name.replace("/", ": ") }))], chosenCurves());
  const sources = select_("sources-of");
  /** @type {HTMLElement} */ (sources.parentElement).hidden = finders().length === 0;
  fillSelect(sources, [{ value: "*", text: "the processor above" }, ...named(finders()), { value: "", text: "none" }], chosenSources());
}

/** @param {import("./picture.js").Layout | undefined} layout */
function showAxes(layout) {
  const axes = element("axes", HTMLElement);
  const names = Object.keys(view.select);
  if (axes.dataset.names !== names.join()) {
    axes.dataset.names = names.join();
    axes.replaceChildren(...names.map((name) => {
      const label = document.createElement("label");
      const choice = document.createElement("select");
      choice.dataset.axis = name;
      choice.addEventListener("change", () => select({ [name]: Number(choice.value) }));
      label.append(name[0].toUpperCase() + name.slice(1), " ", choice);
      return label;
    }));
  }
  for (const choice of axes.querySelectorAll("select")) {
    const axis = layout && axisOf(layout, choice.dataset.axis ?? "");
    if (!axis) continue;
    fillSelect(choice, Array.from({ length: sizeOf(axis) }, (_, i) => ({ value: String(i), text: entryText(axis, i) })), String(view.select[axis.name]));
  }
}

// --- the scale ---

const [decibels, top, range, rangeNumber] = ["decibels", "top", "range", "range-number"].map(input);
decibels.addEventListener("change", () => changeScale((scale) => { scale.isDb = decibels.checked; }));
top.addEventListener("change", () => setTop(top.valueAsNumber));
for (const field of [range, rangeNumber]) field.addEventListener("input", () => setRange(field.valueAsNumber));
for (const id of ["auto", "fit"]) onClick(id, autoOnce);

function showScale() {
  const product = productInView();
  if (!product) return;
  const scale = scaleInUse(product);
  decibels.checked = scale.isDb;
  decibels.disabled = scale.rule === null;
  setText("top-name", `Top, ${scale.isDb ? "dB" : unitText(product.unit) || "1"}`);
  if (document.activeElement !== top) top.value = Number.isFinite(scale.top) ? String(Number(scale.top.toPrecision(6))) : "";
  range.value = String(scale.range_db);
  if (document.activeElement !== rangeNumber) rangeNumber.value = String(scale.range_db);
}

// --- freezing, playing, comparing ---

const position = input("position");
position.addEventListener("input", () => goTo(position.valueAsNumber));
onClick("freeze", () => freeze(!view.isFrozen));
onClick("back", () => goBy(-1));
onClick("forward", () => goBy(1));
onClick("play", play);
onClick("keep", keepReference);
onClick("flip", flip);
onClick("rotate", rotate);
onClick("hold-reset", () => choose({ hold: view.choice.hold }));
onClick("clear-cursors", actions.clearCursors);

function showTransport() {
  const button = (/** @type {string} */ id, /** @type {boolean} */ isPressed, /** @type {boolean} */ isDisabled) => {
    element(id, HTMLButtonElement).setAttribute("aria-pressed", String(isPressed));
    element(id, HTMLButtonElement).disabled = isDisabled;
  };
  button("freeze", view.isFrozen, false);
  setText("freeze", view.isFrozen ? "Go on live" : "Freeze");
  button("play", view.isPlaying, !view.isFrozen);
  button("flip", view.isFlipped, view.kept === null);
  for (const id of ["back", "forward"]) element(id, HTMLButtonElement).disabled = !view.isFrozen;
  position.disabled = !view.isFrozen;
  position.max = String(Math.max(0, history.length - 1));
  position.value = String(view.isFrozen ? view.index : history.length - 1);
  const picture = view.isFrozen ? history.at(view.index) : null;
  const back_s = picture ? (history.at(history.length - 1).head.capture_mono_ms - picture.head.capture_mono_ms) / 1000 : 0;
  setText("history-text", picture ? `Picture ${view.index + 1} of ${history.length}, ${back_s.toFixed(3)} s before the last`
    : `Kept: ${number(history.seconds, 3)} s in ${history.length} pictures, ${number(history.bytes / 2 ** 20, 3)} of at most ${kMostBytes / 2 ** 20} MiB`);
}

/**
 * Text that a picture of pressure has hardly any sound: the scale is fitted to it like to a loud one.
 * @param {import("./store.js").Shown} now
 */
function silenceText({ picture: { product, layout }, values }) {
  const rule = levelRule(product);
  if (!rule || !["Pa", "Pa^2"].includes(product.unit) || !(levelOf(rule, rangeOf(values).most) < 0)) return "";
  const where = "frequency" in layout.select ? "at this frequency" : "in this picture";
  const unit = isOfSamples() && known.status?.input?.pascal_per_unit === null ? ", if 1 of the samples is 1 Pa" : "";
  return `hardly any sound ${where}: all levels are below 0 ${rule.text}${unit}`;
}

function captionText() {
  const now = shown();
  if (!now) return "";
  const { side, mirror } = view.choice;
  const { picture } = now;
  return [
    silenceText(now), apertureOf(picture)?.isExceeded ? "hatched: beyond the outermost microphones" : "", `${picture.layout.processor}, ${picture.product.quantity}`, selectionText(picture),
    `seen from ${side === "front" ? "the microphones" : "behind"}${mirror ? ", mirrored" : ""}${view.quarters ? `, turned by ${90 * view.quarters}°` : ""}`,
    misplacedText(), latencyText(),
  ].filter((text) => text !== "").join("; ");
}

subscribe(() => {
  showChoices();
  showOffers();
  showScale();
  showTransport();
  setText("caption-text", captionText());
});

for (const panel of document.querySelectorAll("details")) {
  const follow = () => {
    if (panel.open) view.open.add(panel.id);
    else view.open.delete(panel.id);
    tell();
  };
  panel.addEventListener("toggle", follow);
  follow();
}

// --- gestures on the picture ---

/** @type {{x: number, y: number} | null} */
let grip = null;
box.addEventListener("pointerdown", ({ clientX: x, clientY: y }) => { grip = { x, y }; });
box.addEventListener("pointermove", ({ buttons, clientX: x, clientY: y }) => {
  if (!grip || buttons === 0 || view.choice.form !== "surface") return;
  turnSurface((x - grip.x) * 0.01, (y - grip.y) * 0.01);
  grip = { x, y };
});
box.addEventListener("click", (event) => {
  const edge = box.getBoundingClientRect();
  const [x, y] = [event.clientX - edge.left - box.clientLeft, event.clientY - edge.top - box.clientTop];
  if (background.clicks) return clickBackground(x, y);
  if (view.choice.form === "surface") return undefined;
  const place = stage.placeAt(x, y);
  return setCursor({ x: place[0], y: place[1] }, event.shiftKey);
});
box.addEventListener("wheel", (event) => {
  if (view.choice.form !== "surface") return;
  event.preventDefault();
  zoomSurface(event.deltaY > 0 ? 1.1 : 1 / 1.1);
}, { passive: false });

/**
 * The step to the next column or row, [columns, rows], that leads most nearly in a direction of the stage, however the field lies there.
 * @param {import("./picture.js").Grid} grid
 * @param {{x: number, y: number}} from
 * @param {number} right
 * @param {number} down
 */
function stepOnField(grid, from, right, down) {
  const [left, rightEdge] = edgesOf(grid.across);
  const [top_, bottom] = edgesOf(grid.down);
  const [x0, y0] = apply(stage.toCanvas, from.x, from.y);
  const cosine = (/** @type {number[]} */ [columns, rows]) => {
    const [x, y] = apply(stage.toCanvas, from.x + (columns * (rightEdge - left)) / grid.columns, from.y + (rows * (bottom - top_)) / grid.rows);
    return ((x - x0) * right + (y - y0) * down) / Math.hypot(x - x0, y - y0);
  };
  return [[1, 0], [-1, 0], [0, 1], [0, -1]].reduce((best, step) => (cosine(step) > cosine(best) ? step : best));
}

/** @param {number} right @param {number} down  on the stage */
function moveCursor(right, down) {
  const grid = shown()?.picture.grid;
  if (!grid) return;
  const cursor = view.cursors[0] ?? { x: grid.across.values[grid.columns >> 1], y: grid.down.values[grid.rows >> 1] };
  const pixel = pixelAt(grid, cursor.x, cursor.y);
  if (!pixel) return;
  const step = stepOnField(grid, cursor, right, down);
  const column = Math.max(0, Math.min(grid.columns - 1, pixel.column + step[0]));
  const row = Math.max(0, Math.min(grid.rows - 1, pixel.row + step[1]));
  setCursor({ x: grid.across.values[column], y: grid.down.values[row] }, false);
}

// --- keys: each has a control with the same effect; "?" lists them ---

const isSurface = () => view.choice.form === "surface";

/** @type {Record<string, [string, () => void]>} effect of each key, in words and as an action */
const kKeys = {
  " ": ["Freeze, and go on live", () => freeze(!view.isFrozen)],
  ",": ["One picture back", () => goBy(-1)],
  ".": ["One picture forward", () => goBy(1)],
  "l": ["Play the last minute, and stop", play],
  "a": ["Fit the scale once", autoOnce],
  "d": ["Decibels or linear", () => changeScale((scale, product) => { scale.isDb = !scale.isDb && levelRule(product) !== null; })],
  "+": ["A larger range of the scale; surface: nearer", () => (isSurface() ? zoomSurface(1 / 1.1) : widenScale(5))],
  "-": ["A smaller range of the scale; surface: farther", () => (isSurface() ? zoomSurface(1.1) : widenScale(-5))],
  "m": ["Next value: magnitude, phase, real part, differences", () => actions.chooseNext("mode")],
  "p": ["Animate the phase, or stop it", () => choose({ mode: "real", animate: !view.choice.animate })],
  "3": ["Surface or map", () => actions.chooseNext("form")],
  "h": ["Next hold: none, maximum, mean", () => actions.chooseNext("hold")],
  "f": ["Next frequency", () => stepAxis("frequency", 1)],
  "F": ["Previous frequency", () => stepAxis("frequency", -1)],
  "z": ["Next plane", () => stepAxis("z", 1)],
  "Z": ["Previous plane", () => stepAxis("z", -1)],
  "k": ["Keep as reference", keepReference],
  "b": ["Show the reference, and back", flip],
  "s": ["Save the picture as PNG, and the seconds before as JSON", saveSnapshot],
  "c": ["Begin a clip, and end and save it", toggleClip],
  "r": ["Turn by 90°", rotate],
};
/** @type {Record<string, [number, number]>} */
const kArrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

const help = element("help", HTMLDialogElement);
onClick("help-button", () => help.showModal());
fillTable("keys", [
  ...Object.entries(kKeys).map(([key, [words]]) => [key === " " ? "Space" : /[A-Z]/.test(key) ? `Shift ${key}` : key, words]),
  ["← ↑ → ↓", "In the picture: move the cursor; surface: turn it"],
  ["Esc", "End the alignment of a picture"],
  ["?", "This list"],
]);

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey || help.open) return;
  const target = /** @type {HTMLElement} */ (event.target);
  if (target.matches("textarea, select, input:not([type=checkbox]):not([type=range])")) return;
  if (event.key === "Escape") return endAlignment();
  const arrow = kArrows[event.key];
  if (arrow ? target !== box : event.key === " " && target.matches("button, input, summary")) return;  // they handle it themselves
  const action = arrow ? () => (isSurface() ? turnSurface(0.08 * arrow[0], 0.08 * arrow[1]) : moveCursor(...arrow))
    : event.key === "?" ? () => help.showModal() : kKeys[event.key]?.[1];
  if (!action) return;
  event.preventDefault();
  action();
});
