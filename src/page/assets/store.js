// The one state of the page, and who is told of its changes. stream.js brings what the server says, actions.js and scale.js what the user
// does; views read it. What is drawn already, such as textures, is no state of the page: it lies where it is drawn.

import { History, Sources } from "./history.js";
import { obstacleToCompare } from "./picture.js";
import { isLength, isSigned } from "./units.js";
import { Hold } from "./values.js";

/**
 * @typedef {import("./picture.js").Picture} Picture
 * @typedef {import("./picture.js").Layout} Layout
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

const kOwnSources = "*";  // the choice of sources of the processor in view; no processor has such a name
const kEarliest_ms = -20;  // the clocks are known to half of an answer's trip
export const reducedMotion = matchMedia("(prefers-reduced-motion: reduce)");

/** What the user has chosen. */
export const view = {
  processor: "",
  product: "",
  /** @type {Record<string, number>} */
  select: {},
  /** The values of the controls of these names: `mostHz` is that of the element #most-hz. */
  choice: {
    mode: "magnitude", form: "map", hold: "none", side: "front", sourcesOf: kOwnSources, spectrumOf: "*", mostHz: 60, speed: 0.5, slow: 0.1,
    seconds: 2, background: "none", opacity: 0.7, thresholdDb: 12, animate: !reducedMotion.matches, smooth: true, scaleHold: true, mirror: false, showPeaks: false,
    showMicrophones: true, greyAfterS: 1,
  },
  /** @type {Set<string>} panels that are open */
  open: new Set(),
  quarters: 0,
  phase: 0,
  surface: { turn_rad: 0.5, tilt_rad: 0.7, distance: 2.7 },
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
  /** Time of the stream that was played since the picture of this index, ms. */
  played_ms: 0,
  /** @type {Shown | null} */
  kept: null,
};

/** What the server has said. */
export const known = {
  isOpen: false,
  /** @type {number | null} lead of the server's monotonic clock over the page's, ms; null before its first answer */
  ahead_ms: null,
  /** @type {string[]} */
  processors: [],
  /** @type {Map<string, Layout>} layouts of all processors, by their names */
  layouts: new Map(),
  /** @type {Set<string>} processors whose layouts are of this connection and epoch */
  surveyed: new Set(),
  /** @type {Picture | null} */
  newest: null,
  /** True if the newest picture was not drawn yet. */
  isUndrawn: false,
  /** @type {Picture | null} */
  spectrum: null,
  spectrumText: "",
  sources: new Sources(),
  /** Standoff of the array, m; NaN until it is known. */
  standoff_m: NaN,
  isWritable: false,
  /** True if the daemon passes on the frames of a camera. */
  hasCamera: false,
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
  /** @type {number[][]} places of the microphones, x and y in m, by channels; empty until they are known */
  microphones_m: [],
  /** @type {number[]} channels of the input, by the numbers of the microphones; empty if they are the same */
  channels: [],
  /** What tells the array from others: a hash of these places. Empty until they are known. */
  array: "",
  /** The configuration in effect, YAML; empty until it is known. */
  config: "",
  pictures_hz: 0,
  bytes_s: 0,
};

export const history = new History();
export const hold = new Hold();

/** What is behind the field: a photograph, or the frames of a camera. */
export const background = {
  /** @type {import("./stage.js").Image | null} null: nothing */
  image: null,
  /** Tells pictures apart, each of which has alignments of its own. */
  key: "",
  /** @type {import("./geometry.js").Matrix | null} from the field to 0 .. 1 over the picture; null: not aligned */
  matrix: null,
  /** @type {[number, number][] | null} clicks of the current alignment so far, in 0 .. 1 over the picture; null if there is none */
  clicks: null,
  /** Why there is no picture; empty if none is to be expected. */
  trouble: "",
};

/**
 * The latest drawings: age of each drawn picture, and true if it was shown as live.
 * @type {{at_ms: number, age_ms: number | null, isLive: boolean, isNew: boolean}[]}
 */
export const draws = [];

/** @type {{show: () => void, panel: string}[]} */
const views = [];
let isDirty = true;
let isTelling = false;

/** @param {() => void} show   called after changes, and four times a second @param {string} [panel]   the call is left out while it is closed */
export const subscribe = (show, panel = "") => { views.push({ show, panel }); };

