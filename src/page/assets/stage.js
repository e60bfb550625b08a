// The stage: what is behind the field, field, and over them axes, colour bar, cursors and found sources.

import { kModes } from "./drawing.js";
import { apply, inverse, multiply, orbit, placed, toUnit } from "./geometry.js";
import { edgesOf } from "./picture.js";
import { niceStep, number, unitText } from "./units.js";

/**
 * @typedef {import("./picture.js").Grid} Grid
 * @typedef {import("./drawing.js").Look} Look
 * @typedef {import("./geometry.js").Matrix} Matrix
 *
 * @typedef {object} Mark
 * @property {number} x          on the axis across
 * @property {number} y          on the axis down
 * @property {string} text
 * @property {"cursor" | "second" | "peak" | "source"} kind
 *
 * @typedef {object} Bar
 * @property {string} title
 * @property {"magnitude" | "phase" | "signed"} table
 * @property {{at: number, text: string}[]} ticks    positions 0 .. 1 from the bottom
 *
 * @typedef {object} Scene
 * @property {Grid} grid
 * @property {Look} look
 * @property {Bar} bar
 * @property {Mark[]} marks
 * @property {import("./aperture.js").Aperture | null} aperture
 * @property {import("./geometry.js").Turn} turn
 * @property {{turn_rad: number, tilt_rad: number, distance: number} | null} surface   where it is seen from; null: the field is a map
 * @property {boolean} isAligning   the picture behind the field is shown alone, to be clicked
 * @property {{image: Image, matrix: Matrix | null} | null} background   matrix: from the field to 0 .. 1 over the picture
 *
 * A picture to lie behind the field.
 * @typedef {object} Image
 * @property {CanvasImageSource} source
 * @property {number} width
 * @property {number} height
 * @property {number} frame              number of the picture; another one is drawn again
 * @property {number | null} captured_ms   when the frame of a camera was taken, on the page's clock; null: a photograph
 * @property {boolean} isCaptureKnown    false if that is when the frame came to the page, and it was taken earlier
 */

const kMostPixelRatio = 2;
/** Resolution of a field that the processor draws: a quarter of the pixels, which the browser enlarges linearly. */
const kSoftwareRatio = 0.5;
const kBarWidth = 16;
/** The outline of the aperture: dark below, then light, so that it is seen on any colour. */
const kOutlines = /** @type {[string, number][]} */ ([["rgb(10 10 16 / .7)", 3], ["rgb(255 255 255 / .9)", 1.2]]);
/** A microphone's dot likewise: colour, and what is added to its radius. */
const kDots = /** @type {[string, number][]} */ ([["rgb(10 10 16 / .35)", 0.6], ["rgb(255 255 255 / .75)", 0]]);
const kHatch = 9;
/** Height of a line of text below a picture that is saved. */
const kLineHeight = 17;

/**
 * The bar of a scale.
 * @param {Look} look
 * @param {string} unit
 * @param {string} levelText
 * @returns {Bar}
 */
export function barOf(look, unit, levelText) {
  if (look.mode === kModes.phase || look.mode === kModes.phaseDifference) {
    const ticks = [-180, -90, 0, 90, 180].map((degrees) => ({ at: (degrees + 180) / 360, text: `${degrees}°`.replace("-", "−") }));
    return { title: "phase", table: "phase", ticks };
  }
  const isSigned = look.mode === kModes.real;
  const isDifference = look.mode === kModes.levelDifference;
  const low = isSigned ? -look.high : look.low;
  const step = niceStep((look.high - low) / 6);
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= look.high + 1e-9 * step; ++i) {
    ticks.push({ at: (i * step - low) / (look.high - low), text: number(i * step) });
  }
  const isDb = isDifference || (look.isDb && !isSigned);
  const title = isDifference ? "dB" : isDb ? levelText : unitText(unit);
  return { title, table: isSigned || isDifference ? "signed" : "magnitude", ticks };
}

