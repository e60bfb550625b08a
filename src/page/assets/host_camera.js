// The camera at the array's computer, whose frames the daemon passes on as the camera has compressed them.

import { background, changed, known, markDirty, view } from "./store.js";

let isOpen = false;
let isDecoding = false;
let frames = 0;

export const openHostCamera = () => { isOpen = true; };

/** Nothing is behind the field then. */
export function closeHostCamera() {
  isOpen = false;
}

/** True if the next frame is to be asked for: the video stands while the map does. */
export const wantsFrame = () => isOpen && !isDecoding && !view.isFrozen;

/** @param {string} text   why there are no frames; empty if there are some again */
export function sayOfHostCamera(text) {
  if (!isOpen) return;
  background.trouble = text;
  if (text) background.image = null;
  changed();
}

/**
 * Lays a frame behind the field.
 * @param {number} captured_mono_ms   when it was taken, on the daemon's monotonic clock
 * @param {ArrayBuffer} jpeg
 */
export async function takeFrame(captured_mono_ms, jpeg) {
  if (!wantsFrame()) return;
  isDecoding = true;
  const image = await createImageBitmap(new Blob([jpeg], { type: "image/jpeg" })).catch(() => null);
  isDecoding = false;
  if (!image) return sayOfHostCamera("The array's camera sent a frame that is no picture.");
  if (!isOpen || view.isFrozen) return image.close();
  const before = background.image?.source;
  frames += 1;
  const { width, height } = image;
  background.key = "camera at the array";
  background.image = { source: image, width, height, frame: frames, captured_ms: captured_mono_ms - (known.ahead_ms ?? 0), isCaptureKnown: known.ahead_ms !== null };
  if (before instanceof ImageBitmap) before.close();
  else sayOfHostCamera("");
  return markDirty();
}
