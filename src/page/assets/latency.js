// How far the map and the video behind it are apart in time, measured at each drawing.

import { ageText } from "./condition.js";
import { ageOf, background, shown, view } from "./store.js";

const kMeasured_ms = 2000;
/** Differences of less than a frame of a video of 60 Hz are not told apart. */
const kSame_ms = 17;

/** @type {{at_ms: number, video_ms: number, map_ms: number}[]} ages at the latest drawings */
let drawn = [];

/** Notes how old the map and the video are that are drawn now. */
export function noteLatency() {
  const captured_ms = background.image?.captured_ms ?? null;
  const picture = shown()?.picture;
  const map_ms = picture ? ageOf(picture) : null;
  const at_ms = performance.now();
  drawn = drawn.filter((one) => at_ms - one.at_ms < kMeasured_ms);
  if (captured_ms !== null && map_ms !== null) drawn.push({ at_ms, video_ms: at_ms - captured_ms, map_ms });
}

/** @param {number} time_ms */
const timeText = (time_ms) => (time_ms < 1000 ? `${Math.round(time_ms)} ms` : ageText(time_ms));

/** @param {number[]} values */
const median = (values) => values.sort((a, b) => a - b)[values.length >> 1];

/** Medians of the last seconds, ms; null if there is no video, or no map. A picture that stands still is measured as it is. */
export function latency() {
  const last = drawn[drawn.length - 1];
  if (!last || (background.image?.captured_ms ?? null) === null) return null;
  if (view.isFrozen || view.isFlipped) return last;
  return { at_ms: last.at_ms, video_ms: median(drawn.map(({ video_ms }) => video_ms)), map_ms: median(drawn.map(({ map_ms }) => map_ms)) };
}

/** The latency in words; empty if there is none. */
export function latencyText() {
  const now = latency();
  if (!now) return "";
  const behind_ms = now.video_ms - now.map_ms;
  const least = background.image?.isCaptureKnown ? "" : "at least ";
  if (view.isFrozen || view.isFlipped) {
    const apart = `${timeText(Math.abs(behind_ms))} ${behind_ms > 0 ? "older" : "newer"} than the map`;
    return `the video is ${Math.abs(behind_ms) < kSame_ms ? "of the map's moment" : apart}`;
  }
  const order = Math.abs(behind_ms) < kSame_ms ? "they are of one moment" : `the video is ${least}${timeText(Math.abs(behind_ms))} ${behind_ms > 0 ? "behind" : "ahead"}`;
  return `map ${timeText(now.map_ms)} old, video ${least}${timeText(now.video_ms)} old: ${order}`;
}
