// Display: the picture in view, its age, the banner, and the drawing of each frame of the display.

import { conditionOf, kColours_ms, limitsOf } from "./condition.js";
import { element, setText } from "./page.js";
import { obstacleToCompare } from "./picture.js";
import { fitScale, isToFit, lookOf } from "./scale.js";
import { placeOnMap } from "./sources.js";
import { barOf } from "./stage.js";
import { drawing, draws, hold, kEarliest_ms, kMostDraws, kNotes_ms, known, kOwnSources, kPanels_ms, kPictures, kSources, kSpectrum, paint, photo, reducedMotion, stage, ui, view } from "./state.js";
import { link } from "./stream.js";
import { playOn } from "./transport.js";
import { levelOf, levelRule, number } from "./units.js";
import { peaksOf, pixelAt } from "./values.js";

/**
 * @typedef {import("./picture.js").Picture} Picture
 * @typedef {import("./state.js").Shown} Shown
 */

/**
 * The picture in view, with its shown values.
 * @returns {Shown | null}
 */
export function shown() {
  if (view.isFlipped && view.kept) return view.kept;
  const picture = pictureInView();
  if (!picture) return null;
  if (!view.isFrozen && hold.count > 0) {
    if (ui.hold.value === "max") return { picture, values: hold.maximum, held: "max", count: hold.count };
    if (ui.hold.value === "mean") return { picture, values: hold.mean(), held: "mean", count: hold.count };
  }
  return { picture, values: picture.values, held: "", count: 1 };
}

/**
 * The reference, if a picture can be compared with it.
 * @param {Picture} picture
 */
export function referenceOf(picture) {
  return view.kept && obstacleToCompare(view.kept.picture, picture.layout, picture.product) === "" ? view.kept : null;
}

/** The picture whose age and flags apply to the display. */
function pictureInView() {
  if (view.isFlipped && view.kept) return view.kept.picture;
  return view.isFrozen ? view.frozen : known.newest;
}

/** @param {Shown} now  "max of 12 pictures"; empty for a picture as it came */
export const heldText = (now) => (now.held === "" ? "" : `${now.held} of ${now.count} pictures`);

/**
 * Its current age, ms; null if unknown: a picture that seems to be from the future shows that the clocks are unknown.
 * @param {Picture} picture
 */
export function ageOf(picture) {
  const now = link.serverNow_ms();
  const age_ms = now === null ? null : now - picture.head.capture_mono_ms;
  return age_ms !== null && age_ms < kEarliest_ms ? null : age_ms;
}

const isAnimating = () => ui.mode.value === "real" && ui.animate.checked && !reducedMotion.matches;
export const isPhotoShown = () => photo.image !== null && ui.photoShow.checked;
export const turn = () => ({ mirror: ui.mirror.checked !== (ui.side.value === "back"), quarters: view.quarters });

/**
 * The table of the sources that are drawn over a picture.
 * @param {Picture} picture
 */
export const sourcesAt = (picture) => known.sources.at(picture, ui.sourcesOf.value === kOwnSources ? picture.layout.processor : ui.sourcesOf.value);

/** @param {Picture} picture @param {Float32Array} values @returns {import("./stage.js").Mark[]} */
export function marksOf(picture, values) {
  const grid = picture.grid;
  if (!grid) return [];
  /** @type {import("./stage.js").Mark[]} */
  const marks = [];
  const table = sourcesAt(picture);
  table?.table.x?.forEach((x, i) => {
    const { id, y, z, level_db, confidence } = table.table;
    const isDirection = table.product.columns.find((column) => column.name === "x")?.unit !== "m";
    const place = placeOnMap({ x, y: y?.[i], z: z?.[i] }, isDirection, picture, known.standoff_m);
    if (!place || !pixelAt(grid, place.x, place.y)) return;
    const words = [level_db ? `${number(level_db[i], 3)} dB` : "", confidence ? `${Math.round(100 * confidence[i])} %` : ""];
    marks.push({ ...place, text: `${id?.[i] ?? i + 1}: ${words.filter((text) => text !== "").join(", ")}`, kind: "source" });
  });
  if (ui.showPeaks.checked) {
    const rule = levelRule(picture.product);
    for (const peak of peaksOf(grid, values, 6)) {
      const text = rule ? `${number(levelOf(rule, peak.magnitude), 4)} dB` : number(peak.magnitude);
      marks.push({ x: grid.across.values[peak.column], y: grid.down.values[peak.row], text, kind: "peak" });
    }
  }
  view.cursors.forEach(({ x, y }, i) => marks.push({ x, y, text: i === 0 ? "A" : "B", kind: i === 0 ? "cursor" : "second" }));
  return marks;
}

/**
 * Draws the view.
 * @param {boolean} isNew  the picture was not drawn before
 */
export function draw(isNew) {
  const now = shown();
  showCondition(isNew);
  if (!now || !now.picture.grid) {
    drawing.clear();
    return;
  }
  const { picture, values } = now;
  const grid = /** @type {import("./picture.js").Grid} */ (picture.grid);
  if (isToFit(picture)) fitScale(picture, values);
  if (paint.uploaded !== values || !view.isFrozen) {
    drawing.setField(values, grid.columns, grid.rows);
    if (paint.uploaded?.length !== values.length) paint.uploadedKept = null;
    paint.uploaded = values;
  }
  const isComparing = ui.mode.value.endsWith("Difference");
  const kept = isComparing ? referenceOf(picture) : null;
  if (kept && paint.uploadedKept !== kept.values) {
    drawing.setKept(kept.values);
    paint.uploadedKept = kept.values;
  }
  const look = lookOf(picture.product);
  const rule = levelRule(picture.product);
  stage.draw({
    grid, look, bar: barOf(look, picture.product.unit, rule?.text ?? ""), marks: marksOf(picture, values), turn: turn(),
    isSurface: ui.form.value === "surface",
    photo: isPhotoShown() && photo.image ? { image: photo.image, matrix: photo.clicks ? null : photo.matrix } : null,
  });
}