/**
 * "x / m"; "y / m, downwards", since y increases downwards: the array's row 0 is on top, seen from its back.
 * @param {{name: string, unit: string}} axis
 */
export function axisTitle(axis) {
  const countsDown = axis.name === "y";
  return `${axis.name}${axis.unit === "1" ? "" : ` / ${axis.unit}`}${countsDown ? ", downwards" : ""}`;
}

export class Stage {
  /** @param {HTMLElement} element @param {import("./drawing.js").Drawing} drawing @param {Record<string, number[][]>} colours */
  constructor(element, drawing, colours) {
    this.element = element;
    this.drawing = drawing;
    this.colours = colours;
    this.overlay = /** @type {HTMLCanvasElement} */ (element.querySelector("#overlay"));
    this.backgroundCanvas = /** @type {HTMLCanvasElement} */ (element.querySelector("#background-canvas"));
    this.width = 1;
    this.height = 1;
    this.ratio = 1;
    this.fieldRatio = 1;
    /** The part of the stage that the field's canvas covers: a smaller canvas is drawn faster. */
    this.box = { x: 0, y: 0, width: 0, height: 0 };
    /** Key of the overlay drawn last, to draw it only when something changed. */
    this.overlayKey = "";
    this.backgroundKey = "";
    /** @type {CanvasImageSource | null} */
    this.backgroundImage = null;
    /** @type {Matrix} */
    this.toCanvas = [1, 0, 0, 0, 1, 0, 0, 0, 1];
    this.changed = () => {};
    new ResizeObserver(() => this.resize()).observe(element);
    this.resize();
  }

  resize() {
    const box = this.element.getBoundingClientRect();
    this.width = Math.max(1, Math.round(this.element.clientWidth || box.width));
    this.height = Math.max(1, Math.round(this.element.clientHeight || box.height));
    this.ratio = Math.min(window.devicePixelRatio || 1, kMostPixelRatio);
    this.fieldRatio = this.drawing.isSoftware ? kSoftwareRatio : this.ratio;
    for (const canvas of [this.overlay, this.backgroundCanvas]) {
      canvas.width = Math.round(this.width * this.ratio);
      canvas.height = Math.round(this.height * this.ratio);
    }
    this.box = { x: 0, y: 0, width: 0, height: 0 };
    this.overlayKey = "";
    this.backgroundKey = "";
    this.changed();
  }

  /**
   * Area of the field.
   * @returns {import("./geometry.js").Rectangle}
   */
  area() {
    const [left, right] = this.width < 500 ? [50, 86] : [58, 92];
    return { x: left, y: 14, width: Math.max(20, this.width - left - right), height: Math.max(20, this.height - 58) };
  }

  /**
   * Maps 0 .. 1 over a picture to the stage: whole, as large as possible, mirrored and turned like the field.
   * @param {{width: number, height: number}} image
   * @param {import("./geometry.js").Turn} turn
   * @returns {Matrix}
   */
  backgroundToCanvas(image, turn) {
    const room = { x: 4, y: 4, width: this.width - 96, height: this.height - 8 };
    return multiply(placed([0, image.width], [0, image.height], room, turn), [image.width, 0, 0, 0, image.height, 0, 0, 0, 1]);
  }

  /**
   * Maps the field to the stage, in CSS pixels.
   * @param {Scene} scene
   * @returns {Matrix}
   */
  matrixOf(scene) {
    if (scene.background?.matrix) return multiply(this.backgroundToCanvas(scene.background.image, scene.turn), scene.background.matrix);
    return placed(edgesOf(scene.grid.across), edgesOf(scene.grid.down), this.area(), scene.turn);
  }

  /**
   * Edges of a field that lies straight on the stage.
   * @param {Grid} grid
   */
  edgesOnStage(grid) {
    const [a, b] = [0, 1].map((i) => apply(this.toCanvas, edgesOf(grid.across)[i], edgesOf(grid.down)[i]));
    return { left: Math.min(a[0], b[0]), right: Math.max(a[0], b[0]), top: Math.min(a[1], b[1]), bottom: Math.max(a[1], b[1]) };
  }

