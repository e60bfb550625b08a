// The panels of the daemon's state and of its microphones.

import { element, fillTable, setText } from "./page.js";
import { figuresOf } from "./picture.js";
import { known, pictureInView, shown, subscribe, view } from "./store.js";
import { number } from "./units.js";

/** @param {any} measured  median, p99 ... of docs/reference/control.md */
function timesText(measured) {
  if (!measured || typeof measured !== "object") return "";
  return [["median", "median"], ["p99", "p99"], ["max", "most"]]
    .filter(([key]) => typeof measured[key] === "number")
    .map(([key, name]) => `${name} ${number(measured[key], 3)}`)
    .join(", ");
}

/**
 * Counts that are not zero.
 * @param {any} counts
 */
function countsText(counts) {
  return Object.entries(counts ?? {}).filter(([, count]) => Number(count) > 0).map(([name, count]) => `${name} ${count}`).join(", ");
}

/**
 * Any value as readable text.
 * @param {any} value
 * @returns {string}
 */
function anyText(value) {
  if (value === null || value === undefined) return "–";
  if (typeof value === "number") return Number.isInteger(value) ? String(value) : number(value, 6);
  if (Array.isArray(value)) return value.map(anyText).join(", ");
  if (typeof value === "object") return Object.entries(value).map(([key, one]) => `${key} ${anyText(one)}`).join(", ");
  return String(value);
}

subscribe(() => {
  const { status } = known;
  const ring = known.rings[view.processor];
  const rows = [["pictures here", `${number(known.pictures_hz, 3)} a second, ${number(known.bytes_s / 1024, 3)} KiB/s`]];
  if (ring?.rate_hz !== undefined) rows.push(["frames of the processor", `${number(ring.rate_hz)} a second`]);
  if (status) {
    rows.push(["daemon", `${status.version ?? ""} ${status.state ?? ""}, up ${Math.round(status.uptime_s ?? NaN)} s, epoch ${anyText(status.epoch)}`]);
    rows.push(["source", anyText(status.source)], ["front end", anyText(status.front_end)], ["device", anyText(status.device)]);
    rows.push(["frame rate", `${number(status.frame_rate_hz ?? NaN)} of ${number(status.hop_rate_hz ?? NaN)} a second`]);
    rows.push(["age, ms", timesText(status.age_ms)], ["interval, ms", timesText(status.interval_ms)]);
    for (const [stage, times] of Object.entries(status.stages_ms ?? {})) rows.push([`${stage}, ms`, timesText(times)]);
    const bits = status.bit_times ?? {};
    rows.push([String(status.counted_in ?? "bit-times"), `${anyText(bits.received)} received + ${anyText(bits.missing)} missing = ${anyText(bits.expected)} expected`]);
    rows.push(["lost", countsText({ "shed hops": status.shed_hops, ...status.losses }) || "nothing"], ["waiting", countsText(status.queues)]);
    if (status.senders?.present) rows.push(["sender", anyText(status.senders.present)]);
    if (status.senders?.other) rows.push(["a second sender", anyText(status.senders.other)]);
  }
  fillTable("health", rows.filter(([, text]) => text !== ""));
  const limits = (status?.limits ?? []).map((/** @type {any} */ { name, ...rest }) => [String(name), anyText(rest)]);
  element("limits-title", HTMLElement).hidden = limits.length === 0;
  fillTable("limits", limits);
  const picture = shown()?.picture;
  fillTable("figures", picture ? figuresOf(picture) : []);
}, "health-panel");

/**
 * The places of the microphones, 0 .. 1.
 * @returns {{x: number, y: number}[]}
 */
export function placesOfMicrophones() {
  const places = known.microphones_m;
  const [x0, x1, y0, y1] = [0, 1].flatMap((axis) => {
    const values = places.map((place) => place[axis]);
    return [Math.min(...values), Math.max(...values)];
  });
  const size = Math.max(x1 - x0, y1 - y0) || 1;
  return places.map(([x, y]) => ({ x: 0.5 + (x - (x0 + x1) / 2) / size, y: 0.5 + (y - (y0 + y1) / 2) / size }));
}

/**
 * Marks on the map of the microphones.
 * @typedef {"healthy" | "configured" | "masked" | "bad"} Sort
 * @typedef {{channel: number, row: number, column: number, cause: string}} Entry
 */

/** @type {Record<Sort, string>} */
const kSorts = {
  healthy: "in use", configured: "masked by the configuration", masked: "masked by the monitor", bad: "found bad, but in use",
};
const kSortNames = /** @type {Sort[]} */ (Object.keys(kSorts));

/**
 * The microphones that are not simply in use: masked ones, and those that the monitor has found and does not mask.
 * @param {any} microphones   from the daemon's status
 * @returns {Map<number, {sort: Sort, entry: Entry}>}  by channels
 */
function marksOfMicrophones(microphones) {
  /** @type {Map<number, {sort: Sort, entry: Entry}>} */
  const marks = new Map();
  for (const entry of microphones?.bad ?? []) marks.set(entry.channel, { sort: "bad", entry });
  for (const entry of microphones?.masked_channels ?? []) {
    marks.set(entry.channel, { sort: entry.cause === "configuration" ? "configured" : "masked", entry });
  }
  return new Map([...marks].sort(([a], [b]) => a - b));
}

