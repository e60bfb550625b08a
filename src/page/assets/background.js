// The picture behind the field, a photograph or a camera's frames, and the four clicks that lay the field on it. An alignment is kept in this
// browser, for its picture, array and pair of axes.

import { choose } from "./actions.js";
import { closeCamera, offeredCameras, onCameras, openCamera } from "./camera.js";
import { apply, inverse, projective } from "./geometry.js";
import { latencyText } from "./latency.js";
import { closeHostCamera, openHostCamera } from "./host_camera.js";
import { element, fillSelect, input, keep, onClick, readKept, setText } from "./page.js";
import { hasPhotograph, removePhotograph, showPhotograph, takePhotograph } from "./photograph.js";
import { axisOf, edgesOf, entryText, planeOf } from "./picture.js";
import { stage } from "./scene.js";
import { background, changed, known, layoutInView, productInView, subscribe, turn, view } from "./store.js";
import { number } from "./units.js";

const kAlignments = "alignment ";
const kCamera = "camera ";
const kHostCamera = "host";
/** Axes across which a plane is moved: a field on another entry of them lies elsewhere in the picture. */
const kDepths = ["z", "distance", "radius"];
const prompt = element("prompt", HTMLElement);
const table = element("places", HTMLTableElement);

/**
 * An alignment as it is kept.
 * @typedef {object} Kept
 * @property {import("./geometry.js").Matrix} matrix
 * @property {string} plane   that it was clicked on, such as "z 0 m"
 */

/** What is said instead of the next place to click. */
let trouble = "";
/** Name of the alignment that was read last, in the browser's storage; empty: there is no picture, or no field. */
let name = "";
/** The plane of the alignment in use. */
let plane = "";
/** The choice that is followed. */
let followed = "none";

/** The plane in view, such as "z 0 m"; empty if the field has no axis of depth. */
function planeInView() {
  const layout = layoutInView();
  return kDepths.flatMap((depth) => {
    const axis = layout && depth in view.select ? axisOf(layout, depth) : null;
    return axis ? [`${depth} ${entryText(axis, view.select[depth])}`] : [];
  }).join(", ");
}

/** Name of the alignment of the picture and the field in view. */
function nameInView() {
  const product = productInView();
  const axes = product && planeOf(product);
  return background.image && axes ? kAlignments + JSON.stringify([background.key, known.array, axes]) : "";
}

/** @param {import("./geometry.js").Matrix} matrix */
function keepAlignment(matrix) {
  Object.assign(background, { matrix });
  plane = planeInView();
  if (!keep(name, { matrix, plane })) trouble = "This browser does not keep the alignment for the next visit.";
}

/** Reads the alignment again where another picture, array or pair of axes is in view. */
function followAlignment() {
  const now = nameInView();
  if (now === name) return;
  name = now;
  /** @type {Kept | null} */
  const kept = readKept(name);
  Object.assign(background, { matrix: kept?.matrix ?? null, clicks: null });
  plane = kept?.plane ?? "";
}

/**
 * The four places of the field that an alignment clicks.
 * @returns {[number, number][]}
 */
function places() {
  const numbers = Array.from(table.querySelectorAll("input"), (field) => field.valueAsNumber);
  return [0, 2, 4, 6].map((i) => [numbers[i], numbers[i + 1]]);
}

/** Fills the table of places with the corners of the field in view, unless something was typed. */
function offerPlaces() {
  const grid = known.newest?.grid;
  if (!grid || background.clicks || table.dataset.isTyped) return;
  const [x0, x1] = edgesOf(grid.across);
  const [y0, y1] = edgesOf(grid.down);
  const offered = [x0, x1, y0, y1].join();
  if (table.dataset.offered === offered) return;
  table.dataset.offered = offered;
  table.replaceChildren();
  [[x0, y0], [x1, y0], [x1, y1], [x0, y1]].forEach((corner, i) => {
    const row = table.insertRow();
    row.insertCell().textContent = String(i + 1);
    corner.forEach((value, k) => {
      const label = document.createElement("label");
      label.append(k === 0 ? "x " : "y ", Object.assign(document.createElement("input"), { type: "number", step: "any", value: String(Number(value.toPrecision(5))) }));
      row.insertCell().append(label);
    });
  });
}