  /**
   * The smallest part of the stage that holds the field.
   * @param {Scene} scene
   * @returns {import("./geometry.js").Rectangle}
   */
  boxOf(scene) {
    const whole = { left: 0, right: this.width - 92, top: 0, bottom: this.height };
    const { left, right, top, bottom } = scene.surface ? whole : scene.background?.matrix ? this.cornersOnStage(scene.grid, whole) : this.edgesOnStage(scene.grid);
    const [x, y] = [Math.floor(left), Math.floor(top)];
    return { x, y, width: Math.ceil(right) - x, height: Math.ceil(bottom) - y };
  }

  /**
   * Edges on the stage of a field that is seen from aside; the whole if a part of it lies behind the horizon.
   * @param {Grid} grid
   * @param {{left: number, right: number, top: number, bottom: number}} whole
   */
  cornersOnStage({ across, down }, whole) {
    const corners = edgesOf(across).flatMap((x) => edgesOf(down).map((y) => [x, y]));
    const signs = new Set(corners.map(([x, y]) => Math.sign(this.toCanvas[6] * x + this.toCanvas[7] * y + this.toCanvas[8])));
    const places = corners.map(([x, y]) => apply(this.toCanvas, x, y));
    const [xs, ys] = [0, 1].map((i) => places.map((place) => place[i]));
    const found = {
      left: Math.max(whole.left, Math.min(...xs)), right: Math.min(whole.right, Math.max(...xs)),
      top: Math.max(whole.top, Math.min(...ys)), bottom: Math.min(whole.bottom, Math.max(...ys)),
    };
    return signs.size > 1 || !(found.left < found.right && found.top < found.bottom) ? whole : found;
  }

  /** @param {import("./geometry.js").Rectangle} box */
  placeField(box) {
    if (Object.values(box).join() === Object.values(this.box).join()) return;
    this.box = box;
    const canvas = this.drawing.canvas;
    canvas.width = Math.max(1, Math.round(box.width * this.fieldRatio));
    canvas.height = Math.max(1, Math.round(box.height * this.fieldRatio));
    Object.assign(canvas.style, { left: `${box.x}px`, top: `${box.y}px`, width: `${box.width}px`, height: `${box.height}px` });
  }

  /**
   * Maps the stage, in CSS pixels, to the pixels of the field's canvas.
   * @returns {Matrix}
   */
  toPixels() {
    const canvas = this.drawing.canvas;
    const [across, down] = [canvas.width / this.box.width, canvas.height / this.box.height];
    return [across, 0, -this.box.x * across, 0, down, -this.box.y * down, 0, 0, 1];
  }

  /** @param {Scene} scene */
  draw(scene) {
    this.toCanvas = this.matrixOf(scene);
    this.placeField(this.boxOf(scene));
    const across = edgesOf(scene.grid.across);
    const down = edgesOf(scene.grid.down);
    if (scene.surface) {
      const { turn_rad, tilt_rad, distance } = scene.surface;
      const camera = orbit(turn_rad, tilt_rad, distance, this.box.width / this.box.height);
      this.drawing.drawSurface(scene.look, camera, Math.abs(across[1] - across[0]), Math.abs(down[1] - down[0]), scene.turn.mirror);
    } else {
      const toPixels = multiply(this.toPixels(), this.toCanvas);
      const toField = multiply(toUnit(across, down), inverse(toPixels));
      // w is 1 in the field's middle, and so above 0 on the side of the horizon where the field lies
      const middle = apply(toPixels, (across[0] + across[1]) / 2, (down[0] + down[1]) / 2);
      const w = toField[6] * middle[0] + toField[7] * middle[1] + toField[8];
      this.drawing.drawMap(scene.look, toField.map((value) => value / w));
    }
    this.drawBackground(scene);
    this.drawOverlay(scene);
  }

