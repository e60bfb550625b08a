// The panel of recordings: start and stop, triggers, the list, and recordings that are opened like a live array.

import { answered, element, fillTable, input, onClick, onSubmit, setText } from "./page.js";
import { clearFields, settingsOf, showFields } from "./settings.js";
import { known, subscribe } from "./store.js";
import { link } from "./stream.js";
import { levelOf, levelRule, number, taiText, unitText } from "./units.js";

const kOpenSeconds = 10;

/**
 * A recording of the list, as described in docs/reference/control.md.
 * @typedef {object} Listed
 * @property {string} name
 * @property {number | null} began
 * @property {number | null} seconds
 * @property {number} bytes
 * @property {string} notes
 * @property {string} began_by
 * @property {string} state
 */

// --- start and stop ---

/** @param {string} text */
const say = (text) => setText("record-answer", text);

/** @param {string} action   start, arm, trigger or stop */
function record(action) {
  const takesFields = action === "start" || action === "arm";
  if (takesFields && !element("record-form", HTMLFormElement).reportValidity()) return;
  const name = input("record-name").value.trim();
  const notes = element("record-notes", HTMLTextAreaElement).value.trim();
  const seconds = input("record-seconds").valueAsNumber;
  const fields = {
    bits: input("record-bits").checked, images: input("record-images").checked,
    ...(name ? { name } : {}), ...(notes ? { notes } : {}), ...(seconds > 0 ? { seconds } : {}),
  };
  answered(say, () => link.control({ command: "record", action, ...(takesFields ? fields : {}) }));
}

onSubmit("record-form", () => record("start"));
for (const action of ["arm", "trigger", "stop"]) onClick(`record-${action}`, () => record(action));

subscribe(() => {
  for (const action of ["start", "arm", "trigger", "stop"]) element(`record-${action}`, HTMLButtonElement).disabled = !known.isWritable;
  const state = known.status?.recording;
  const cause = state?.state === "recording" && state.began_by ? `, begun by ${state.began_by}` : "";
  const text = state ? `${state.text || state.state}${cause}${state.bytes ? `, ${number(state.bytes / 1e6)} MB` : ""}` : "The daemon's state is not known.";
  setText("record-state", known.isWritable ? text : `${text} This page may only look on: open it with a token to record.`);
  showTrigger();
  showOpened();
}, "record-panel");

// --- triggers: the settings daemon.recording.trigger, level and their times ---

const kind = element("trigger-kind", HTMLSelectElement);
const level = input("trigger-level");
/** @type {Record<string, HTMLInputElement>} the keys of the settings, and of the status */
const times = { pre_trigger_s: input("trigger-pre"), quiet_s: input("trigger-quiet"), pause_s: input("trigger-pause") };
const fields = [kind, level, ...Object.values(times)];
let isEdited = false;

const isByRise = () => kind.value === "level" || kind.value === "limit";

/** Shows the fields of the kind of trigger that is chosen. */
function showKind() {
  element("trigger-level-row", HTMLElement).hidden = kind.value !== "level";
  for (const key of ["quiet_s", "pause_s"]) /** @type {HTMLElement} */ (times[key].parentElement).hidden = !isByRise();
  /** @type {HTMLElement} */ (times.pre_trigger_s.parentElement).hidden = kind.value === "none";
  const of = known.status?.recording?.level_of;
  const rule = of ? levelRule({ name: "images", form: "array", type: "complex64", axes: [], columns: [], ...of }) : null;
  const value = level.valueAsNumber;
  setText("trigger-level-name", of ? `Level of ${of.quantity}, ${unitText(of.unit)}` : "Level, in the unit of the images");
  setText("trigger-level-db", rule && value > 0 ? `${number(levelOf(rule, value), 4)} ${rule.text}; of the largest pixel of ${of.processor}` : "");
}

for (const field of fields) {
  field.addEventListener("input", () => {
    isEdited = true;
    showKind();
  });
}

