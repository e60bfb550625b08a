// The guided walk with a sound calibrator: its form, what it finds, and what can be done with that.

import { isOfSamples, meters, metersOf, scaleText } from "./levels.js";
import { answered, element, fillTable, input, onClick, onSubmit, setText } from "./page.js";
import { quoted } from "./recordings.js";
import { changed, changedByPicture, known, subscribe } from "./store.js";
import { link } from "./stream.js";
import { number, settingIn } from "./units.js";
import { bandOf, kCentres_hz, signed, Walk } from "./walk.js";

const kHighestOfRate = 0.4;
/** Recordings that are offered without asking: up to this many bytes a second. */
const kSmall = 16e6;
const kListed = 24;
/** Sources whose unit is array.pascal_per_unit. */
const kLive = ["pipe", "udp", "audio"];

/** @type {Walk | null} */
let walk = null;
/** True until the walk is ended. */
let isWalking = false;
/** True if the array's level was changed since: its deviations are no more those of the level in effect. */
let hasNewLevel = false;
/** Scale of the levels when the walk began. */
let scale = "";
/** Name of its recording; empty: none. */
let recording = "";
let path = "";
/** The recording's checkbox was changed by hand. */
let isRecordChosen = false;

const level = input("walk-level");
const frequency = element("walk-frequency", HTMLSelectElement);
const record = input("walk-record");
const say = (/** @type {string} */ text) => setText("walk-answer", text);

/** Bytes of bits or samples a second; NaN if unknown. */
function bytes_s() {
  const samples = isOfSamples();
  const rate_hz = samples ? known.status?.input?.sample_rate_hz : Number.parseFloat(settingIn(known.config, "array", "clock_hz"));
  return samples === null ? NaN : meters.channels.length * rate_hz * (samples ? 4 : 1 / 8);
}

/** Settings without which the levels do not show where the tone is. */
function missingSettings() {
  const name = metersOf();
  const product = known.layouts.get(name)?.products.find((one) => one.name === "bands");
  if (product && !product.quantity.includes("weighted") && bandOf(meters.bandsOf(name), Number(frequency.value)) >= 0) return [];
  const rate_hz = known.status?.input?.sample_rate_hz ?? 46875;
  const centres = kCentres_hz.filter((centre) => centre < kHighestOfRate * rate_hz);
  return [`processors.${name}.weighting=z`, `processors.${name}.third_octave=[${centres.join(", ")}]`];
}

async function begin() {
  const settings = missingSettings();
  if (settings.length > 0 && !await answered(say, () => link.control({ command: "set", settings }), "The daemon prepares the new configuration …")) return;
  say("");
  [recording, path] = ["", ""];
  const tone = `${number(level.valueAsNumber)} dB, ${frequency.value} Hz`;
  if (record.checked) {
    const name = `calibrator-${new Date().toISOString().slice(0, 19).replaceAll(":", "").replace("T", "-")}`;
    const fields = { command: "record", action: "start", bits: true, images: false, name, notes: `sound calibrator, ${tone}` };
    if (!await answered(say, () => link.control(fields))) return;
    recording = name;
  }
  walk = new Walk(level.valueAsNumber, Number(frequency.value));
  walk.isOver = (channel) => meters.peak_pa[meters.channels.indexOf(channel)] >= meters.limit();
  isWalking = true;
  scale = "";
  meters.wantsBands = true;
  changed();
}

meters.onBands = (frame) => {
  if (!walk || !isWalking || bandOf(frame.bands_hz, walk.frequency_hz) < 0) return;
  if (scale === "" && known.config) scale = scaleText();
  if (scale !== scaleText()) {
    hasNewLevel = true;
    end().then(() => say("The array's level or calibration was changed: the walk has ended, and its deviations are from the former level."));
    return;
  }
  walk.take(frame);
  changedByPicture();
};

async function end() {
  isWalking = false;
  meters.wantsBands = false;
  changed();
  if (!recording) return;
  await answered(say, () => link.control({ command: "record", action: "stop" }));
  try {
    const { recordings = [] } = await link.control({ command: "recordings" });
    path = recordings.find((/** @type {any} */ one) => one.name.startsWith(recording))?.path ?? "";
  } catch (error) {
    say(`The recording's path is not known: ${/** @type {Error} */ (error).message}`);
  }
  changed();
}

onSubmit("walk-form", begin);
onClick("walk-accept", () => walk?.confirm());
onClick("walk-undo", () => {
  walk?.undo();
  changed();
});
onClick("walk-end", end);
record.addEventListener("input", () => { isRecordChosen = true; });

// --- what is shown ---

/** @param {Walk} now */
function showWalk(now) {
  const { kind, text } = now.finding;
  element("walk-text", HTMLElement).className = kind;
  setText("walk-text", text || "Waiting for levels in the calibrator's band …");
  element("walk-accept", HTMLButtonElement).hidden = kind !== "far";
  element("walk-undo", HTMLButtonElement).disabled = now.readings.length === 0;
  const done = new Set(now.readings.map((one) => one.channel));
  const left = meters.channels.filter((one) => !done.has(one));
  const more = left.length > kListed ? ` and ${left.length - kListed} more` : "";
  setText("walk-left", `${done.size} of ${meters.channels.length} microphones done${left.length > 0 ? `; left: ${left.slice(0, kListed).join(", ")}${more}` : ""}.`);
}