function beginAlignment() {
  if (!background.image || !name || places().flat().some((value) => !Number.isFinite(value))) return;
  background.clicks = [];
  trouble = "";
  choose({ form: "map" });
  element("stage", HTMLElement).scrollIntoView({ block: "nearest" });
}

/** Ends an alignment, and hides what is said. */
export function endAlignment() {
  Object.assign(background, { clicks: null, trouble: "" });
  trouble = "";
  changed();
}

/** @param {number} x @param {number} y  on the stage, in an alignment */
export function clickBackground(x, y) {
  if (!background.image || !background.clicks) return;
  background.clicks.push(apply(inverse(stage.backgroundToCanvas(background.image, turn())), x, y));
  if (background.clicks.length === 4) {
    const matrix = projective(places(), background.clicks);
    endAlignment();
    if (matrix) keepAlignment(matrix);
    else trouble = "three of the four places lie in a line: choose others";
  }
  changed();
}

/** @param {string} wanted   the choice of a camera */
async function followCamera(wanted) {
  const id = await openCamera(wanted.slice(kCamera.length));
  if (view.choice.background !== wanted) return;
  followed = id ? kCamera + id : "none";
  choose({ background: followed });
}

/** Opens what is chosen and closes what was. */
function followChoice() {
  const wanted = view.choice.background;
  if (wanted === followed) return;
  followed = wanted;
  trouble = "";
  closeHostCamera();
  closeCamera();
  if (wanted === kHostCamera) openHostCamera();
  else if (wanted.startsWith(kCamera)) followCamera(wanted);
}

function showChoice() {
  fillSelect(element("background", HTMLSelectElement), [
    { value: "none", text: "Nothing" }, { value: "photograph", text: "A photograph" },
    ...(known.hasCamera ? [{ value: kHostCamera, text: "The camera at the array" }] : []),
    ...offeredCameras().map(({ id, name: text }) => ({ value: kCamera + id, text })),
  ], view.choice.background);
}

/** Reason why the map does not lie where its sound is in the picture; empty if it does, or if there is no picture. */
export function misplacedText() {
  if (!background.image) return "";
  if (!background.matrix) return "not aligned yet: the map does not lie where its sound is in the picture";
  const now = planeInView();
  return plane === now ? "" : `aligned on the plane ${plane || "of another product"}; ${now || "the one in view"} lies elsewhere in the picture`;
}

/** What there is to say of the picture behind the field. */
function backgroundText() {
  if (view.choice.background === "photograph" && !hasPhotograph()) return "Choose a file below.";
  const text = [background.trouble, misplacedText(), latencyText()].filter((one) => one !== "").join("; ");
  return text && text[0].toUpperCase() + text.slice(1);
}

subscribe(() => {
  followChoice();
  if (followed === "photograph" && !background.image) showPhotograph();
  showChoice();
  followAlignment();
  element("align", HTMLButtonElement).disabled = name === "";
  /** @type {HTMLElement} */ (input("photo-file").parentElement).hidden = followed !== "photograph";
  element("photo-remove", HTMLButtonElement).hidden = followed !== "photograph" || !hasPhotograph();
  offerPlaces();
  setText("background-text", backgroundText());
  const place = background.clicks && places()[background.clicks.length];
  const said = trouble || background.trouble;
  prompt.hidden = place === null && said === "";
  setText(prompt, place ? `Click place ${(background.clicks?.length ?? 0) + 1} of 4 in the picture: x ${number(place[0])}, y ${number(place[1])}. Esc ends it.` : said);
});

/** Shows the photograph, also if another one was behind the field before. */
function showAnother() {
  followed = "none";
  choose({ background: "photograph", form: "map" });
}

input("photo-file").addEventListener("change", async () => {
  const file = input("photo-file").files?.[0];
  if (!file) return;
  try {
    await takePhotograph(file);
    showAnother();
  } catch (error) {
    trouble = /** @type {Error} */ (error).message;
    changed();
  }
});
onCameras((isThere) => {
  const wanted = view.choice.background;
  if (background.image || !wanted.startsWith(kCamera) || !isThere(wanted.slice(kCamera.length))) return;
  followed = "none";
  changed();
});
table.addEventListener("input", () => { table.dataset.isTyped = "yes"; });
onClick("align", beginAlignment);
onClick("photo-remove", () => {
  removePhotograph().catch(() => {});  // a browser that keeps nothing
  if (view.choice.background === "photograph") choose({ background: "none" });
});
