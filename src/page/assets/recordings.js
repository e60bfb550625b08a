// The panel of recordings: start and stop, triggers, the list, and recordings that are opened like a live array.

import { element, fillTable, setText } from "./page.js";
import { clearFields, settingsOf, showFields } from "./settings.js";
import { levelOf, levelRule, number, unitText } from "./units.js";

/** Lead of CLOCK_TAI over UTC since 2017. */
const kTaiAhead_s = 37;
const kOpenSeconds = 10;

/**
 * A recording of the list, as described in docs/use/control.md.
 * @typedef {object} Listed
 * @property {string} name
 * @property {number | null} began
 * @property {number | null} seconds
 * @property {number} bytes
 * @property {string} notes
 * @property {string} began_by
 * @property {string} state
 *
 * An opened recording, from the message `state`.
 * @typedef {object} Player
 * @property {number} number
 * @property {string} recording
 * @property {string[]} settings
 * @property {"preparing" | "playing" | "ended"} state
 * @property {string} text
 */

/** @param {unknown} error */
const refusal = (error) => `Refused: ${/** @type {Error} */ (error).message}`;

/**
 * A time of CLOCK_TAI, in this computer's zone.
 * @param {number | null} tai_ns
 */
function timeText(tai_ns) {
  if (tai_ns === null) return "–";
  const time = new Date(tai_ns / 1e6 - 1000 * kTaiAhead_s);
  return Number.isNaN(time.getTime()) ? "–" : time.toLocaleString("sv");
}

/** @param {import("./link.js").Link} link */
export function recording(link) {
  const answer = element("record-answer", HTMLElement);
  const buttons = ["record-start", "record-arm", "record-trigger", "record-stop"].map((id) => element(id, HTMLButtonElement));
  /** @param {string} action */
  const request = (action) => {
    const name = element("record-name", HTMLInputElement).value.trim();
    const notes = element("record-notes", HTMLTextAreaElement).value.trim();
    const seconds = element("record-seconds", HTMLInputElement).valueAsNumber;
    if (action === "stop" || action === "trigger") return { command: "record", action };
    return {
      command: "record", action,
      bits: element("record-bits", HTMLInputElement).checked,
      images: element("record-images", HTMLInputElement).checked,
      ...(name ? { name } : {}),
      ...(notes ? { notes } : {}),
      ...(seconds > 0 ? { seconds } : {}),
    };
  };
  /** @param {string} action */
  const send = async (action) => {
    const takesFields = action === "start" || action === "arm";
    if (takesFields && !element("record-form", HTMLFormElement).reportValidity()) return;
    setText(answer, "…");
    try {
      const result = await link.control(request(action));
      setText(answer, result.message ?? "Done.");
    } catch (error) {
      setText(answer, refusal(error));
    }
  };
  element("record-form", HTMLFormElement).addEventListener("submit", (event) => {
    event.preventDefault();
    send("start");
  });
  for (const action of ["arm", "trigger", "stop"]) element(`record-${action}`, HTMLButtonElement).addEventListener("click", () => send(action));
  const trigger = triggers(link);
  const opened = opening(link);
  element("recordings-list", HTMLButtonElement).addEventListener("click", () => listRecordings(link, answer, opened.ask));
  /** @param {any} status @param {boolean} isWritable @param {{players: Player[], mostPlayers: number}} page */
  const show = (status, isWritable, page) => {
    for (const button of buttons) button.disabled = !isWritable;
    const state = status?.recording;
    const cause = state?.state === "recording" && state.began_by ? `, begun by ${state.began_by}` : "";
    const text = state ? `${state.text || state.state}${cause}${state.bytes ? `, ${number(state.bytes / 1e6)} MB` : ""}` : "The daemon's state is not known.";
    setText(element("record-state", HTMLElement), isWritable ? text : `${text} This page may only look on: open it with a token to record.`);
    trigger.show(state, isWritable);
    opened.show(page, isWritable);
  };
  return { show };
}

/**
 * Triggers of recordings: the settings daemon.recording.trigger, level and their times.
 * @param {import("./link.js").Link} link
 */
