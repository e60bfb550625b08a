// Fields for the settings of the processing: of the daemon in view, or of a recording before it is opened.

import { element, setText } from "./page.js";

/** @param {HTMLElement} box  gets the fields */
export function showFields(box) {
  box.append(element("settings-fields", HTMLTemplateElement).content.cloneNode(true));
}

/** @param {HTMLElement} box @param {string} name */
const field = (box, name) => /** @type {HTMLInputElement | HTMLTextAreaElement} */ (box.querySelector(`[name=${name}]`));

/** @param {HTMLElement} box */
export function clearFields(box) {
  for (const name of ["frequencies", "standoff", "off", "others"]) field(box, name).value = "";
}

/**
 * The numbers of a list, "500, 1000". Throws on anything else.
 * @param {string} text
 * @param {string} name
 */
function numbersOf(text, name) {
  const words = text.split(/[\s,;[\]]+/).filter((word) => word !== "");
  for (const word of words) if (!Number.isFinite(Number(word))) throw new Error(`${name}: expected numbers, found “${word}”`);
  return `[${words.join(", ")}]`;
}

/**
 * The filled-in fields, as texts KEY=VALUE; empty fields leave settings unchanged.
 * @param {HTMLElement} box
 */
export function settingsOf(box) {
  const text = (/** @type {string} */ name) => field(box, name).value.trim();
  const settings = [];
  if (text("frequencies")) settings.push(`front_end.frequencies_hz=${numbersOf(text("frequencies"), "Frequencies")}`);
  if (text("standoff")) settings.push(`holography.standoff_m=${text("standoff")}`);
  if (text("off")) settings.push(`array.dead_channels=${numbersOf(text("off"), "Microphones off")}`);
  for (const line of text("others").split("\n").map((one) => one.trim())) if (line) settings.push(line);
  return settings;
}

/**
 * The panel that changes settings of the daemon in view.
 * @param {import("./link.js").Link} link
 */
export function settingsPanel(link) {
  const box = element("change-fields", HTMLElement);
  const answer = element("change-answer", HTMLElement);
  showFields(box);
  element("change-form", HTMLFormElement).addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      const settings = settingsOf(box);
      if (settings.length === 0) return setText(answer, "Nothing is filled in.");
      setText(answer, "The daemon prepares the new configuration …");
      const result = await link.control({ command: "set", settings });
      clearFields(box);
      setText(answer, [result.message ?? "Done", ...(result.warnings ?? []).map((/** @type {string} */ one) => `warning: ${one}`)].join("; "));
    } catch (error) {
      setText(answer, `Refused: ${/** @type {Error} */ (error).message}`);
    }
    return undefined;
  });
  /** @param {boolean} isWritable */
  const show = (isWritable) => {
    element("change-set", HTMLButtonElement).disabled = !isWritable;
    element("change-hint", HTMLElement).hidden = isWritable;
  };
  return { show };
}
