// Curves by dygraphs: levels over time at the cursors, and spectra.

import { axisOf } from "./picture.js";
import { levelOf, levelRule } from "./units.js";
import { pixelAt, magnitudeAt } from "./values.js";

/**
 * dygraphs is a classic script: it defines a global name.
 * @type {any}
 */
const Dygraph = /** @type {any} */ (globalThis).Dygraph;

class Chart {
  /** @param {HTMLElement} element @param {string} x @param {string} y @param {any} options */
  constructor(element, x, y, options) {
    this.element = element;
    this.options = {
      xlabel: x, ylabel: y, legend: "follow", animatedZooms: false, strokeWidth: 1.5, xLabelHeight: 14, yLabelWidth: 14,
      axes: { x: { axisLabelWidth: 40, pixelsPerLabel: 45 }, y: { axisLabelWidth: 42, pixelsPerLabel: 22 } }, ...options,
    };
    this.graph = null;
    this.labels = "";
  }

  /** @param {number[][]} rows @param {string[]} labels @param {string} [y] */
  show(rows, labels, y) {
    const colours = ["#e08a3c", "#4f9bd9", "#6dbb6d", "#c77fd1", "#d9c24f", "#7fd1c7", "#d96a6a", "#9a9a9a"];
    const axisColour = getComputedStyle(this.element).getPropertyValue("--line");
    const options = { ...this.options, labels, colors: colours.slice(0, labels.length - 1), axisLineColor: axisColour, gridLineColor: axisColour };
    if (y) options.ylabel = y;
    if (!this.graph || this.labels !== labels.join()) {
      this.labels = labels.join();
      this.graph?.destroy();
      this.graph = new Dygraph(this.element, rows, options);
    } else {
      this.graph.updateOptions({ file: rows, ylabel: options.ylabel });
    }
  }

  clear() {
    this.graph?.destroy();
    this.graph = null;
    this.element.replaceChildren();
  }
}

export class Lines {
  /** @param {HTMLElement} series @param {HTMLElement} spectrum */
  constructor(series, spectrum) {
    this.series = new Chart(series, "seconds", "", {});
    this.spectrum = new Chart(spectrum, "Hz", "", {});
  }

  /**
   * Shows levels at the cursors over the kept pictures. Returns the number of pictures.
   * @param {import("./history.js").History} history
   * @param {import("./picture.js").Picture} present
   * @param {{x: number, y: number}[]} cursors
   */
  showSeries(history, present, cursors) {
    const rule = levelRule(present.product);
    const rows = [];
    for (let i = 0; i < history.length; ++i) {
      const picture = history.at(i);
      if (!picture.grid || picture.product.name !== present.product.name || picture.layout.processor !== present.layout.processor) continue;
      if (JSON.stringify(picture.layout.select) !== JSON.stringify(present.layout.select)) continue;
      const seconds = (picture.head.capture_mono_ms - present.head.capture_mono_ms) / 1000;
      rows.push([seconds, ...cursors.map(({ x, y }) => {
        const grid = /** @type {import("./picture.js").Grid} */ (picture.grid);
        const pixel = pixelAt(grid, x, y);
        if (!pixel) return NaN;
        const magnitude = magnitudeAt(picture.values, pixel.row * grid.columns + pixel.column);
        return rule ? levelOf(rule, magnitude) : magnitude;
      })]);
    }
    if (rows.length === 0 || cursors.length === 0) {
      this.series.clear();
      return 0;
    }
    rows.sort((a, b) => a[0] - b[0]);
    this.series.show(rows, ["s", "cursor", "second cursor"].slice(0, 1 + cursors.length), rule ? rule.text : present.product.unit);
    return rows.length;
  }

  /**
   * Shows an array whose last axis is the abscissa; the others together are the curves.
   * @param {import("./picture.js").Picture} picture
   */
  showSpectrum(picture) {
    const names = picture.product.axes.filter((name) => !(name in picture.layout.select));
    const axis = axisOf(picture.layout, names[names.length - 1]);
    if (!axis) return;
    const kMostCurves = 8;
    const size = axis.values.length / axis.components;
    const isComplex = picture.product.type === "complex64";
    const curves = Math.min(kMostCurves, picture.values.length / (isComplex ? 2 : 1) / size);
    const first = names.length > 1 ? axisOf(picture.layout, names[names.length - 2]) : null;
    const rule = levelRule(picture.product);
    const isSpectrum = axis.name === "frequency";
    const rows = [];
    for (let i = 0; i < size; ++i) {
      const row = [axis.components === 1 ? axis.values[i] : i];
      for (let k = 0; k < curves; ++k) {
        const at = k * size + i;
        const value = isComplex ? magnitudeAt(picture.values, at) : Number(picture.values[at]);
        row.push(rule && isSpectrum ? levelOf(rule, value) : value);
      }
      rows.push(row.map((value) => (Number.isFinite(value) ? value : NaN)));
    }
    const labels = Array.from({ length: curves }, (_, k) => {
      const numbers = first?.values.slice(k * first.components, (k + 1) * first.components) ?? [];
      return numbers.length > 0 ? `${first?.name} ${numbers.map((value) => Number(value.toPrecision(4))).join(", ")}` : picture.product.name;
    });
    this.spectrum.options.xlabel = `${axis.name}${axis.unit === "1" ? "" : ` / ${axis.unit}`}`;
    this.spectrum.show(rows, ["x", ...labels], rule && isSpectrum ? rule.text : picture.product.unit);
  }
}