function triggers(link) {
  const kind = element("trigger-kind", HTMLSelectElement);
  const level = element("trigger-level", HTMLInputElement);
  /** @type {Record<string, HTMLInputElement>} the keys of the settings, and of the status */
  const times = {
    pre_trigger_s: element("trigger-pre", HTMLInputElement), quiet_s: element("trigger-quiet", HTMLInputElement),
    pause_s: element("trigger-pause", HTMLInputElement),
  };
  const fields = [kind, level, ...Object.values(times)];
  const form = element("trigger-form", HTMLFormElement);
  const answer = element("trigger-answer", HTMLElement);
  const set = element("trigger-set", HTMLButtonElement);
  let isEdited = false;
  /** @type {any} */
  let shown = null;
  const showFor = () => {
    element("trigger-level-row", HTMLElement).hidden = kind.value !== "level";
    const isByRise = kind.value === "level" || kind.value === "limit";
    for (const key of ["quiet_s", "pause_s"]) /** @type {HTMLElement} */ (times[key].parentElement).hidden = !isByRise;
    /** @type {HTMLElement} */ (times.pre_trigger_s.parentElement).hidden = kind.value === "none";
    const of = shown?.level_of;
    const rule = of ? levelRule({ name: "images", form: "array", type: "complex64", axes: [], columns: [], most_rows: 0, ...of }) : null;
    const value = level.valueAsNumber;
    setText(element("trigger-level-name", HTMLElement), of ? `Level of ${of.quantity}, ${unitText(of.unit)}` : "Level, in the unit of the images");
    setText(element("trigger-level-db", HTMLElement), rule && value > 0 ? `${number(levelOf(rule, value), 4)} ${rule.text}; of the largest pixel of ${of.processor}` : "");
  };
  for (const field of fields) {
    field.addEventListener("input", () => {
      isEdited = true;
      showFor();
    });
  }
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const isByRise = kind.value === "level" || kind.value === "limit";
    const settings = [`daemon.recording.trigger=${kind.value}`];
    if (kind.value === "level") settings.push(`daemon.recording.level=${level.value}`);
    if (kind.value !== "none") settings.push(`daemon.recording.pre_trigger_s=${times.pre_trigger_s.value}`);
    if (isByRise) settings.push(`daemon.recording.quiet_s=${times.quiet_s.value}`, `daemon.recording.pause_s=${times.pause_s.value}`);
    setText(answer, "…");
    try {
      const result = await link.control({ command: "set", settings });
      isEdited = false;
      setText(answer, result.message ?? "Done.");
    } catch (error) {
      setText(answer, refusal(error));
    }
  });
  /** @param {any} state  state in the status @param {boolean} isWritable */
  const show = (state, isWritable) => {
    for (const field of fields) field.disabled = !isWritable || !state;
    set.disabled = !isWritable || !state;
    if (!state || state.trigger === undefined) return;
    shown = state;
    if (!isEdited) {
      kind.value = state.trigger;
      level.value = String(state.level);
      for (const [key, input] of Object.entries(times)) input.value = String(state[key]);
    }
    showFor();
    const words = { none: "only by “Record”", level: "by the level", limit: "by a limit of the configuration that records", external: "by “Trigger”" };
    const armed = state.state === "armed" ? "Armed" : state.state === "recording" ? "Recording" : "Not armed";
    const last = state.began_by ? `; the last one was begun by ${state.began_by}` : "";
    setText(element("trigger-state", HTMLElement), `${armed}. A recording begins ${words[/** @type {keyof typeof words} */ (state.trigger)] ?? state.trigger}${last}.`);
  };
  show(null, false); // before the daemon's first status nothing can be set
  showFor();
  return { show };
}

/** @param {import("./link.js").Link} link @param {HTMLElement} answer @param {(one: Listed) => void} open */
async function listRecordings(link, answer, open) {
  try {
    const result = await link.control({ command: "recordings" });
    /** @type {Listed[]} */
    const recordings = result.recordings ?? [];
    setText(answer, recordings.length === 0 ? "There are no recordings." : "");
    fillTable(element("recordings", HTMLTableElement),
      recordings.map((one) => [{ label: one.name, action: () => open(one) }, timeText(one.began),
        `${typeof one.seconds === "number" ? `${number(one.seconds)} s` : one.state}, ${number((one.bytes ?? 0) / 1e6)} MB`,
        [one.began_by ? `by ${one.began_by}` : "", one.notes ?? ""].filter((text) => text !== "").join("; ")]), ["open", "began", "size", "cause, notes"]);
  } catch (error) {
    setText(answer, refusal(error));
  }
}

/**
 * Recordings, each played by its own daemon.
 * @param {import("./link.js").Link} link
 */
function opening(link) {
  const form = element("open-form", HTMLFormElement);
  const fields = element("open-fields", HTMLElement);
  const answer = element("open-answer", HTMLElement);
  const start = element("open-start", HTMLInputElement);
  const seconds = element("open-seconds", HTMLInputElement);
  let name = "";
  showFields(fields);
  /** @param {Listed} one */
  const ask = (one) => {
    name = one.name;
    setText(element("open-name", HTMLElement), `Open ${name}`);
    start.value = "0";
    seconds.value = String(Math.min(kOpenSeconds, one.seconds ?? kOpenSeconds));
    clearFields(fields);
    setText(answer, "");
    form.hidden = false;
    form.scrollIntoView({ block: "nearest" });
    start.focus();
  };
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    setText(answer, "…");
    try {
      const settings = settingsOf(fields);
      const result = await link.ask({ op: "open", recording: name, settings, start_s: start.valueAsNumber, seconds: seconds.valueAsNumber });
      setText(answer, `${result.message ?? "Done"}: “Look” shows it in a window of its own.`);
      form.hidden = true;
    } catch (error) {
      setText(answer, refusal(error));
    }
  });
  element("open-cancel", HTMLButtonElement).addEventListener("click", () => { form.hidden = true; });
  /** @param {number} player */
  const close = async (player) => {
    try {
      setText(answer, (await link.ask({ op: "close", player })).message ?? "");
    } catch (error) {
      setText(answer, refusal(error));
    }
  };
  /** @param {{players: Player[], mostPlayers: number}} page @param {boolean} isWritable */
  const show = ({ players, mostPlayers }, isWritable) => {
    element("open-submit", HTMLButtonElement).disabled = !isWritable || mostPlayers === 0;
    element("opened-title", HTMLElement).hidden = players.length === 0;
    fillTable(element("opened", HTMLTableElement), players.map((one) => [
      one.recording, [one.state, one.text].filter((text) => text !== "").join(": "),
      one.state === "ended" ? "" : { label: "Look", action: () => { window.open(`/?player=${one.number}`, `nearfield-player-${one.number}`); } },
      isWritable ? { label: "Close", action: () => { close(one.number); } } : "",
    ]), ["recording", "state", "", ""]);
  };
  return { ask, show };
}
