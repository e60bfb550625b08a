// Levels over time, and spectra.

import { element, setText } from "./page.js";
import { shown } from "./shown.js";
import { history, known, kSpectrum, lines, ui, view } from "./state.js";
import { link } from "./stream.js";

/** Subscribes to the curves that are chosen, while their panel is open. */
export function followSpectrum() {
  const isOpen = element("lines-panel", HTMLDetailsElement).open;
  const [processor, product] = ui.spectrumProcessor.value.split("/");
  const request = link.requests.get(kSpectrum);
  if (!isOpen || !product) {
    link.unsubscribe(kSpectrum);
    if (!product) {
      lines.spectrum.clear();
      setText(element("spectrum-text", HTMLElement), known.layouts.size > 0 && ui.spectrumProcessor.options.length < 2
        ? "No processor gives spectra. “Spectrum at the cursor” adds one of kind spectrum to the running configuration." : "");
    }
  } else if (request?.processor !== processor || request?.product !== product) {
    setText(element("spectrum-text", HTMLElement), "");
    link.subscribe(kSpectrum, { processor, product, most_hz: 5 });
  }
}

/** Spectra per second of a processor that the page makes. */
const kSpectra_hz = 5;

/**
 * Settings for a spectrum at a point: for the chosen processor, or a new one.
 * @param {string} points
 */
function settingsOfSpectrum(points) {
  const [processor, product] = ui.spectrumProcessor.value.split("/");
  if (processor && product === "spectrum") return [`processors.${processor}.points=${points}`];
  let name = "spectrum";
  for (let i = 2; view.processors.includes(name); ++i) name = `spectrum_${i}`;
  const everyHops = Math.max(1, Math.round(known.status.hop_rate_hz / kSpectra_hz));
  return [`processors.${name}.kind=spectrum`, `processors.${name}.points=${points}`, `processors.${name}.every_hops=${everyHops}`];
}

export async function spectrumHere() {
  const text = element("spectrum-text", HTMLElement);
  const cursor = view.cursors[0];
  if (!cursor) return setText(text, "Click the picture first: the spectrum is that of the microphone nearest to the cursor.");
  if (shown()?.picture.grid?.across.unit !== "m") return setText(text, "The cursor is at angles. Click a picture over x and y, in metres.");
  if (!known.status) return setText(text, "The state of the daemon is not known yet.");
  const settings = settingsOfSpectrum(`[[${Number(cursor.x.toPrecision(6))}, ${Number(cursor.y.toPrecision(6))}]]`);
  if (!known.isWritable) return setText(text, `This page may only look on. Set ${settings.join(" ")}, or open the page with a token.`);
  setText(text, "The daemon prepares the new configuration …");
  try {
    const result = await link.control({ command: "set", settings });
    setText(text, result.message ?? "Done.");
  } catch (error) {
    setText(text, `Refused: ${/** @type {Error} */ (error).message}`);
  }
  return undefined;
}

let lines_ms = 0;

function showLines() {
  if (!element("lines-panel", HTMLDetailsElement).open || performance.now() - lines_ms < 450) return;
  lines_ms = performance.now();
  const picture = shown()?.picture;
  const count = picture ? lines.showSeries(history, picture, view.cursors.slice(0, 2)) : 0;
  setText(element("series-text", HTMLElement), count > 0 ? `${count} pictures at the cursors, 0 s: the picture in view` : "Click the picture: the level there over time.");
}

export const beginLines = () => { setInterval(showLines, 500); };
