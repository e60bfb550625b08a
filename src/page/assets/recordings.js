// The panel of recordings: start and stop, triggers, and the list.

import { answered, element, fillTable, input, onClick, onSubmit, setText } from "./page.js";
import { known, subscribe } from "./store.js";
import { link } from "./stream.js";
import { levelOf, levelRule, number, taiText, unitText } from "./units.js";

/**
 * A recording of the list, as described in docs/reference/control.md.
 * @typedef {object} Listed
 * @property {string} name
 * @property {string} path
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

// --- the list, and the command that plays a recording ---

/** @param {string} path   as a word of a shell */
export const quoted = (path) => (/^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`);

/** @param {Listed} one */
function showCommand(one) {
  element("play-recording", HTMLElement).hidden = false;
  setText("play-command", `nearfield play ${quoted(one.path)}`);
  setText("play-copy", "Copy");
}

onClick("recordings-list", async () => {
  const result = await answered(say, () => link.control({ command: "recordings" }));
  /** @type {Listed[]} */
  const recordings = result?.recordings ?? [];
  if (result) say(recordings.length === 0 ? "There are no recordings." : "");
  element("play-recording", HTMLElement).hidden = true;
  fillTable("recordings", recordings.map((one) => [{ label: one.name, action: () => showCommand(one) }, taiText(one.began),
    `${typeof one.seconds === "number" ? `${number(one.seconds)} s` : one.state}, ${number((one.bytes ?? 0) / 1e6)} MB`,
    [one.began_by ? `by ${one.began_by}` : "", one.notes ?? ""].filter((text) => text !== "").join("; ")]), ["name", "began", "size", "cause, notes"]);
});

onClick("play-copy", async () => {
  const command = element("play-command", HTMLElement);
  try {
    await navigator.clipboard.writeText(command.textContent ?? "");
    setText("play-copy", "Copied");
  } catch {  // browsers copy for pages of this computer and of HTTPS alone
    getSelection()?.selectAllChildren(command);
  }
});

showTrigger(); // nothing can be set before the panel has been opened and the daemon's first status is there