/** The flags and losses of the last seconds. */
function recentNotes() {
  const now = performance.now();
  known.notes = known.notes.filter((note) => now - note.at < kNotes_ms);
  const head = view.isFrozen || view.isFlipped ? pictureInView()?.head : null;
  if (head) return { flags: head.flags, missing: head.missing_bit_times, shed: head.shed_hops };
  return known.notes.reduce((all, note) => ({
    flags: all.flags | note.flags, missing: Math.max(all.missing, note.missing), shed: Math.max(all.shed, note.shed),
  }), { flags: 0, missing: 0, shed: 0 });
}

/** The largest age of a picture drawn in the last seconds, at its drawing, ms: makes rare delays readable. */
function latestDraw_ms() {
  const from_ms = performance.now() - kNotes_ms;
  let most_ms = 0;
  for (let i = draws.length - 1; i >= 0 && draws[i].at_ms >= from_ms; --i) if (draws[i].isLive) most_ms = Math.max(most_ms, draws[i].age_ms ?? 0);
  return most_ms;
}

/** The veil covers a live picture by itself after its time, even if this thread is blocked: the compositor runs it. */
const veilAnimation = ui.veil.animate([{ opacity: 0, offset: 0 }, { opacity: 0, offset: 0.999 }, { opacity: 1, offset: 1 }],
  { duration: kColours_ms, fill: "both" });

let ageShown_ms = 0;
let conditionShown = "";

/** Describes values that are not the picture's own. */
function otherText() {
  const held = ui.hold.value !== "none" && !view.isFrozen && hold.count > 0 ? `${ui.hold.value} of ${hold.count} pictures` : "";
  if (!view.isFlipped || !view.kept) return held;
  return ["the reference is shown", heldText(view.kept)].filter((text) => text !== "").join(", ");
}

/**
 * Banner, grey and veil, by the picture's age at this moment.
 * @param {boolean} isNew
 */
export function showCondition(isNew) {
  const picture = pictureInView();
  const age_ms = picture ? ageOf(picture) : null;
  const ring = known.rings[view.processor] ?? null;
  const limits = limitsOf(ring?.rate_hz === undefined ? Number(ui.mostHz.value) : Math.min(ring.rate_hz, Number(ui.mostHz.value)));
  const condition = conditionOf({
    isOpen: link.isOpen, isFrozen: view.isFrozen, isReference: view.isFlipped, ring, ringError: known.ringError, status: known.status, statusError: known.statusError,
    head: picture?.head ?? null, age_ms, latest_ms: latestDraw_ms(), ...limits, error: known.subscribeError,
    recording: known.player?.recording ?? "", playerText: known.playerText, ...recentNotes(),
  });
  const banner = element("banner", HTMLElement);
  if (banner.className !== condition.kind) banner.className = condition.kind;
  setText(element("condition", HTMLElement), condition.text);
  const now_ms = performance.now();
  if (now_ms - ageShown_ms > kPanels_ms || condition.text !== conditionShown) {  // numbers that change with each picture are unreadable
    ageShown_ms = now_ms;
    conditionShown = condition.text;
    setText(element("age", HTMLElement), [condition.age, otherText()].filter((text) => text !== "").join(", "));
  }
  setText(element("notes", HTMLElement), condition.notes.join(" · "));
  ui.stage.classList.toggle("not-live", condition.kind === "stopped");
  ui.stage.classList.toggle("frozen", condition.kind === "frozen");
  ui.veil.hidden = condition.kind === "frozen";
  if (condition.isLive && age_ms !== null) {
    veilAnimation.effect?.updateTiming({ duration: limits.old_ms });
    veilAnimation.currentTime = Math.max(0, Math.min(age_ms, limits.old_ms));
    veilAnimation.play();
  } else {
    veilAnimation.finish();
  }
  if (isNew) {
    draws.push({ at_ms: performance.now(), age_ms, isLive: condition.isLive, isNew });
    if (draws.length > kMostDraws) draws.shift();
  }
}

let last_ms = performance.now();

/** @param {number} now_ms */
export function onFrame(now_ms) {
  requestAnimationFrame(onFrame);
  const step_s = Math.min(0.1, Math.max(0, now_ms - last_ms) / 1000);
  last_ms = now_ms;
  if (isAnimating()) {
    view.phase = (view.phase + 2 * Math.PI * ui.speed.valueAsNumber * step_s) % (2 * Math.PI);
    paint.isDirty = true;
  }
  if (view.isPlaying) playOn(step_s);
  const isNew = known.pending !== null && !view.isFrozen;
  if (isNew || paint.isDirty) {
    paint.isDirty = false;
    known.pending = null;
    draw(isNew);
  }
  if (!view.isFrozen) {
    link.next(kPictures);
    link.next(kSources);
  }
  if (paint.spectrumIsNew) {
    paint.spectrumIsNew = false;
    link.next(kSpectrum);
  }
}
