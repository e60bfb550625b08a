// The link to the server: it keeps the state as the server says it, and subscribes to what the state needs.

import { fitMode, look, lookAtFirst, picturesOf } from "./actions.js";
import { sayOfHostCamera, takeFrame, wantsFrame } from "./host_camera.js";
import { isOfMicrophones, meters, metersOf } from "./levels.js";
import { Link } from "./link.js";
import { axisOf, planeOf, sizeOf } from "./picture.js";
import { changed, finderFor, history, hold, known, markDirty, sourcesOf, subscribe, tell, view } from "./store.js";
import { numbersIn, settingIn } from "./units.js";

/** @typedef {import("./picture.js").Layout} Layout */

const kPictures = 1;   // ids of subscriptions
const kSpectrum = 2;
const kSources = 3;
const kMeters = 4;    // and above: one for each product of the meters
const kSurvey = 100;   // and above: one for each processor, to learn its products

/** @type {Link} */
export const link = new Link({
  changed(isOpen) {
    known.isOpen = isOpen;
    if (isOpen) known.ahead_ms = null;
    else known.status = null;
    changed();
  },
  hello(message) {
    known.isWritable = message.writable === true;
    known.hasCamera = message.camera === true;
    known.version = message.version ?? "";
    known.processors = message.processors ?? [];
    // The daemon may have been replaced. Known layouts remain until the new ones arrive, so that no control loses its choice.
    for (const name of known.layouts.keys()) if (!known.processors.includes(name)) known.layouts.delete(name);
    if (view.processor && known.processors.length > 0 && !known.processors.includes(view.processor)) {
      known.subscribeError = `The daemon has no processor ${view.processor} now`;
    }
    surveyAgain();
    fitMode();
    changed();
  },
  layout(layout) {
    if (layout.id === kPictures) known.subscribeError = "";
    const before = known.layouts.get(layout.processor);
    known.layouts.set(layout.processor, layout);
    known.surveyed.add(layout.processor);
    if (layout.id === kPictures) takeLayout(layout);
    else if (known.subscribeError && layout.processor === view.processor && before && !isAlike(before, layout)) lookAgain(layout);
    if (!view.product) lookAtFirst();
    fitMode();
    changed();
  },
  picture(picture) {
    if (picture.id === kSpectrum) {
      known.spectrum = picture;
      return tell();
    }
    if (picture.id >= kMeters && picture.id < kSurvey) return meters.take(picture);
    if (view.isFrozen) return undefined;  // one may have had its credit; the frozen history is not changed
    if (picture.id === kSources) {
      known.sources.add(picture);
    } else if (picture.id === kPictures && picture.grid) {
      known.newest = picture;
      known.isUndrawn = true;
      history.add(picture);
      if (view.choice.hold !== "none") hold.add(picture);
      const { flags, missing_bit_times: missing, shed_hops: shed } = picture.head;
      if (flags !== 0) known.notes.push({ at: performance.now(), flags, missing, shed });
    }
    return markDirty();
  },
  state: takeState,
  frame: takeFrame,
  camera: sayOfHostCamera,
  clock(ahead_ms) {
    known.ahead_ms = ahead_ms;
  },
  error(id, message) {
    if (id >= kSurvey) {
      refused.add(known.processors[id - kSurvey] ?? "");
      return link.unsubscribe(id);
    }
    if (id === kSpectrum) known.spectrumText = message;
    if (id === kPictures) {
      known.subscribeError = message;
      known.surveyed.delete(view.processor);  // the request may have been for an earlier configuration
    }
    return changed();
  },
});

/** Processors whose layout was refused since the last state, which is when it is requested again. @type {Set<string>} */
const refused = new Set();

/** Requests all layouts again after a possible change of the configuration. */
function surveyAgain() {
  refused.clear();
  known.surveyed.clear();
  hasAskedConfig = false;
}

/** @param {Layout} a @param {Layout} b  true if both offer the same choices */
const isAlike = (a, b) => JSON.stringify([a.axes, a.products]) === JSON.stringify([b.axes, b.products]);

/** @param {Layout} layout  of the processor in view, which has changed and whose pictures were refused before */
function lookAgain(layout) {
  const pictures = picturesOf(layout);
  link.unsubscribe(kPictures);
  look(layout.processor, (pictures.find(({ name }) => name === view.product) ?? pictures[0])?.name);
}

/**
 * Handles the layout of a replaced ring, whose axes may differ.
 * @param {Layout} layout
 */
function takeLayout(layout) {
  if (!layout.products.some(({ name }) => name === view.product)) return;
  hold.reset();
  const isBeyond = Object.entries(view.select).some(([name, index]) => {
    const axis = axisOf(layout, name);
    return !axis || index >= sizeOf(axis);
  });
  if (isBeyond) look(layout.processor, view.product);
}

