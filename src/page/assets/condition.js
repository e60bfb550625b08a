// Condition of the picture: live, old, lost, masked ... A function of the state, without display.

import { kFlags } from "./picture.js";
import { ageOf, draws, known, pictureInView, view } from "./store.js";

/**
 * @typedef {object} Condition
 * @property {"live" | "warned" | "stopped" | "frozen"} kind
 * @property {string} text                 without the age, which changes all the time
 * @property {string} age                  "3.1 ms old"; empty if unknown
 * @property {number | null} age_ms
 * @property {string[]} notes              further caveats about the picture
 * @property {boolean} isLive              the picture may be shown as live
 * @property {number} old_ms               above this age a picture is old, and grey
 *
 * Flags and losses.
 * @typedef {{flags: number, missing: number, shed: number}} Losses
 */

/** A picture is live if its last bit came at most this long ago. */
export const kLive_ms = 100;
/** Processors slower than this are allowed one and a half of their intervals more. */
const kSlow_hz = 15;
const kNotes_ms = 2000;  // display time of a flag of one picture

/** @returns {Losses} flags and losses of the last seconds, or of the one picture that stands still */
function recentLosses() {
  const now = performance.now();
  known.notes = known.notes.filter((note) => now - note.at < kNotes_ms);
  const head = view.isFrozen || view.isFlipped ? pictureInView()?.head : null;
  if (head) return { flags: head.flags, missing: head.missing_bit_times, shed: head.shed_hops };
  return known.notes.reduce((all, note) => ({
    flags: all.flags | note.flags, missing: Math.max(all.missing, note.missing), shed: Math.max(all.shed, note.shed),
  }), { flags: 0, missing: 0, shed: 0 });
}

/** The largest age of a picture drawn in the last seconds, at its drawing, ms: makes rare delays readable. */
function latestDraw_ms() {
  const from_ms = performance.now() - kNotes_ms;
  return draws.reduce((most_ms, { at_ms, isLive, age_ms }) => (at_ms >= from_ms && isLive ? Math.max(most_ms, age_ms ?? 0) : most_ms), 0);
}

/** @param {number} age_ms */
export function ageText(age_ms) {
  if (age_ms < 100) return `${Math.max(age_ms, 0).toFixed(age_ms < 10 ? 1 : 0)} ms`;
  if (age_ms < 60e3) return `${(age_ms / 1000).toFixed(1)} s`;
  return age_ms < 3600e3 ? `${Math.floor(age_ms / 60e3)} min` : `${Math.floor(age_ms / 3600e3)} h`;
}

/** @param {Losses} losses */
function notesOf({ flags, missing, shed }) {
  const has = (/** @type {number} */ flag) => (flags & flag) !== 0;
  const notes = [];
  if (has(kFlags.missing) || missing > 0) notes.push(`lost: ${missing} bit-times never came`);
  if (has(kFlags.overload) || shed > 0) notes.push(`overload: ${shed} hops dropped`);
  if (has(kFlags.clipped)) notes.push("clipped: a microphone is at its full scale");
  if (has(kFlags.masked)) notes.push(maskedText());
  if (has(kFlags.nonFinite)) notes.push("microphones with NaN or infinity are interpolated");
  if (has(kFlags.fellBack)) notes.push("extrapolation fell back to zero padding");
  if (has(kFlags.aboveNyquist)) notes.push("the microphones are too far apart for a frequency");
  if (has(kFlags.commonToAll)) notes.push("a source straight ahead may be what all channels share");
  if (has(kFlags.limit)) notes.push("a limit on these products is exceeded");
  if (has(kFlags.informationMissing)) notes.push("more than a tenth of the information is missing with the microphones that are not used");
  if (has(kFlags.doubtfulInput)) notes.push("the input is not what the settings announce: see the status or the log");
  if (has(kFlags.searchPending)) notes.push("the first search for sources or a cut-off has not ended: images are less accurate until then");
  if (has(kFlags.eitherSide)) notes.push("a plane wave of the image may come from behind the array: see the expected error");
  if (has(kFlags.memory)) notes.push("some of the hops that the picture remembers were not computed");
  const unknown = flags & ~Object.values(kFlags).reduce((all, flag) => all | flag, 0);
  if (unknown !== 0) notes.push(`flags that this page does not know: ${unknown >>> 0}`);
  return notes;
}

function maskedText() {
  const masked = known.status?.microphones?.masked;
  return masked > 0 ? `masked: ${masked} microphone${masked === 1 ? "" : "s"}` : "masked microphones";
}

/** @param {boolean} hasPicture @returns {string} obstacle that stops the pictures; "" if none is known */
function obstacle(hasPicture) {
  const ring = known.rings[view.processor];
  if (!known.isOpen) return hasPicture ? "No connection to the daemon. Connecting …" : "Connecting …";
  if (!ring?.state && known.ringError) return `No daemon: ${known.ringError}`;
  if (known.subscribeError) return known.subscribeError;
  if (ring?.state && ring.state !== "live" && ring.state !== "none") return `No daemon: ${ring.text || ring.state}`;
  if (known.status?.state === "no input") return "No input: no bits come from the microphones";
  if (known.status === null && known.statusError && !hasPicture) return `No daemon: ${known.statusError}`;
  return hasPicture ? "" : "Waiting for the first picture";
}

/** @returns {Condition} of the picture in view, now */
export function conditionNow() {
  const picture = pictureInView();
  const age_ms = picture ? ageOf(picture) : null;
  const rate_hz = Math.min(known.rings[view.processor]?.rate_hz ?? Infinity, view.choice.mostHz);
  const more_ms = rate_hz > 0 && rate_hz < kSlow_hz ? 1500 / rate_hz : 0;
  // A busy computer shows pictures later than kLive_ms all the time. For people such a picture is late, not lost: a hand that moves in it up to
  // about a second later is taken for the hand before the array, and a second is the default.
  const old_ms = 1000 * view.choice.greyAfterS + more_ms;
  const notes = notesOf(recentLosses());
  const age = age_ms === null ? "" : `${ageText(age_ms)} old`;
  /** @param {"live" | "warned" | "stopped" | "frozen"} kind @param {string} text @returns {Condition} */
  const condition = (kind, text) => ({ kind, text, age, age_ms, notes, isLive: kind === "live" || kind === "warned", old_ms });
  if (view.isFlipped && picture) return condition("frozen", "Reference");
  if (view.isFrozen && picture) return condition("frozen", "Frozen");
  const stopped = obstacle(Boolean(picture));
  if (stopped) return condition("stopped", stopped);
  if (age_ms === null) return condition("stopped", "The age of the picture is not known yet");
  if (age_ms > old_ms) return condition("stopped", "Old");
  const latest_ms = Math.max(age_ms, latestDraw_ms());
  if (latest_ms > kLive_ms + more_ms) notes.unshift(`late: pictures are shown up to ${ageText(latest_ms)} after the sound`);
  return condition(notes.length > 0 ? "warned" : "live", "Live");
}
