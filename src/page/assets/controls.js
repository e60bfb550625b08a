// Controls and keys.

import { followSources, look, picturesOf, showChoices, stepAxis } from "./choice.js";
import { moveCursor, setCursor } from "./cursors.js";
import { followSpectrum, spectrumHere } from "./curves.js";
import { saveCsv, savePicture, saveSeconds, saveSnapshot } from "./files.js";
import { keyboard } from "./keys.js";
import { element, setText } from "./page.js";
import { align, clickPhoto, connectPhoto } from "./photograph.js";
import { showPanels } from "./refresh.js";
import { autoOnce, changeScale, setTop } from "./scale.js";
import { history, hold, known, markDirty, photo, reducedMotion, stage, ui, view } from "./state.js";
import { flip, freeze, goTo, keepReference, play } from "./transport.js";
import { levelRule } from "./units.js";

/** @param {HTMLSelectElement} choice @param {number} step */
function cycle(choice, step) {
  const options = [...choice.options];
  let index = choice.selectedIndex;
  do index = (index + step + options.length) % options.length; while (options[index].disabled);
  choice.selectedIndex = index;
  choice.dispatchEvent(new Event("change"));
}

function rotate() {
  view.quarters = (view.quarters + 1) % 4;
  markDirty();
}

export function showAnimation() {
  ui.animate.disabled = ui.mode.value !== "real" || reducedMotion.matches;
  setText(element("speed-text", HTMLElement), reducedMotion.matches ? "(this system asks for reduced motion)" : ui.speed.value);
}

/** @param {number} turn_rad @param {number} tilt_rad */
function turnSurface(turn_rad, tilt_rad) {
  stage.view.turn_rad += turn_rad;
  stage.view.tilt_rad = Math.max(0.05, Math.min(1.55, stage.view.tilt_rad + tilt_rad));
  markDirty();
}

/** @param {number} factor */
function zoomSurface(factor) {
  stage.view.distance = Math.max(1.4, Math.min(6, stage.view.distance * factor));
  markDirty();
}

function connectStage() {
  /** @type {{x: number, y: number, moved: boolean} | null} */
  let grip = null;
  ui.stage.addEventListener("pointerdown", (event) => {
    grip = { x: event.clientX, y: event.clientY, moved: false };
  });
  ui.stage.addEventListener("pointermove", (event) => {
    if (!grip || event.buttons === 0 || ui.form.value !== "surface") return;
    turnSurface((event.clientX - grip.x) * 0.01, (event.clientY - grip.y) * 0.01);
    grip = { x: event.clientX, y: event.clientY, moved: true };
  });
  ui.stage.addEventListener("click", (event) => {
    const box = ui.stage.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left - ui.stage.clientLeft, event.clientY - box.top - ui.stage.clientTop];
    if (photo.clicks) return clickPhoto(x, y);
    if (ui.form.value === "surface") return undefined;
    const place = stage.placeAt(x, y);
    setCursor({ x: place[0], y: place[1] }, event.shiftKey);
    return undefined;
  });
  ui.stage.addEventListener("wheel", (event) => {
    if (ui.form.value !== "surface") return;
    event.preventDefault();
    zoomSurface(event.deltaY > 0 ? 1.1 : 1 / 1.1);
  }, { passive: false });
}