  /** @param {Scene} scene */
  drawBackground(scene) {
    const key = scene.background && !scene.surface ? JSON.stringify([this.width, this.height, scene.turn, scene.background.image.frame]) : "";
    if (key === this.backgroundKey && scene.background?.image.source === this.backgroundImage) return;
    this.backgroundKey = key;
    this.backgroundImage = scene.background?.image.source ?? null;
    this.backgroundCanvas.hidden = key === "";
    const context = /** @type {CanvasRenderingContext2D} */ (this.backgroundCanvas.getContext("2d"));
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    if (!scene.background || !key) return;
    const [a, c, e, b, d, f] = this.backgroundToCanvas(scene.background.image, scene.turn);
    context.transform(a, b, c, d, e, f);
    context.drawImage(scene.background.image.source, 0, 0, 1, 1);
  }

  /** @param {Scene} scene */
  drawOverlay(scene) {
    const style = getComputedStyle(this.element);
    const text = style.getPropertyValue("--text");
    const key = JSON.stringify([scene.grid, scene.bar, scene.marks, this.toCanvas, scene.surface !== null, this.width, this.height, text,
      scene.background !== null, scene.aperture?.id, scene.isAligning]);
    if (key === this.overlayKey) return;
    this.overlayKey = key;
    const context = /** @type {CanvasRenderingContext2D} */ (this.overlay.getContext("2d"));
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    context.font = `12px ${style.fontFamily}`;
    context.fillStyle = text;
    context.strokeStyle = text;
    context.lineWidth = 1;
    this.drawBar(context, scene.bar);
    if (scene.surface || scene.isAligning) return;
    if (scene.aperture) this.drawAperture(context, scene.aperture, scene.grid);
    if (!scene.background?.matrix) this.drawAxes(context, scene);
    for (const mark of scene.marks) this.drawMark(context, mark);
  }

  /** @param {CanvasRenderingContext2D} context @param {Bar} bar */
  drawBar(context, bar) {
    const area = this.area();
    const x = this.width - 84;
    const top = area.y + 18;
    const height = area.height - 18;
    const table = this.colours[bar.table];
    for (let i = 0; i < Math.round(height); ++i) {
      const colour = table[Math.round((1 - i / height) * (table.length - 1))];
      context.fillStyle = `rgb(${colour.join()})`;
      context.fillRect(x, top + i, kBarWidth, 1.5);
    }
    context.fillStyle = context.strokeStyle;
    context.strokeRect(x + 0.5, top + 0.5, kBarWidth, height);
    context.textAlign = "left";
    context.textBaseline = "middle";
    for (const tick of bar.ticks) {
      const y = Math.round(top + (1 - tick.at) * height) + 0.5;
      context.beginPath();
      context.moveTo(x + kBarWidth, y);
      context.lineTo(x + kBarWidth + 4, y);
      context.stroke();
      context.fillText(tick.text, x + kBarWidth + 7, y);
    }
    context.textAlign = "right";
    context.textBaseline = "alphabetic";
    context.fillText(bar.title, this.width - 6, area.y + 8);
  }

  /**
   * Frame, ticks and numbers of a field that lies straight on the stage.
   * @param {CanvasRenderingContext2D} context
   * @param {Scene} scene
   */
  drawAxes(context, scene) {
    const { across, down } = scene.grid;
    const [[x0], [y0]] = [edgesOf(across), edgesOf(down)];
    const { left, right, top, bottom } = this.edgesOnStage(scene.grid);
    context.strokeRect(Math.round(left) - 0.5, Math.round(top) - 0.5, Math.round(right - left) + 1, Math.round(bottom - top) + 1);
    const isUpright = scene.turn.quarters % 2 === 0;
    for (const [axis, isAcross] of /** @type {[import("./picture.js").Axis, boolean][]} */ ([[across, true], [down, false]])) {
      const edges = edgesOf(axis);
      const isHorizontal = isAcross === isUpright;
      const length = isHorizontal ? right - left : bottom - top;
      const range = Math.abs(edges[1] - edges[0]);
      const step = niceStep(range / Math.max(2, length / (isHorizontal ? 70 : 45)));
      for (let i = Math.ceil(Math.min(...edges) / step); i * step <= Math.max(...edges); ++i) {
        const at = apply(this.toCanvas, isAcross ? i * step : x0, isAcross ? y0 : i * step);
        this.drawTick(context, isHorizontal, isHorizontal ? at[0] : at[1], isHorizontal ? bottom : left, number(i * step, 6));
      }
      const name = axisTitle(axis);
      if (isHorizontal) {
        context.textAlign = "center";
        context.textBaseline = "top";
        context.fillText(name, (left + right) / 2, bottom + 23);
      } else {
        context.save();
        context.translate(Math.max(9, left - 46), (top + bottom) / 2);
        context.rotate(-Math.PI / 2);
        context.textAlign = "center";
        context.textBaseline = "middle";
        context.fillText(name, 0, 0);
        context.restore();
      }
    }
  }