onSubmit("trigger-form", async () => {
  const settings = [`daemon.recording.trigger=${kind.value}`];
  if (kind.value === "level") settings.push(`daemon.recording.level=${level.value}`);
  if (kind.value !== "none") settings.push(`daemon.recording.pre_trigger_s=${times.pre_trigger_s.value}`);
  if (isByRise()) settings.push(`daemon.recording.quiet_s=${times.quiet_s.value}`, `daemon.recording.pause_s=${times.pause_s.value}`);
  if (await answered((text) => setText("trigger-answer", text), () => link.control({ command: "set", settings }))) isEdited = false;
});

function showTrigger() {
  const state = known.status?.recording;
  const isKnown = state?.trigger !== undefined;
  for (const field of fields) field.disabled = !known.isWritable || !state;
  element("trigger-set", HTMLButtonElement).disabled = !known.isWritable || !state;
  if (isKnown && !isEdited) {
    kind.value = state.trigger;
    level.value = String(state.level);
    for (const [key, field] of Object.entries(times)) field.value = String(state[key]);
  }
  showKind();
  if (!isKnown) return;
  const words = { none: "only by “Record”", level: "by the level", limit: "by a limit of the configuration that records", external: "by “Trigger”" };
  const armed = state.state === "armed" ? "Armed" : state.state === "recording" ? "Recording" : "Not armed";
  const last = state.began_by ? `; the last one was begun by ${state.began_by}` : "";
  setText("trigger-state", `${armed}. A recording begins ${words[/** @type {keyof typeof words} */ (state.trigger)] ?? state.trigger}${last}.`);
}

// --- the list ---

onClick("recordings-list", async () => {
  const result = await answered(say, () => link.control({ command: "recordings" }));
  /** @type {Listed[]} */
  const recordings = result?.recordings ?? [];
  if (result) say(recordings.length === 0 ? "There are no recordings." : "");
  fillTable("recordings", recordings.map((one) => [{ label: one.name, action: () => ask(one) }, taiText(one.began),
    `${typeof one.seconds === "number" ? `${number(one.seconds)} s` : one.state}, ${number((one.bytes ?? 0) / 1e6)} MB`,
    [one.began_by ? `by ${one.began_by}` : "", one.notes ?? ""].filter((text) => text !== "").join("; ")]), ["open", "began", "size", "cause, notes"]);
});

// --- recordings that are opened, each played by its own daemon ---

const openForm = element("open-form", HTMLFormElement);
const openFields = element("open-fields", HTMLElement);
/** @param {string} text */
const sayOpened = (text) => setText("open-answer", text);
let opened = "";
showFields(openFields);

/** @param {Listed} one */
function ask(one) {
  opened = one.name;
  setText("open-name", `Open ${opened}`);
  input("open-start").value = "0";
  input("open-seconds").value = String(Math.min(kOpenSeconds, one.seconds ?? kOpenSeconds));
  clearFields(openFields);
  sayOpened("");
  openForm.hidden = false;
  openForm.scrollIntoView({ block: "nearest" });
  input("open-start").focus();
}

onSubmit("open-form", async () => {
  const result = await answered(sayOpened, () => link.ask({ op: "open", recording: opened, settings: settingsOf(openFields),
    start_s: input("open-start").valueAsNumber, seconds: input("open-seconds").valueAsNumber }));
  if (!result) return;
  sayOpened(`${result.message ?? "Done"}: “Look” shows it in a window of its own.`);
  openForm.hidden = true;
});
onClick("open-cancel", () => { openForm.hidden = true; });

function showOpened() {
  element("open-submit", HTMLButtonElement).disabled = !known.isWritable || known.mostPlayers === 0;
  element("opened-title", HTMLElement).hidden = known.players.length === 0;
  fillTable("opened", known.players.map((one) => [
    one.recording, [one.state, one.text].filter((text) => text !== "").join(": "),
    one.state === "ended" ? "" : { label: "Look", action: () => { window.open(`/?player=${one.number}`, `nearfield-player-${one.number}`); } },
    known.isWritable ? { label: "Close", action: () => { answered(sayOpened, () => link.ask({ op: "close", player: one.number })); } } : "",
  ]), ["recording", "state", "", ""]);
}

subscribe(() => { element("record-panel", HTMLElement).hidden = known.player !== null; });  // a recording cannot be recorded
showTrigger(); // nothing can be set before the panel has been opened and the daemon's first status is there