/** @param {any} message */
function takeState(message) {
  const before = known.status;
  refused.clear();
  known.status = message.status ?? null;
  known.statusError = message.status_error ?? "";
  known.rings = message.ring ?? {};
  known.ringError = message.ring_error ?? "";
  const now = known.status;
  if (before && now && before.uptime_s <= now.uptime_s) {
    const missing = (now.bit_times?.missing ?? 0) - (before.bit_times?.missing ?? 0);
    const shed = (now.shed_hops ?? 0) - (before.shed_hops ?? 0);
    if (missing > 0 || shed > 0) known.notes.push({ at: performance.now(), flags: 0, missing, shed });
  }
  if (before && now && before.epoch !== now.epoch) surveyAgain();
  if (now) readConfig();
  changed();
}

let hasAskedConfig = false;

/**
 * A hash of a text (FNV-1a, Fowler, Noll and Vo, 1991).
 * @param {string} text
 */
function hashOf(text) {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; ++i) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193) >>> 0;
  return hash.toString(16);
}

async function readConfig() {
  if (hasAskedConfig) return;
  hasAskedConfig = true;
  try {
    const { yaml = "", microphones_m = [] } = await link.control({ command: "config" });
    known.microphones_m = microphones_m;
    known.array = hashOf(JSON.stringify(microphones_m));
    known.config = yaml;
    known.channels = numbersIn(yaml, "array", "channels");
    known.standoff_m = Number.parseFloat(settingIn(yaml, "holography", "standoff_m"));
    changed();
  } catch {
    setTimeout(() => { hasAskedConfig = false; }, 5000);
  }
}

/**
 * Arrays that are curves, as "processor/product": with a last axis of eight entries or more, and no plane.
 * @returns {string[]}
 */
export const curves = () => known.processors.flatMap((processor) => {
  const layout = known.layouts.get(processor);
  return (layout?.products ?? []).filter((product) => {
    const axis = layout && axisOf(layout, product.axes[product.axes.length - 1] ?? "");
    return product.form === "array" && !planeOf(product) && !isOfMicrophones(product) && axis && sizeOf(axis) >= 8;
  }).map((product) => `${processor}/${product.name}`);
});

/** The curves that are chosen, of those that there are: the first ones initially; empty for none. */
export function chosenCurves() {
  const offered = curves();
  const chosen = view.choice.spectrumOf;
  return chosen === "" || offered.includes(chosen) ? chosen : offered[0] ?? "";
}

/** The subscriptions that the state needs, by their ids. */
function wanted() {
  /** @type {Map<number, import("./link.js").Request>} */
  const requests = new Map();
  const { processor, product, select } = view;
  if (product) requests.set(kPictures, (view.isFrozen && link.requests.get(kPictures)) || { processor, product, select, most_hz: view.choice.mostHz });
  const [curvesOf, curve] = chosenCurves().split("/");
  if (curve && view.open.has("lines-panel")) requests.set(kSpectrum, { processor: curvesOf, product: curve, most_hz: 5 });
  const finder = finderFor(processor);
  const table = sourcesOf(finder);
  if (table) requests.set(kSources, { processor: finder, product: table.name, most_hz: 20 });
  meters.wanted().forEach((product, i) => requests.set(kMeters + i, { processor: metersOf(), product, most_hz: 60 }));
  known.processors.forEach((name, i) => {
    if (!known.surveyed.has(name) && !refused.has(name)) requests.set(kSurvey + i, { processor: name, most_hz: 1 });
  });
  return requests;
}

/** Begins and ends subscriptions. */
subscribe(() => {
  const requests = wanted();
  if (!chosenCurves()) known.spectrum = null;
  for (const id of link.requests.keys()) if (!requests.has(id)) link.unsubscribe(id);
  for (const [id, request] of requests) {
    if (JSON.stringify(link.requests.get(id)) === JSON.stringify(request)) continue;
    if (id === kSpectrum) known.spectrumText = "";
    link.subscribe(id, request);
  }
});

/** Asks for the next pictures; called when the last ones were drawn, so that a hidden page asks for nothing. */
export function askNext() {
  if (wantsFrame()) link.nextFrame();
  for (const id of link.requests.keys()) if (id < kSurvey && !(view.isFrozen && (id === kPictures || id === kSources))) link.next(id);
}

let counted = { at: performance.now(), pictures: 0, bytes: 0 };

/** Counts what is received. */
subscribe(() => {
  const now = performance.now();
  if (now - counted.at <= 900) return;
  known.pictures_hz = (1000 * (link.received.pictures - counted.pictures)) / (now - counted.at);
  known.bytes_s = (1000 * (link.received.bytes - counted.bytes)) / (now - counted.at);
  counted = { at: now, ...link.received };
});