  /** @param {CanvasRenderingContext2D} context @param {boolean} isHorizontal @param {number} at @param {number} edge @param {string} text */
  drawTick(context, isHorizontal, at, edge, text) {
    const place = Math.round(at) + 0.5;
    context.beginPath();
    if (isHorizontal) {
      context.moveTo(place, edge);
      context.lineTo(place, edge + 5);
      context.textAlign = "center";
      context.textBaseline = "top";
      context.fillText(text, place, edge + 7);
    } else {
      context.moveTo(edge, place);
      context.lineTo(edge - 5, place);
      context.textAlign = "right";
      context.textBaseline = "middle";
      context.fillText(text, edge - 8, place);
    }
    context.stroke();
  }

  /**
   * The microphones, the outline of the aperture, and hatching over the parts of a field beyond it.
   * @param {CanvasRenderingContext2D} context
   * @param {import("./aperture.js").Aperture} aperture
   * @param {Grid} grid
   */
  drawAperture(context, { microphones, outline, isExceeded }, grid) {
    const [[x0, x1], [y0, y1]] = [edgesOf(grid.across), edgesOf(grid.down)];
    const path = (/** @type {[number, number][]} */ corners) => {
      const [first, ...others] = corners.map(([x, y]) => apply(this.toCanvas, x, y));
      context.moveTo(...first);
      for (const corner of others) context.lineTo(...corner);
      context.closePath();
    };
    context.save();
    context.beginPath();
    path([[x0, y0], [x1, y0], [x1, y1], [x0, y1]]);
    context.clip();
    for (const [colour, width] of kOutlines) {
      context.strokeStyle = colour;
      context.lineWidth = width;
      context.setLineDash([6, 4]);
      context.beginPath();
      path(outline);
      context.stroke();
      context.setLineDash([]);
    }
    const apart = Math.sqrt(this.areaOf(outline) / microphones.length);  // of neighbours on the stage
    const radius = Math.min(2, apart / 16);
    for (const [colour, width] of radius > 0.3 ? kDots : []) {
      context.beginPath();
      for (const [x, y] of microphones) {
        const place = apply(this.toCanvas, x, y);
        context.moveTo(...place);
        context.arc(...place, radius + width, 0, 2 * Math.PI);
      }
      context.fillStyle = colour;
      context.fill();
    }
    if (isExceeded) {
      context.beginPath();
      context.rect(0, 0, this.width, this.height);
      path(outline);
      context.clip("evenodd");
      context.beginPath();
      for (let x = -this.height; x < this.width; x += kHatch) {
        context.moveTo(x, this.height);
        context.lineTo(x + this.height, 0);
      }
      context.strokeStyle = "rgb(128 128 128 / .8)";
      context.lineWidth = 1.5;
      context.stroke();
    }
    context.restore();
  }

  /**
   * Area on the stage, in square pixels, of a polygon of the field.
   * @param {[number, number][]} corners
   */
  areaOf(corners) {
    const places = corners.map(([x, y]) => apply(this.toCanvas, x, y));
    return Math.abs(places.reduce((sum, [x, y], i) => {
      const [nextX, nextY] = places[(i + 1) % places.length];
      return sum + (x * nextY - nextX * y) / 2;
    }, 0));
  }

