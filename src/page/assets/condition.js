// Condition of the picture: live, old, lost, masked ... A function of the known state, without display.

import { kFlags } from "./picture.js";

/**
 * @typedef {object} Known
 * @property {boolean} isOpen              the connection is open
 * @property {boolean} isFrozen
 * @property {boolean} isReference         the reference is in view, not the stream
 * @property {any} ring                    ring of the processor in view, from the message `state`; null: unknown
 * @property {string} ringError           reason for the lack of any ring
 * @property {any} status                  daemon's status; null: its control socket does not answer
 * @property {string} statusError
 * @property {import("./picture.js").Head | null} head   head of the picture in view
 * @property {number | null} age_ms        current age of the picture in view
 * @property {number} latest_ms           the largest age of the pictures of the last seconds, when they were drawn
 * @property {number} late_ms              above it a picture is late
 * @property {number} old_ms               above it a picture is old, and grey
 * @property {number} flags                all flags of the pictures of the last seconds
 * @property {number} missing              missing bit-times in the last seconds
 * @property {number} shed                 shed hops in the last seconds
 * @property {string} error                error of the subscription
 * @property {string} recording            recording played instead of the daemon's stream; empty: the stream
 * @property {string} playerText           reason that a recording is not played; empty: it is, or there is none
 *
 * @typedef {object} Condition
 * @property {"live" | "warned" | "stopped" | "frozen"} kind
 * @property {string} text                 without the age, which changes all the time
 * @property {string} age                  "3.1 ms old"; empty if unknown
 * @property {string[]} notes              further caveats about the picture
 * @property {boolean} isLive              the picture may be shown as live
 */

/** A picture is live if its last bit came at most this long ago. */
export const kLive_ms = 100;
/**
 * Largest age of a picture in colours. A busy computer shows pictures later than kLive_ms all the time; for people such a picture is late, not
 * lost: they see a hand before the array move in the picture up to about a second later, and take it for the same.
 */
export const kColours_ms = 1000;
/** Processors slower than this are allowed one and a half of their intervals more. */
const kSlow_hz = 15;

/**
 * Ages above which a picture is late, and old.
 * @param {number | undefined} rate_hz  pictures a second of the processor
 */
export function limitsOf(rate_hz) {
  const more_ms = rate_hz && rate_hz > 0 && rate_hz < kSlow_hz ? 1500 / rate_hz : 0;
  return { late_ms: kLive_ms + more_ms, old_ms: kColours_ms + more_ms };
}

/**
 * An age as text.
 * @param {number} age_ms
 */
export function ageText(age_ms) {
  if (age_ms < 100) return `${Math.max(age_ms, 0).toFixed(age_ms < 10 ? 1 : 0)} ms`;
  if (age_ms < 60e3) return `${(age_ms / 1000).toFixed(1)} s`;
  return age_ms < 3600e3 ? `${Math.floor(age_ms / 60e3)} min` : `${Math.floor(age_ms / 3600e3)} h`;
}

/** @param {Known} known */
function notesOf(known) {
  const has = (/** @type {number} */ flag) => (known.flags & flag) !== 0;
  const notes = [];
  if (has(kFlags.missing) || known.missing > 0) notes.push(`lost: ${known.missing} bit-times never came`);
  if (has(kFlags.overload) || known.shed > 0) notes.push(`overload: ${known.shed} hops dropped`);
  if (has(kFlags.clipped)) notes.push("clipped: a microphone is at its full scale");
  if (has(kFlags.masked)) notes.push(maskedText(known));
  if (has(kFlags.nonFinite)) notes.push("microphones with NaN or infinity are interpolated");
  if (has(kFlags.fellBack)) notes.push("extrapolation fell back to zero padding");
  if (has(kFlags.aboveNyquist)) notes.push("the microphones are too far apart for a frequency");
  if (has(kFlags.commonToAll)) notes.push("a source straight ahead may be what all channels share");
  if (has(kFlags.limit)) notes.push("a limit on these products is exceeded");
  if (has(kFlags.informationMissing)) notes.push("more than a tenth of the information is missing with the microphones that are not used");
  if (has(kFlags.doubtfulInput)) notes.push("the input is not what the settings announce: see the status or the log");
  if (has(kFlags.memory)) notes.push("some of the hops that the picture remembers were not computed");
  const unknown = known.flags & ~Object.values(kFlags).reduce((all, flag) => all | flag, 0);
  if (unknown !== 0) notes.push(`flags that this page does not know: ${unknown >>> 0}`);
  return notes;
}

/** @param {Known} known */
function maskedText(known) {
  const masked = known.status?.microphones?.masked;
  return masked > 0 ? `masked: ${masked} microphone${masked === 1 ? "" : "s"}` : "masked microphones";
}

/**
 * Obstacle that stops the pictures; "" if none is known.
 * @param {Known} known
 */
function obstacle(known) {
  if (!known.isOpen && known.recording) return "No connection: the recording may no longer be open. Connecting …";
  if (!known.isOpen) return known.head ? "No connection to the daemon. Connecting …" : "Connecting …";
  if (known.playerText) return known.playerText;
  const ring = known.ring?.state;
  if (!ring && known.ringError) return `No daemon: ${known.ringError}`;
  if (known.error) return known.error;
  if (ring && ring !== "live" && ring !== "none") return `No daemon: ${known.ring.text || ring}`;
  if (known.status?.state === "no input") return "No input: no bits come from the microphones";
  if (known.status === null && known.statusError && !known.head) return `No daemon: ${known.statusError}`;
  if (!known.head) return "Waiting for the first picture";
  return "";
}

/** @param {Known} known @returns {Condition} */
export function conditionOf(known) {
  const notes = notesOf(known);
  const age = known.head && known.age_ms !== null ? `${ageText(known.age_ms)} old` : "";
  /** @param {"live" | "warned" | "stopped" | "frozen"} kind @param {string} text @returns {Condition} */
  const condition = (kind, text) => ({ kind, text, age, notes, isLive: kind === "live" || kind === "warned" });
  if (known.isReference && known.head) return condition("frozen", "Reference");
  if (known.isFrozen && known.head) return condition("frozen", "Frozen");
  const stopped = obstacle(known);
  if (stopped) return condition("stopped", stopped);
  if (known.age_ms === null) return condition("stopped", "The age of the picture is not known yet");
  if (known.age_ms > known.old_ms) return condition("stopped", "Old");
  const latest_ms = Math.max(known.age_ms, known.latest_ms);
  if (latest_ms > known.late_ms) notes.unshift(`late: pictures are shown up to ${ageText(latest_ms)} after the sound`);
  return condition(notes.length > 0 ? "warned" : "live", known.recording ? `Playing ${known.recording}` : "Live");
}