/** Calls the views once, after the task that makes changes. */
export function tell() {
  if (isTelling) return;
  isTelling = true;
  queueMicrotask(() => {
    isTelling = false;
    for (const { show, panel } of views) {
      try {
        if (!panel || view.open.has(panel)) show();
      } catch (error) {
        reportError(error); // the other views are shown all the same
      }
    }
  });
}

/** The picture is to be drawn again. What comes many times a second, such as pictures themselves, calls no view. */
export const markDirty = () => { isDirty = true; };

export function changed() {
  markDirty();
  tell();
}

let isTellingSoon = false;

/** changed() for what each picture may change: the views follow ten times a second at most. */
export function changedByPicture() {
  markDirty();
  if (isTellingSoon) return;
  isTellingSoon = true;
  setTimeout(() => {
    isTellingSoon = false;
    tell();
  }, 100);
}

/** True once after markDirty(). */
export function takeDirty() {
  const wasDirty = isDirty;
  isDirty = false;
  return wasDirty;
}

export const layoutInView = () => known.layouts.get(view.processor);
export const productInView = () => layoutInView()?.products.find(({ name }) => name === view.product) ?? null;

/** The picture whose age and flags apply to the display. */
export function pictureInView() {
  if (view.isFlipped && view.kept) return view.kept.picture;
  return view.isFrozen ? history.at(view.index) : known.newest;
}

/**
 * The picture in view, with its shown values.
 * @returns {Shown | null}
 */
export function shown() {
  if (view.isFlipped && view.kept) return view.kept;
  const picture = pictureInView();
  if (!picture) return null;
  const held = view.choice.hold;
  if (!view.isFrozen && hold.count > 0 && (held === "max" || held === "mean")) {
    return { picture, values: held === "max" ? hold.maximum : hold.mean(), held, count: hold.count };
  }
  return { picture, values: picture.values, held: "", count: 1 };
}

/** @param {Shown} now  "max of 12 pictures"; empty for a picture as it came */
export const heldText = (now) => (now.held === "" ? "" : `${now.held} of ${now.count} pictures`);

/**
 * The reference, if a picture can be compared with it.
 * @param {Picture} picture
 */
export const referenceOf = (picture) => (view.kept && obstacleToCompare(view.kept.picture, picture.layout, picture.product) === "" ? view.kept : null);

/** Reason why the product in view cannot be compared with the reference; empty if it can, or if there is none. */
export function obstacleToReference() {
  const [layout, product] = [layoutInView(), productInView()];
  return view.kept && layout && product ? obstacleToCompare(view.kept.picture, layout, product) : "";
}

/**
 * True if the product in view has values of this mode.
 * @param {string} mode
 */
export function isOffered(mode) {
  const product = productInView();
  const hasSign = product !== null && isSigned(product);
  const isComplex = product?.type === "complex64" && !hasSign;
  if (mode === "real") return isComplex || hasSign;
  if (mode.startsWith("phase") && !isComplex) return false;
  if (mode.endsWith("Difference") && (!view.kept || obstacleToReference() !== "")) return false;
  return !(mode === "levelDifference" && product && isLength(product));
}

/**
 * Its current age, ms; null if unknown: a picture that seems to be from the future shows that the clocks are unknown.
 * @param {Picture} picture
 */
export function ageOf(picture) {
  const age_ms = known.ahead_ms === null ? null : performance.now() + known.ahead_ms - picture.head.capture_mono_ms;
  return age_ms !== null && age_ms < kEarliest_ms ? null : age_ms;
}

export const turn = () => ({ mirror: view.choice.mirror !== (view.choice.side === "back"), quarters: view.quarters });

/**
 * The table of the sources that a processor finds.
 * @param {string} processor
 */
export const sourcesOf = (processor) => known.layouts.get(processor)?.products.find(
  (product) => product.form === "table" && product.columns.some((column) => column.name === "x"));

/** The processors that find sources. */
export const finders = () => known.processors.filter(sourcesOf);

/** The choice of sources, of those that there are. */
export const chosenSources = () => (view.choice.sourcesOf === "" || finders().includes(view.choice.sourcesOf) ? view.choice.sourcesOf : kOwnSources);

/** @param {string} processor   in view @returns {string} the one whose sources are shown; empty: none */
export const finderFor = (processor) => (chosenSources() === kOwnSources ? processor : chosenSources());