  /** @param {CanvasRenderingContext2D} context @param {Mark} mark */
  drawMark(context, mark) {
    const [x, y] = apply(this.toCanvas, mark.x, mark.y);
    if (!(x >= 0 && x <= this.width && y >= 0 && y <= this.height)) return;
    const radius = mark.kind === "source" ? 11 : mark.kind === "peak" ? 5 : 8;
    const outline = () => {
      context.beginPath();
      context.arc(x, y, radius, 0, 2 * Math.PI);
      if (mark.kind === "cursor" || mark.kind === "second") {
        for (const [dx, dy] of [[1, 0], [-1, 0], [0, 1], [0, -1]]) {
          context.moveTo(x + 4 * dx, y + 4 * dy);
          context.lineTo(x + 14 * dx, y + 14 * dy);
        }
      }
      context.stroke();
    };
    context.save();
    context.textBaseline = "middle";
    const isLeft = x > this.width - 190;
    context.textAlign = isLeft ? "right" : "left";
    const textX = isLeft ? x - radius - 6 : x + radius + 6;
    context.strokeStyle = "rgb(10 10 16 / .85)";
    context.lineWidth = 4;
    outline();
    context.lineWidth = 3;
    context.strokeText(mark.text, textX, y);
    context.strokeStyle = "#ffffff";
    context.fillStyle = "#ffffff";
    context.lineWidth = 1.7;
    context.setLineDash(mark.kind === "second" ? [3, 2] : []);
    outline();
    context.fillText(mark.text, textX, y);
    context.restore();
  }

  /**
   * The colour that was just drawn, in the same task, of the canvas's pixel at a place of the field, and that pixel's centre.
   * @param {number} x
   * @param {number} y
   */
  colourAt(x, y) {
    const toPixels = multiply(this.toPixels(), this.toCanvas);
    const [column, row] = apply(toPixels, x, y).map(Math.floor);
    const centre = apply(inverse(toPixels), column + 0.5, row + 0.5);
    return { colour: this.drawing.readPixel(column, row), x: centre[0], y: centre[1] };
  }

  /**
   * The place of the field under a point of the stage.
   * @param {number} x
   * @param {number} y
   */
  placeAt(x, y) {
    return apply(inverse(this.toCanvas), x, y);
  }

  /**
   * Size of the picture with lines of text below it, in pixels of the canvas.
   * @param {number} lines
   */
  sizeWith(lines) {
    return { width: Math.round(this.width * this.ratio), height: Math.round((this.height + kLineHeight * lines + 14) * this.ratio) };
  }

  /**
   * Draws the picture with what is behind it, bar, axes and lines of text on another canvas, as large as fits. The field must have been drawn in
   * the same task.
   * @param {HTMLCanvasElement} canvas
   * @param {string[]} lines
   */
  compose(canvas, lines) {
    const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    const style = getComputedStyle(this.element);
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.fillStyle = style.getPropertyValue("--stage");
    context.fillRect(0, 0, canvas.width, canvas.height);
    const { width, height } = this.sizeWith(lines.length);
    const scale = this.ratio * Math.min(1, canvas.width / width, canvas.height / height);
    context.setTransform(scale, 0, 0, scale, 0, 0);
    if (!this.backgroundCanvas.hidden) context.drawImage(this.backgroundCanvas, 0, 0, this.width, this.height);
    context.drawImage(this.drawing.canvas, this.box.x, this.box.y, this.box.width, this.box.height);
    context.drawImage(this.overlay, 0, 0, this.width, this.height);
    context.font = `12px ${style.fontFamily}`;
    context.fillStyle = style.getPropertyValue("--text");
    context.textBaseline = "top";
    lines.forEach((line, i) => context.fillText(line, 10, this.height + 6 + i * kLineHeight, this.width - 20));
  }
}
