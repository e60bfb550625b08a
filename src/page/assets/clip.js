// A clip (WebM) of what the stage shows, with the numbers below it, as it is drawn.

import { captionLines, stemOf, timeOf } from "./files.js";
import { element, onClick, save, setText } from "./page.js";
import { stage } from "./scene.js";
import { changed, shown, subscribe } from "./store.js";

const kLongest_s = 300;
const kPictures_hz = 30;
const kTypes = ["video/webm;codecs=vp9", "video/webm;codecs=vp8", "video/webm"];  // Chromium compresses by VP9 almost twice as fast

/**
 * A clip under way.
 * @typedef {object} Clip
 * @property {MediaRecorder} recorder
 * @property {HTMLCanvasElement} canvas
 * @property {number} began_ms
 */

/** @type {Clip | null} */
let clip = null;
let trouble = "";

const secondsOf = (/** @type {Clip} */ { began_ms }) => (performance.now() - began_ms) / 1000;

/** @param {import("./store.js").Shown} now */
function begin(now) {
  const lines = captionLines(now);
  const { width, height } = stage.sizeWith(lines.length);
  const canvas = Object.assign(document.createElement("canvas"), { width: width + (width & 1), height: height + (height & 1) });  // codecs halve the colours' pixels
  canvas.getContext("2d", { alpha: false });  // else opacity is compressed as a second video
  stage.compose(canvas, lines);
  const mimeType = kTypes.find((type) => MediaRecorder.isTypeSupported(type));
  if (!mimeType) throw new Error("this browser makes no WebM");
  const recorder = new MediaRecorder(canvas.captureStream(kPictures_hz), { mimeType, videoBitsPerSecond: 6e6 });
  /** @type {Blob[]} */
  const parts = [];
  const name = `${stemOf(timeOf(now.picture))}.webm`;
  recorder.ondataavailable = ({ data }) => { parts.push(data); };
  recorder.onerror = () => { trouble = "The browser has broken the clip off."; };
  recorder.onstop = () => {
    for (const track of recorder.stream.getTracks()) track.stop();
    clip = null;
    save(name, new Blob(parts, { type: "video/webm" }));
    changed();
  };
  const end = setTimeout(() => recorder.stop(), 1000 * kLongest_s);  // also where nothing is drawn any more
  recorder.addEventListener("stop", () => { clearTimeout(end); });
  recorder.start(1000);
  clip = { recorder, canvas, began_ms: performance.now() };
}

/** Begins a clip, or ends it and saves it. */
export function toggleClip() {
  const now = shown();
  trouble = "";
  try {
    if (clip) clip.recorder.stop();
    else if (now?.picture.grid) begin(now);
  } catch (error) {
    trouble = `No clip: ${/** @type {Error} */ (error).message}.`;
  }
  changed();
}

/** Adds what was just drawn, in the same task, to the clip. */
export function followClip() {
  const now = shown();
  if (!clip || !now || clip.recorder.state !== "recording") return;
  stage.compose(clip.canvas, captionLines(now));
}

subscribe(() => {
  setText("clip", clip ? `End the clip (${Math.floor(secondsOf(clip))} s)` : "Clip (WebM)");
  element("clip", HTMLButtonElement).setAttribute("aria-pressed", String(clip !== null));
  setText("clip-text", trouble);
});
onClick("clip", toggleClip);