/**
 * Draws the mark of one microphone: forms differ as well as colours.
 * @param {CanvasRenderingContext2D} context
 * @param {Sort} sort
 * @param {number} x
 * @param {number} y
 * @param {number} radius
 */
function drawMicrophone(context, sort, x, y, radius) {
  const style = getComputedStyle(context.canvas);
  const colour = (/** @type {string} */ name) => style.getPropertyValue(name);
  const line = (/** @type {number[]} */ [x0, y0, x1, y1]) => {
    context.moveTo(x + x0 * radius, y + y0 * radius);
    context.lineTo(x + x1 * radius, y + y1 * radius);
  };
  context.beginPath();
  context.lineWidth = 1.5;
  context.strokeStyle = colour("--text");
  if (sort === "configured") {  // an empty circle
    context.arc(x, y, radius, 0, 2 * Math.PI);
    context.stroke();
    return;
  }
  context.fillStyle = colour({ healthy: "--live", masked: "--stopped", bad: "--warned" }[sort]);
  if (sort === "bad") context.rect(x - 1.2 * radius, y - 1.2 * radius, 2.4 * radius, 2.4 * radius);
  else context.arc(x, y, sort === "healthy" ? radius : 1.3 * radius, 0, 2 * Math.PI);
  context.fill();
  if (sort === "healthy") return;
  context.beginPath();
  if (sort === "masked") {
    line([-1, -1, 1, 1]);
    line([1, -1, -1, 1]);
    context.stroke();
  } else {
    context.strokeRect(x - 1.2 * radius, y - 1.2 * radius, 2.4 * radius, 2.4 * radius);
  }
}

/** @param {HTMLCanvasElement} canvas @param {number} width @param {number} height */
export function contextOf(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  context.scale(ratio, ratio);
  return context;
}

/** @param {Record<Sort, number>} counts  number of each mark on the map */
function showLegend(counts) {
  const kSide = 16;
  const list = element("microphones-legend", HTMLElement);
  list.replaceChildren(...kSortNames.filter((sort) => counts[sort] > 0).map((sort) => {
    const entry = document.createElement("li");
    const mark = document.createElement("canvas");
    entry.append(mark, `${kSorts[sort]}: ${counts[sort]}`);
    list.append(entry);  // to read the page's colours
    drawMicrophone(contextOf(mark, kSide, kSide), sort, kSide / 2, kSide / 2, 5);
    return entry;
  }));
}

/** @param {number} microphone @returns {string} "5", or "5 (channel 13)" where it is on another channel of the input */
export function microphoneText(microphone) {
  const channel = known.channels[microphone] ?? microphone;
  return channel === microphone ? String(microphone) : `${microphone} (channel ${channel})`;
}

/** @param {number} share */
const shareText = (share) => `${share < 0.0995 ? Number((100 * share).toPrecision(2)) : Math.round(100 * share)} %`;

subscribe(() => {
  const microphones = known.status?.microphones;
  const valid = pictureInView()?.head.valid_microphones ?? null;
  const marks = marksOfMicrophones(microphones);
  const watched = microphones ? (microphones.watched ? "watched" : "not watched") : "their state is not known";
  const used = valid === null ? "" : microphones?.microphones ? `${valid} of ${microphones.microphones} used; ` : `${valid} used; `;
  const missing = microphones?.missing_information > 0 ? `, ${shareText(microphones.missing_information)} of the information missing` : "";
  setText("microphones-text", `${used}${watched}; ${microphones?.masked ?? 0} masked${missing}, ${microphones?.bad?.length ?? 0} found bad.`);
  fillTable("bad", [...marks.values()].map(({ sort, entry }) =>
    [microphoneText(entry.channel), `${entry.row}, ${entry.column}`, `${kSorts[sort]}: ${sort === "configured" ? "array.dead_channels" : entry.cause}`]),
  ["microphone", "row, column", "what, and why"]);
  const canvas = element("microphones", HTMLCanvasElement);
  const places = placesOfMicrophones();
  canvas.hidden = element("microphones-legend", HTMLElement).hidden = places.length === 0;
  if (places.length === 0) return;
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  const key = JSON.stringify([width, height, window.devicePixelRatio, places.length, [...marks], matchMedia("(prefers-color-scheme: light)").matches]);
  if (canvas.dataset.key === key || width === 0) return;
  canvas.dataset.key = key;
  /** @type {Record<Sort, number>} */
  const counts = { healthy: 0, configured: 0, masked: 0, bad: 0 };
  const context = contextOf(canvas, width, height);
  const room = Math.min(width, height) - 20;
  const radius = Math.max(1.5, Math.min(6, (0.35 * room) / Math.sqrt(places.length)));
  places.forEach(({ x, y }, channel) => {
    const sort = marks.get(channel)?.sort ?? "healthy";
    counts[sort] += 1;
    drawMicrophone(context, sort, width / 2 + (x - 0.5) * room, height / 2 + (y - 0.5) * room, radius);
  });
  showLegend(counts);
  const words = kSortNames.map((sort) => `${counts[sort]} ${kSorts[sort]}`);
  canvas.setAttribute("aria-label", `Map of ${places.length} microphones: ${words.join(", ")}`);
}, "microphones-panel");
