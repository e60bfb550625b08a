// The cameras of the browser's computer (getUserMedia), whose frames lie behind the field.

import { background, changed, markDirty, subscribe, view } from "./store.js";

const kStill_ms = 1500;
const kInsecure = "The browser gives cameras to pages of this computer or behind TLS alone: open the page at 127.0.0.1, through ssh -L from another computer, or by https.";
const kGone = "The camera was unplugged, or the browser withdrew it. The video goes on when the camera comes back.";
/** @type {Record<string, string>} what is said of the errors of getUserMedia, by their names */
const kRefusals = {
  NotAllowedError: "The browser refuses the camera: allow it for this page, beside the address, and choose the camera again.",
  NotFoundError: "The browser finds no camera at this computer.",
  NotReadableError: "The camera gives no pictures: another program may have it.",
  OverconstrainedError: "The camera that was chosen is not at this computer now.",
};

const video = Object.assign(document.createElement("video"), { muted: true, playsInline: true });
/** @type {MediaStream | null} */
let stream = null;
/** Counts openings, so that one that was given up meanwhile is closed again. */
let openings = 0;
/** @type {{id: string, name: string}[]} */
let cameras = [];
let frame_ms = 0;

/** The cameras to choose from; an empty id stands for whichever the browser offers, as it names none before it has asked the user. */
export const offeredCameras = () => (cameras.length > 0 ? cameras : [{ id: "", name: "A camera of this computer" }]);

async function listCameras() {
  const devices = await navigator.mediaDevices.enumerateDevices();
  cameras = devices.filter(({ kind, deviceId }) => kind === "videoinput" && deviceId !== "")
    .map(({ deviceId, label }, i) => ({ id: deviceId, name: label || `Camera ${i + 1}` }));
  changed();
}

/** @param {string} reason */
function refuse(reason) {
  closeCamera();
  background.trouble = reason;
  changed();
}

export function closeCamera() {
  openings += 1;
  for (const track of stream?.getTracks() ?? []) track.stop();
  stream = null;
  video.srcObject = null;
  Object.assign(background, { image: null, key: "", trouble: "" });
}

/** @param {string} id @param {MediaStream} of @returns {VideoFrameRequestCallback} */
const follower = (id, of) => function follow(now_ms, frame) {
  if (stream !== of) return;
  video.requestVideoFrameCallback(follow);
  frame_ms = performance.now();
  if (video.paused) return;
  const isFirst = background.image === null;
  background.key = `camera ${id}`;
  background.image = {
    source: video, width: frame.width, height: frame.height, frame: frame.presentedFrames,
    captured_ms: frame.captureTime ?? now_ms, isCaptureKnown: frame.captureTime !== undefined,
  };
  if (isFirst) changed();
  markDirty();
};

/**
 * Opens a camera, and closes the one before. Why it cannot be opened is said in the background's trouble.
 * @param {string} wanted   its id; empty: whichever the browser offers
 * @returns {Promise<string>}   the id of the camera that is open; empty if none is
 */
export async function openCamera(wanted) {
  closeCamera();
  const opening = openings;
  try {
    if (!navigator.mediaDevices) throw new Error(kInsecure);
    const opened = await navigator.mediaDevices.getUserMedia(
      { video: { deviceId: wanted ? { exact: wanted } : undefined, width: { ideal: 1280 }, height: { ideal: 720 } } });
    const [track] = opened.getVideoTracks();
    if (opening !== openings) {
      track.stop();
      return "";
    }
    stream = opened;
    track.addEventListener("ended", () => { if (stream === opened) refuse(kGone); });
    const id = track.getSettings().deviceId ?? "";
    video.srcObject = opened;
    video.requestVideoFrameCallback(follower(id, opened));
    frame_ms = performance.now();
    await video.play();
    await listCameras();
    return stream === opened ? id : "";
  } catch (error) {
    const { name, message } = /** @type {Error} */ (error);
    if (opening === openings) refuse(kRefusals[name] ?? message);
    return "";
  }
}

/**
 * Calls back when a camera is plugged in or out.
 * @param {(isThere: (id: string) => boolean) => void} then
 */
export function onCameras(then) {
  navigator.mediaDevices?.addEventListener("devicechange", async () => {
    await listCameras();
    then((id) => cameras.some((camera) => camera.id === id));
  });
}

/** The video stands still while the map does, and a camera that gives nothing is said. */
subscribe(() => {
  if (!stream) return;
  if (view.isFrozen !== video.paused && background.image) {
    if (view.isFrozen) video.pause();
    else video.play().catch(() => {});  // a pause meanwhile
  }
  const isStill = !view.isFrozen && performance.now() - frame_ms > kStill_ms;
  background.trouble = isStill ? "The camera gives no pictures now." : "";
});

if (navigator.mediaDevices) listCameras().catch(() => {});  // the list is asked for again with the camera
