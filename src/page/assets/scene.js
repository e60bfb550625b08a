// The picture in view, drawn on the stage, and the banner above it.

import { apertureOf } from "./aperture.js";
import { conditionNow, kLive_ms } from "./condition.js";
import { Drawing } from "./drawing.js";
import { noteLatency } from "./latency.js";
import { marksOf } from "./marks.js";
import { element, setText } from "./page.js";
import { fitScale, isToFit, lookOf, outsideText } from "./scale.js";
import { barOf, Stage } from "./stage.js";
import { background, draws, heldText, hold, markDirty, referenceOf, shown, turn, view } from "./store.js";
import { levelRule } from "./units.js";

const kAge_ms = 250;     // numbers that change with each picture are unreadable
const kMostDraws = 600;

const box = element("stage", HTMLElement);
const veil = element("veil", HTMLElement);
export const colours = await (await fetch("/colours.json")).json();
export const drawing = new Drawing(element("field", HTMLCanvasElement), colours);
export const stage = new Stage(box, drawing, colours);

/** The contents of the textures. */
const uploaded = {
  /** @type {Float32Array | null} */
  field: null,
  /** @type {Float32Array | null} */
  kept: null,
};
stage.changed = markDirty;
drawing.restored = () => { uploaded.field = uploaded.kept = null; markDirty(); };

/** @param {string} text  on the scale, in the caption; empty if there is nothing to say */
function sayOutside(text) {
  element("outside", HTMLElement).hidden = text === "";
  setText("outside-text", text);
}

/**
 * Draws the view.
 * @param {boolean} isNew  the picture was not drawn before
 */
export function draw(isNew) {
  const now = shown();
  showCondition(isNew);
  const grid = now?.picture.grid;
  if (!now || !grid) {
    sayOutside("");
    return drawing.clear();
  }
  const { picture, values } = now;
  noteLatency();
  if (isToFit(picture)) fitScale(picture, values);
  if (uploaded.field !== values || !view.isFrozen) {
    drawing.setField(values, grid.columns, grid.rows);
    if (uploaded.field?.length !== values.length) uploaded.kept = null;
    uploaded.field = values;
  }
  const kept = view.choice.mode.endsWith("Difference") ? referenceOf(picture) : null;
  if (kept && uploaded.kept !== kept.values) {
    drawing.setKept(kept.values);
    uploaded.kept = kept.values;
  }
  const look = lookOf(picture.product, values);
  sayOutside(outsideText(look, values));  // with the drawing, not with the caption: it is true of what is seen
  const isAligning = background.clicks !== null;
  if (isAligning) look.opacity = 0;
  return stage.draw({
    grid, look, bar: barOf(look, picture.product.unit, levelRule(picture.product)?.text ?? ""), marks: marksOf(picture, values), aperture: apertureOf(picture), turn: turn(), isAligning,
    surface: view.choice.form === "surface" ? view.surface : null,
    background: background.image && { image: background.image, matrix: background.clicks ? null : background.matrix },
  });
}

/** The veil covers a live picture by itself after its time, even if this thread is blocked: the compositor runs it. */
const veilAnimation = veil.animate([{ opacity: 0, offset: 0 }, { opacity: 0, offset: 0.999 }, { opacity: 1, offset: 1 }],
  { duration: 1000 * view.choice.greyAfterS, fill: "both" });

let ageShown_ms = 0;
let conditionShown = "";

/** Describes values that are not the picture's own. */
function otherText() {
  const held = view.choice.hold !== "none" && !view.isFrozen && hold.count > 0 ? `${view.choice.hold} of ${hold.count} pictures` : "";
  if (!view.isFlipped || !view.kept) return held;
  return ["the reference is shown", heldText(view.kept)].filter((text) => text !== "").join(", ");
}

/**
 * Banner, grey and veil, by the picture's age at this moment.
 * @param {boolean} isNew
 */
function showCondition(isNew) {
  const condition = conditionNow();
  const { age_ms, old_ms } = condition;
  element("banner", HTMLElement).className = condition.kind;
  setText("condition", condition.text);
  const now_ms = performance.now();
  if (now_ms - ageShown_ms > kAge_ms || condition.text !== conditionShown) {
    ageShown_ms = now_ms;
    conditionShown = condition.text;
    setText("age", [condition.age, otherText()].filter((text) => text !== "").join(", "));
  }
  setText("notes", condition.notes.join(" · "));
  box.classList.toggle("not-live", condition.kind === "stopped");
  box.classList.toggle("frozen", condition.kind === "frozen");
  veil.hidden = condition.kind === "frozen";
  if (condition.isLive && age_ms !== null) {
    veilAnimation.effect?.updateTiming({ duration: old_ms });
    veilAnimation.currentTime = Math.max(0, Math.min(age_ms, old_ms));
    veilAnimation.play();
  } else {
    veilAnimation.finish();
  }
  if (isNew) {
    draws.push({ at_ms: performance.now(), age_ms, isLive: condition.isLive, isNew });
    if (draws.length > kMostDraws) draws.shift();
  }
}

setInterval(() => showCondition(false), kLive_ms / 2);
