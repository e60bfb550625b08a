// Curves by dygraphs: levels over time at the cursors, and spectra.

import { answered, element, onClick, setText } from "./page.js";
import { axisOf } from "./picture.js";
import { changed, history, known, shown, subscribe, view } from "./store.js";
import { chosenCurves, link } from "./stream.js";
import { levelOf, levelRule } from "./units.js";
import { magnitudeAt, pixelAt } from "./values.js";

const kSeriesEvery_ms = 450;
const kMostCurves = 8;
/** Spectra per second of a processor that the page makes. */
const kSpectra_hz = 5;

/**
 * dygraphs is a classic script: it defines a global name.
 * @type {any}
 */
const Dygraph = /** @type {any} */ (globalThis).Dygraph;

class Chart {
  /** @param {string} id */
  constructor(id) {
    this.element = element(id, HTMLElement);
    this.graph = null;
    this.labels = "";
  }

  /** @param {number[][]} rows @param {string[]} labels @param {string} xlabel @param {string} ylabel */
  show(rows, labels, xlabel, ylabel) {
    if (this.graph && this.labels === labels.join()) return this.graph.updateOptions({ file: rows, ylabel });
    const colours = ["#e08a3c", "#4f9bd9", "#6dbb6d", "#c77fd1", "#d9c24f", "#7fd1c7", "#d96a6a", "#9a9a9a"];
    const axisColour = getComputedStyle(this.element).getPropertyValue("--line");
    this.clear();
    this.labels = labels.join();
    this.graph = new Dygraph(this.element, rows, {
      labels, xlabel, ylabel, colors: colours.slice(0, labels.length - 1), axisLineColor: axisColour, gridLineColor: axisColour,
      legend: "follow", animatedZooms: false, strokeWidth: 1.5, xLabelHeight: 14, yLabelWidth: 14,
      axes: { x: { axisLabelWidth: 40, pixelsPerLabel: 45 }, y: { axisLabelWidth: 42, pixelsPerLabel: 22 } },
    });
    return undefined;
  }

  clear() {
    this.graph?.destroy();
    this.graph = null;
    this.element.replaceChildren();
  }
}

export const lines = { series: new Chart("series"), spectrum: new Chart("spectrum") };

/**
 * Shows levels at the cursors over the kept pictures. Returns the number of pictures.
 * @param {import("./picture.js").Picture} present
 */
function showSeries(present) {
  const rule = levelRule(present.product);
  const cursors = view.cursors.slice(0, 2);
  const rows = [];
  for (let i = 0; i < history.length; ++i) {
    const { grid, product, layout, head, values } = history.at(i);
    if (!grid || product.name !== present.product.name || layout.processor !== present.layout.processor) continue;
    if (JSON.stringify(layout.select) !== JSON.stringify(present.layout.select)) continue;
    rows.push([(head.capture_mono_ms - present.head.capture_mono_ms) / 1000, ...cursors.map(({ x, y }) => {
      const pixel = pixelAt(grid, x, y);
      const magnitude = pixel ? magnitudeAt(values, pixel.row * grid.columns + pixel.column) : NaN;
      return rule ? levelOf(rule, magnitude) : magnitude;
    })]);
  }
  if (rows.length === 0 || cursors.length === 0) {
    lines.series.clear();
    return 0;
  }
  rows.sort((a, b) => a[0] - b[0]);
  lines.series.show(rows, ["s", "cursor", "second cursor"].slice(0, 1 + cursors.length), "seconds", rule ? rule.text : present.product.unit);
  return rows.length;
}

/**
 * Shows an array whose last axis is the abscissa; the others together are the curves.
 * @param {import("./picture.js").Picture} picture
 */
function showSpectrum({ product, layout, values }) {
  const names = product.axes.filter((name) => !(name in layout.select));
  const axis = axisOf(layout, names[names.length - 1]);
  if (!axis) return;
  const size = axis.values.length / axis.components;
  const isComplex = product.type === "complex64";
  const count = Math.min(kMostCurves, values.length / (isComplex ? 2 : 1) / size);
  const first = names.length > 1 ? axisOf(layout, names[names.length - 2]) : null;
  const rule = axis.name === "frequency" ? levelRule(product) : null;
  const rows = Array.from({ length: size }, (_, i) => {
    const row = [axis.components === 1 ? axis.values[i] : i];
    for (let at = i; row.length <= count; at += size) {
      const value = isComplex ? magnitudeAt(values, at) : Number(values[at]);
      row.push(rule ? levelOf(rule, value) : value);
    }
    return row.map((value) => (Number.isFinite(value) ? value : NaN));
  });
  const labels = Array.from({ length: count }, (_, k) => {
    const numbers = first?.values.slice(k * first.components, (k + 1) * first.components) ?? [];
    return numbers.length > 0 ? `${first?.name} ${numbers.map((value) => Number(value.toPrecision(4))).join(", ")}` : product.name;
  });
  lines.spectrum.show(rows, ["x", ...labels], `${axis.name}${axis.unit === "1" ? "" : ` / ${axis.unit}`}`, rule ? rule.text : product.unit);
}

/**
 * Settings for a spectrum at a point: for the chosen processor, or a new one.
 * @param {string} points
 */
function settingsOfSpectrum(points) {
  const [processor, product] = chosenCurves().split("/");
  if (processor && product === "spectrum") return [`processors.${processor}.points=${points}`];
  let name = "spectrum";
  for (let i = 2; known.processors.includes(name); ++i) name = `spectrum_${i}`;
  const everyHops = Math.max(1, Math.round(known.status.hop_rate_hz / kSpectra_hz));
  return [`processors.${name}.kind=spectrum`, `processors.${name}.points=${points}`, `processors.${name}.every_hops=${everyHops}`];
}

/** @param {string} text */
function say(text) {
  known.spectrumText = text;
  changed();
}

function spectrumHere() {
  const cursor = view.cursors[0];
  if (!cursor) return say("Click the picture first: the spectrum is that of the microphone nearest to the cursor.");
  if (shown()?.picture.grid?.across.unit !== "m") return say("The cursor is at angles. Click a picture over x and y, in metres.");
  if (!known.status) return say("The state of the daemon is not known yet.");
  const settings = settingsOfSpectrum(`[[${Number(cursor.x.toPrecision(6))}, ${Number(cursor.y.toPrecision(6))}]]`);
  if (!known.isWritable) return say(`This page may only look on. Set ${settings.join(" ")}, or open the page with a token.`);
  return answered(say, () => link.control({ command: "set", settings }), "The daemon prepares the new configuration …");
}

onClick("spectrum-here", spectrumHere);

let series_ms = 0;
/** @type {import("./picture.js").Picture | null} */
let spectrumShown = null;

subscribe(() => {
  const hasCurves = chosenCurves() !== "" || view.choice.spectrumOf === "";
  setText("spectrum-text", known.spectrumText || (hasCurves || known.layouts.size === 0 ? ""
    : "No processor gives spectra. “Spectrum at the cursor” adds one of kind spectrum to the running configuration."));
  if (known.spectrum && known.spectrum !== spectrumShown) showSpectrum(known.spectrum);
  else if (!known.spectrum) lines.spectrum.clear();
  spectrumShown = known.spectrum;
  if (performance.now() - series_ms < kSeriesEvery_ms) return;
  series_ms = performance.now();
  const picture = shown()?.picture;
  const count = picture ? showSeries(picture) : 0;
  setText("series-text", count > 0 ? `${count} pictures at the cursors, 0 s: the picture in view` : "Click the picture: the level there over time.");
}, "lines-panel");
