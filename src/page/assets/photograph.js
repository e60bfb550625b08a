// A photograph behind the field. It stays in this browser (IndexedDB) and is aligned by four clicks.

import { choose } from "./actions.js";
import { apply, inverse, projective } from "./geometry.js";
import { element, input, onClick, setText } from "./page.js";
import { edgesOf } from "./picture.js";
import { stage } from "./scene.js";
import { changed, known, photo, subscribe, turn } from "./store.js";
import { number } from "./units.js";

const kStore = "photograph";
const prompt = element("prompt", HTMLElement);
const table = element("photo-places", HTMLTableElement);
/** What is said instead of the next place to click. */
let trouble = "";

/**
 * What is kept for the next visit.
 * @typedef {object} Kept
 * @property {Blob} file
 * @property {import("./geometry.js").Matrix | null} matrix
 */

/** @type {Blob | null} */
let file = null;

/**
 * @template T
 * @param {IDBRequest<T>} request
 * @returns {Promise<T>}
 */
const resultOf = (request) => new Promise((resolve, reject) => {
  request.onsuccess = () => resolve(request.result);
  request.onerror = () => reject(request.error);
});

/** @param {IDBTransactionMode} mode @param {(store: IDBObjectStore) => IDBRequest<any>} action */
async function inStore(mode, action) {
  const request = indexedDB.open("nearfield", 1);
  request.onupgradeneeded = () => request.result.createObjectStore(kStore);
  return resultOf(action((await resultOf(request)).transaction(kStore, mode).objectStore(kStore)));
}

async function keep() {
  try {
    await inStore("readwrite", (store) => (file ? store.put({ file, matrix: photo.matrix }, 0) : store.delete(0)));
  } catch {
    say("This browser does not keep the photograph for the next visit.");
  }
}

/** @param {string} text */
function say(text) {
  trouble = text;
  changed();
}

/** @param {Blob | null} chosen @param {import("./geometry.js").Matrix | null} matrix */
async function setPhoto(chosen, matrix) {
  const image = chosen && await createImageBitmap(chosen);
  file = chosen;
  Object.assign(photo, { image, matrix, clicks: null });
  trouble = "";
  changed();
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
  if (!grid || photo.clicks || table.dataset.isTyped) return;
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
  if (!photo.image || places().flat().some((value) => !Number.isFinite(value))) return;
  photo.clicks = [];
  trouble = "";
  choose({ photoShow: true, form: "map" });
  element("stage", HTMLElement).scrollIntoView({ block: "nearest" });
}

export function endAlignment() {
  photo.clicks = null;
  trouble = "";
  changed();
}

/** @param {number} x @param {number} y  on the stage, in an alignment */
export function clickPhoto(x, y) {
  if (!photo.image || !photo.clicks) return;
  photo.clicks.push(apply(inverse(stage.photoToCanvas(photo.image, turn())), x, y));
  if (photo.clicks.length === 4) {
    const matrix = projective(places(), photo.clicks);
    endAlignment();
    if (matrix) photo.matrix = matrix;
    else trouble = "three of the four places lie in a line: choose others";
    keep();
  }
  changed();
}

subscribe(() => {
  for (const id of ["photo-show", "photo-align", "photo-remove"]) /** @type {HTMLButtonElement | HTMLInputElement} */ (element(id, HTMLElement)).disabled = photo.image === null;
  offerPlaces();
  const place = photo.clicks && places()[photo.clicks.length];
  prompt.hidden = place === null && trouble === "";
  setText(prompt, place ? `Click place ${(photo.clicks?.length ?? 0) + 1} of 4 in the photograph: x ${number(place[0])}, y ${number(place[1])}. Esc ends it.` : trouble);
});

input("photo-file").addEventListener("change", async () => {
  const chosen = input("photo-file").files?.[0];
  if (!chosen) return undefined;
  try {
    await setPhoto(chosen, null);
  } catch {
    return say(`${chosen.name} is no picture that this browser can read`);
  }
  choose({ photoShow: true, form: "map" });
  return keep();
});
table.addEventListener("input", () => { table.dataset.isTyped = "yes"; });
onClick("photo-align", beginAlignment);
onClick("photo-remove", async () => {
  choose({ photoShow: false });
  await setPhoto(null, null);
  await keep();
});
inStore("readonly", (store) => store.get(0)).then((/** @type {Kept | undefined} */ kept) => (kept ? setPhoto(kept.file, kept.matrix) : undefined)).catch(() => {});
