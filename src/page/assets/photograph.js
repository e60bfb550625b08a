// The panel of the photograph, and its alignment.

import { apply, inverse } from "./geometry.js";
import { element, setText } from "./page.js";
import { edgesOf } from "./picture.js";
import { turn } from "./shown.js";
import { known, markDirty, photo, stage, ui } from "./state.js";
import { number } from "./units.js";

/**
 * The four places of the field that an alignment clicks.
 * @returns {[number, number][]}
 */
function photoPlaces() {
  const inputs = element("photo-places", HTMLTableElement).querySelectorAll("input");
  const numbers = Array.from(inputs, (input) => input.valueAsNumber);
  return [0, 2, 4, 6].map((i) => [numbers[i], numbers[i + 1]]);
}

/** Fills the table of places with the corners of the field in view, unless something was typed. */
export function offerPlaces() {
  const grid = known.newest?.grid;
  const table = element("photo-places", HTMLTableElement);
  if (!grid || photo.clicks || table.dataset.isTyped) return;
  const [x0, x1] = edgesOf(grid.across);
  const [y0, y1] = edgesOf(grid.down);
  const offered = [x0, x1, y0, y1].join();
  if (table.dataset.offered === offered) return;
  table.dataset.offered = offered;
  table.replaceChildren();
  table.oninput = () => { table.dataset.isTyped = "yes"; };
  const corners = [[x0, y0], [x1, y0], [x1, y1], [x0, y1]];
  corners.forEach((corner, i) => {
    const row = table.insertRow();
    row.insertCell().textContent = String(i + 1);
    corner.forEach((value, k) => {
      const label = document.createElement("label");
      const input = Object.assign(document.createElement("input"), { type: "number", step: "any", value: String(Number(value.toPrecision(5))) });
      label.append(k === 0 ? "x " : "y ", input);
      row.insertCell().append(label);
    });
  });
}

function showPhoto() {
  const hasImage = photo.image !== null;
  for (const control of [ui.photoShow, ui.photoAlign, ui.photoRemove]) control.disabled = !hasImage;
  ui.prompt.hidden = photo.clicks === null;
  const place = photo.clicks ? photoPlaces()[photo.clicks.length] : null;
  if (place) setText(ui.prompt, `Click place ${(photo.clicks?.length ?? 0) + 1} of 4 in the photograph: x ${number(place[0])}, y ${number(place[1])}. Esc ends it.`);
  stage.photoKey = "";
  stage.overlayKey = "";
  markDirty();
}

/** @param {boolean} begins */
export function align(begins) {
  if (begins && photo.image) {
    if (photoPlaces().length !== 4 || photoPlaces().flat().some((value) => !Number.isFinite(value))) return;
    ui.photoShow.checked = true;
    ui.form.value = "map";
    photo.clicks = [];
    ui.stage.scrollIntoView({ block: "nearest" });
  } else {
    photo.clicks = null;
  }
  showPhoto();
}

/** @param {number} x @param {number} y  on the stage */
export function clickPhoto(x, y) {
  if (!photo.image) return;
  const place = apply(inverse(stage.photoToCanvas(photo.image, turn())), x, y);
  try {
    if (photo.click(place, photoPlaces())) photo.keep().catch(() => {});
    showPhoto();
  } catch (error) {
    showPhoto();
    ui.prompt.hidden = false;
    setText(ui.prompt, /** @type {Error} */ (error).message);
  }
}

export function connectPhoto() {
  element("photo-file", HTMLInputElement).addEventListener("change", async (event) => {
    const file = /** @type {HTMLInputElement} */ (event.target).files?.[0];
    if (!file) return;
    try {
      await photo.choose(file);
      ui.photoShow.checked = true;
      ui.form.value = "map";
    } catch {
      ui.prompt.hidden = false;
      setText(ui.prompt, `${file.name} is no picture that this browser can read`);
      return;
    }
    showPhoto();
  });
  ui.photoAlign.addEventListener("click", () => align(true));
  ui.photoRemove.addEventListener("click", async () => {
    await photo.remove();
    ui.photoShow.checked = false;
    showPhoto();
  });
  photo.load().then(showPhoto, () => {});
}
