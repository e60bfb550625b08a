// The panels beside the picture, four times a second.

import { productInView } from "./choice.js";
import { showAnimation } from "./controls.js";
import { showCursors, showPeaks } from "./cursors.js";
import { limitsPanel } from "./limits.js";
import { element, fillTable, setText } from "./page.js";
import { showHealth, showMicrophones } from "./panels.js";
import { offerPlaces } from "./photograph.js";
import { recording } from "./recordings.js";
import { figuresOf, selectionText } from "./saving.js";
import { outsideText } from "./scale.js";
import { settingsPanel } from "./settings.js";
import { showCondition, shown } from "./shown.js";
import { known, kPanels_ms, paint, ui, view } from "./state.js";
import { link } from "./stream.js";
import { showTransport } from "./transport.js";

/** @typedef {import("./picture.js").Picture} Picture */

/** @type {ReturnType<typeof recording> | null} */
let recorder = null;
/** @type {ReturnType<typeof settingsPanel> | null} */
let settings = null;
/** @type {ReturnType<typeof limitsPanel> | null} */
let limits = null;

/** Begins to refresh the panels. */
export function beginPanels() {
  recorder = recording(link);
  settings = settingsPanel(link);
  limits = limitsPanel(link, () => ({
    cursor: view.cursors[0], layout: known.layouts.get(view.processor), product: productInView(), select: view.select,
  }));
  setInterval(showPanels, kPanels_ms);
}

let counted = { at: performance.now(), pictures: 0, bytes: 0 };

export function showPanels() {
  const now = performance.now();
  if (now - counted.at > 900) {
    known.pictures_hz = (1000 * (link.received.pictures - counted.pictures)) / (now - counted.at);
    known.bytes_s = (1000 * (link.received.bytes - counted.bytes)) / (now - counted.at);
    counted = { at: now, ...link.received };
  }
  showCondition(false);
  const picture = shown()?.picture ?? null;
  if (element("cursor-panel", HTMLDetailsElement).open) {
    showCursors();
    showPeaks();
  }
  if (element("health-panel", HTMLDetailsElement).open) {
    showHealth(known.status, known, known.rings[view.processor]);
    fillTable(element("figures", HTMLTableElement), picture ? figuresOf(picture) : []);
  }
  if (element("microphones-panel", HTMLDetailsElement).open) {
    showMicrophones(known.status, [...known.layouts.values()], known.arrayGrid, picture?.head.valid_microphones ?? null);
  }
  if (element("record-panel", HTMLDetailsElement).open) recorder?.show(known.status, known.isWritable, known);
  settings?.show(known.isWritable);
  if (element("limits-panel", HTMLDetailsElement).open) limits?.show(known.status, known.isWritable);
  showAnimation();
  if (!view.isFrozen) showTransportText();
  offerPlaces();
  setText(element("caption", HTMLElement), captionText(picture));
}

function showTransportText() {
  const isDirtyBefore = paint.isDirty;
  showTransport();
  paint.isDirty = isDirtyBefore;
}

/** @param {Picture | null} picture */
function captionText(picture) {
  if (!picture) return "";
  const side = ui.side.value === "front" ? "seen from the microphones" : "seen from behind";
  const chosen = selectionText(picture);
  const now = shown();
  const outside = now && now.picture === picture ? outsideText(picture, now.values) : "";
  return `${outside ? `${outside}; ` : ""}${picture.layout.processor}, ${picture.product.quantity}; ${chosen ? `${chosen}; ` : ""}${side}${ui.mirror.checked ? ", mirrored" : ""}${view.quarters ? `, turned by ${90 * view.quarters}°` : ""}`;
}