/** @param {Walk} now */
function showResults(now) {
  const results = now.results();
  const summary = now.summary();
  fillTable("walk-table", results.map((one) => [String(one.channel), signed(one.deviation_db), one.count > 1 ? `${one.count} times, ${one.apart_db.toFixed(2)} dB apart` : "once"]),
    ["microphone", "deviation", "measured"]);
  setText("walk-summary", summary ? `Median of ${results.length}: ${signed(summary.median_db)}; from the lowest to the highest ${summary.spread_db.toFixed(2)} dB. A deviation above 0 is a level that is shown too high.` : "");
}

/** @param {Walk} now  whose recording gives gains by this command */
function commandOf(now) {
  const start = settingIn(known.config, "array", "calibration");
  return ["nearfield calibrate", quoted(path), "--channel auto --level-db", String(now.level_db),
    ...(start && start !== "null" ? ["--start", quoted(start)] : []), "-o gains.h5",
    `--set front_end.frequencies_hz='[${now.frequency_hz}]'`].join(" ");
}

/**
 * The array's level by the median: a setting, or why there is none.
 * @param {number} median_db
 */
function levelByMedian(median_db) {
  const before = Number.parseFloat(settingIn(known.config, "array", isOfSamples() ? "pascal_per_unit" : "sensitivity_dbfs"));
  const way = `all levels ${median_db > 0 ? "fall" : "rise"} by ${Math.abs(median_db).toFixed(2)} dB`;
  if (isOfSamples() === false) {
    const after = (before + median_db).toFixed(2);
    return { setting: `array.sensitivity_dbfs=${after}`, text: `array.sensitivity_dbfs would be ${after} in place of ${before}: ${way}, of all microphones alike, until the daemon ends; “nearfield ctl save” keeps it.` };
  }
  if (!isOfSamples() || !kLive.includes(settingIn(known.config, "daemon", "kind"))) return { setting: "", text: "The source states its unit itself: the array's level is not set here." };
  const pascal = Number.isNaN(before) ? 1 : before;
  const after = Number((pascal * 10 ** (-median_db / 20)).toPrecision(6));
  return { setting: "", text: `array.pascal_per_unit: ${after} in the daemon's configuration, in place of ${Number.isNaN(before) ? "none, which is 1" : before}, sets the array's level by the median: ${way}. The daemon reads it when it starts.` };
}

/** @param {boolean} isAsked  true while it is to be confirmed */
function askToSet(isAsked) {
  for (const [id, isHidden] of /** @type {[string, boolean][]} */ ([["walk-set", isAsked], ["walk-sure", !isAsked], ["walk-not", !isAsked]])) element(id, HTMLElement).hidden = isHidden;
}

/** The setting that is to be confirmed. */
let proposed = "";
onClick("walk-set", () => askToSet(true));
onClick("walk-not", () => askToSet(false));
onClick("walk-sure", async () => {
  askToSet(false);
  if (await answered(say, () => link.control({ command: "set", settings: [proposed] }), "The daemon prepares the new configuration …")) hasNewLevel = true;
  changed();
});
/** @param {Walk | null} now  that has ended */
function showUse(now) {
  const summary = now?.summary() ?? null;
  const isOver = !isWalking && now !== null && summary !== null;
  element("walk-gains", HTMLElement).hidden = !(isOver && path);
  if (isOver && path) {
    setText("walk-gains-text", "On the daemon's computer, this command makes gains of the recording, of phase 0 and for this frequency alone; with --start of a calibration by a field it scales that one. It judges the recording by itself: a tone that was refused here may count there. Where fewer than half of all microphones had the calibrator it ends with 65, but the gains are written.");
    setText("walk-command", commandOf(now));
  }
  const use = isOver && !hasNewLevel && known.config ? levelByMedian(summary.median_db) : { setting: "", text: "" };
  setText("walk-level-text", use.text);
  if (use.setting !== proposed) askToSet(false);
  proposed = use.setting;
  if (!proposed) for (const id of ["walk-set", "walk-sure", "walk-not"]) element(id, HTMLElement).hidden = true;
  for (const id of ["walk-set", "walk-sure"]) element(id, HTMLButtonElement).disabled = !known.isWritable;
}

function showForm() {
  const missing = missingSettings();
  const size = bytes_s();
  if (!isRecordChosen && Number.isFinite(size)) record.checked = known.isWritable && size < kSmall;  // else what was shown last holds
  record.disabled = !known.isWritable;
  setText("walk-size", Number.isFinite(size) ? `: ${number((60 * size) / 1e9, 2)} GB a minute` : "");
  element("walk-begin", HTMLButtonElement).disabled = missing.length > 0 && !known.isWritable;
  const token = known.isWritable ? "" : " This page may only look on: open it with a token for that.";
  setText("walk-offer", missing.length > 0 ? `“Begin” sets ${missing.join(" ")}, to see where the tone is.${token}` : "");
}

subscribe(() => {
  const hasLevels = metersOf() !== "" && meters.channels.length > 0;
  element("walk-form", HTMLElement).hidden = !hasLevels || isWalking;
  element("walk", HTMLElement).hidden = !isWalking;
  if (!hasLevels) return;
  showForm();
  if (walk && isWalking) {
    hasNewLevel = false;
    showWalk(walk);
  }
  if (walk) showResults(walk);
  showUse(walk);
}, "meters-panel");
