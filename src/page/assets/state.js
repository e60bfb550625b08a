// State shared by the parts of the page: controls, the choice, the known stream, and the drawing.

import { Drawing } from "./drawing.js";
import { History } from "./history.js";
import { Lines } from "./lines.js";
import { element } from "./page.js";
import { Photo } from "./photo.js";
import { Sources } from "./sources.js";
import { Stage } from "./stage.js";
import { Hold } from "./values.js";

/**
 * @typedef {import("./picture.js").Picture} Picture
 * @typedef {import("./picture.js").Layout} Layout
 * @typedef {import("./picture.js").Product} Product
 *
 * The view: a picture, or values held over several.
 * @typedef {object} Shown
 * @property {Picture} picture           the newest of them
 * @property {Float32Array} values
 * @property {"" | "max" | "mean"} held
 * @property {number} count              number of pictures in the values
 *
 * The scale of one product.
 * @typedef {object} Scale
 * @property {number} top        in the unit; NaN before the first picture
 * @property {number} range_db
 * @property {boolean} isDb
 */

export const kPictures = 1;   // ids of subscriptions
export const kSpectrum = 2;
export const kSources = 3;
export const kSurvey = 100;   // and above: one for each processor, to learn its products
export const kOwnSources = "*";  // the choice of sources of the processor in view; no processor has such a name
export const kNotes_ms = 2000;  // display time of a flag of one picture
export const kPanels_ms = 250;
export const kMostDraws = 600;
export const kEarliest_ms = -20;  // the clocks are known to half of an answer's trip

export const ui = {
  processor: element("processor", HTMLSelectElement), product: element("product", HTMLSelectElement),
  axes: element("axes", HTMLElement), mostHz: element("most-hz", HTMLSelectElement), mode: element("mode", HTMLSelectElement),
  form: element("form", HTMLSelectElement), hold: element("hold", HTMLSelectElement), animate: element("animate", HTMLInputElement),
  speed: element("speed", HTMLInputElement), smooth: element("smooth", HTMLInputElement), decibels: element("decibels", HTMLInputElement),
  top: element("top", HTMLInputElement), range: element("range", HTMLInputElement), rangeNumber: element("range-number", HTMLInputElement),
  scaleHold: element("scale-hold", HTMLInputElement), side: element("side", HTMLSelectElement), mirror: element("mirror", HTMLInputElement),
  stage: element("stage", HTMLElement), veil: element("veil", HTMLElement), freeze: element("freeze", HTMLButtonElement),
  back: element("back", HTMLButtonElement), forward: element("forward", HTMLButtonElement), play: element("play", HTMLButtonElement),
  slow: element("slow", HTMLSelectElement), keep: element("keep", HTMLButtonElement), flip: element("flip", HTMLButtonElement),
  position: element("position", HTMLInputElement), photoShow: element("photo-show", HTMLInputElement),
  photoOpacity: element("photo-opacity", HTMLInputElement), photoAlign: element("photo-align", HTMLButtonElement),
  photoRemove: element("photo-remove", HTMLButtonElement), prompt: element("prompt", HTMLElement),
  sourcesOf: element("sources-of", HTMLSelectElement),
  spectrumProcessor: element("spectrum-processor", HTMLSelectElement), showPeaks: element("show-peaks", HTMLInputElement),
};

const colours = await (await fetch("/colours.json")).json();
export const drawing = new Drawing(element("field", HTMLCanvasElement), colours);
export const stage = new Stage(ui.stage, drawing, colours);
export const history = new History();
export const hold = new Hold();
export const lines = new Lines(element("series", HTMLElement), element("spectrum", HTMLElement));
export const photo = new Photo();
export const reducedMotion = matchMedia("(prefers-reduced-motion: reduce)");

export const view = {
  /** @type {string[]} */
  processors: [],
  processor: "",
  product: "",
  /** @type {Record<string, number>} */
  select: {},
  quarters: 0,
  phase: 0,
  /** @type {Map<string, Scale>} */
  scales: new Map(),
  /** The field that the scale was fitted to last: processor, product and selection. */
  fitted: "",
  /** @type {{x: number, y: number}[]} the first is the cursor, the second the one with Shift */
  cursors: [],
  isFrozen: false,
  isPlaying: false,
  isFlipped: false,
  /** Index in the history, while frozen. */
  index: 0,
  /** @type {Picture | null} the one that is shown while frozen */
  frozen: null,
  /** @type {Shown | null} */
  kept: null,
};

export const known = {
  /**
   * The layouts of all processors, by their names.
   * @type {Map<string, Layout>}
   */
  layouts: new Map(),
  /** @type {Set<string>} processors whose layouts are of this connection and epoch */
  surveyed: new Set(),
  /** @type {Picture | null} the newest one */
  newest: null,
  /** @type {Picture | null} not drawn yet */
  pending: null,
  sources: new Sources(),
  /** Standoff of the array, m; NaN until it is known. */
  standoff_m: NaN,
  isWritable: false,
  /**
   * The recording that is shown instead of the daemon's stream.
   * @type {{number: number, recording: string} | null}
   */
  player: null,
  /** Reason for the absence of its pictures; empty while they arrive. */
  playerText: "",
  /** @type {import("./recordings.js").Player[]} recordings that are opened */
  players: [],
  mostPlayers: 0,
  version: "",
  /** @type {any} */
  status: null,
  statusError: "",
  /** @type {Record<string, any>} */
  rings: {},
  ringError: "",
  subscribeError: "",
  /** @type {{at: number, flags: number, missing: number, shed: number}[]} */
  notes: [],
  /** @type {{rows: number, columns: number} | null} */
  arrayGrid: null,
  pictures_hz: 0,
  bytes_s: 0,
};

/**
 * The latest drawings, for the tests: age of each drawn picture, and true if it was shown as live.
 * @type {{at_ms: number, age_ms: number | null, isLive: boolean, isNew: boolean}[]}
 */
export const draws = [];

/** State of the drawing, and the contents of the textures. */
export const paint = {
  isDirty: true,
  spectrumIsNew: false,
  /** @type {Float32Array | null} */
  uploaded: null,
  /** @type {Float32Array | null} */
  uploadedKept: null,
};

export const markDirty = () => { paint.isDirty = true; };
stage.changed = markDirty;
drawing.restored = () => { paint.uploaded = paint.uploadedKept = null; markDirty(); };