export function connectControls() {
  ui.processor.addEventListener("change", () => {
    const [product] = picturesOf(known.layouts.get(ui.processor.value));
    if (view.isFrozen) freeze(false);
    if (product) look(ui.processor.value, product.name);
  });
  ui.product.addEventListener("change", () => {
    if (view.isFrozen) freeze(false);
    look(view.processor, ui.product.value);
  });
  ui.mostHz.addEventListener("change", () => {
    if (!view.isFrozen) look(view.processor, view.product);  // otherwise when it is live again
  });
  for (const control of [ui.mode, ui.form, ui.animate, ui.smooth, ui.side, ui.mirror, ui.photoShow, ui.photoOpacity, ui.showPeaks]) {
    control.addEventListener("change", () => {
      showAnimation();
      stage.photoKey = "";
      stage.overlayKey = "";
      markDirty();
    });
  }
  ui.photoOpacity.addEventListener("input", markDirty);
  ui.speed.addEventListener("input", showAnimation);
  ui.hold.addEventListener("change", () => { hold.reset(); markDirty(); });
  element("hold-reset", HTMLButtonElement).addEventListener("click", () => { hold.reset(); markDirty(); });
  ui.decibels.addEventListener("change", () => changeScale((scale) => { scale.isDb = ui.decibels.checked; }));
  ui.top.addEventListener("change", () => setTop(ui.top.valueAsNumber));
  for (const input of [ui.range, ui.rangeNumber]) {
    input.addEventListener("input", () => changeScale((scale) => {
      const range = input.valueAsNumber;
      if (range >= 1 && range <= 120) scale.range_db = range;
    }));
  }
  element("auto", HTMLButtonElement).addEventListener("click", autoOnce);
  ui.scaleHold.addEventListener("change", markDirty);
  element("rotate", HTMLButtonElement).addEventListener("click", rotate);
  ui.freeze.addEventListener("click", () => freeze(!view.isFrozen));
  ui.back.addEventListener("click", () => goTo(view.index - 1));
  ui.forward.addEventListener("click", () => goTo(view.index + 1));
  ui.play.addEventListener("click", () => play(!view.isPlaying));
  ui.position.addEventListener("input", () => goTo(ui.position.valueAsNumber));
  ui.keep.addEventListener("click", keepReference);
  ui.flip.addEventListener("click", flip);
  element("snapshot", HTMLButtonElement).addEventListener("click", savePicture);
  element("save-csv", HTMLButtonElement).addEventListener("click", saveCsv);
  element("save-seconds", HTMLButtonElement).addEventListener("click", saveSeconds);
  element("clear-cursors", HTMLButtonElement).addEventListener("click", () => { view.cursors = []; markDirty(); showPanels(); });
  ui.spectrumProcessor.addEventListener("change", followSpectrum);
  ui.sourcesOf.addEventListener("change", () => { followSources(); markDirty(); showPanels(); });
  element("lines-panel", HTMLDetailsElement).addEventListener("toggle", followSpectrum);
  element("spectrum-here", HTMLButtonElement).addEventListener("click", spectrumHere);
  for (const panel of document.querySelectorAll("details")) panel.addEventListener("toggle", showPanels);
  connectStage();
  connectPhoto();
}

export function connectKeys() {
  keyboard({
    " ": ["Freeze, and go on live", () => freeze(!view.isFrozen)],
    ",": ["One picture back", () => goTo((view.isFrozen ? view.index : history.length - 1) - 1)],
    ".": ["One picture forward", () => goTo((view.isFrozen ? view.index : history.length - 1) + 1)],
    "l": ["Play the last minute, and stop", () => play(!view.isPlaying)],
    "a": ["Fit the scale once", autoOnce],
    "d": ["Decibels or linear", () => changeScale((scale, product) => { scale.isDb = !scale.isDb && levelRule(product) !== null; })],
    "+": ["A larger range of the scale; surface: nearer", () => (ui.form.value === "surface" ? zoomSurface(1 / 1.1) : changeScale((scale) => { scale.range_db = Math.min(120, scale.range_db + 5); }))],
    "-": ["A smaller range of the scale; surface: farther", () => (ui.form.value === "surface" ? zoomSurface(1.1) : changeScale((scale) => { scale.range_db = Math.max(5, scale.range_db - 5); }))],
    "m": ["Next value: magnitude, phase, real part, differences", () => cycle(ui.mode, 1)],
    "p": ["Animate the phase, or stop it", () => { ui.mode.value = "real"; ui.animate.checked = !ui.animate.checked; showAnimation(); showChoices(); markDirty(); }],
    "3": ["Surface or map", () => cycle(ui.form, 1)],
    "h": ["Next hold: none, maximum, mean", () => cycle(ui.hold, 1)],
    "f": ["Next frequency", () => stepAxis("frequency", 1)],
    "F": ["Previous frequency", () => stepAxis("frequency", -1)],
    "z": ["Next plane", () => stepAxis("z", 1)],
    "Z": ["Previous plane", () => stepAxis("z", -1)],
    "k": ["Keep as reference", keepReference],
    "b": ["Show the reference, and back", flip],
    "s": ["Save the picture as PNG, and the seconds before as JSON", saveSnapshot],
    "r": ["Turn by 90°", rotate],
  }, {
    arrow(x, y) {
      if (ui.form.value === "surface") turnSurface(0.08 * x, 0.08 * y);
      else moveCursor(x, y);
    },
    escape() {
      if (photo.clicks) align(false);
      ui.prompt.hidden = true;
    },
  }, ui.stage);
}
