// Small helpers for the elements of the page.

/**
 * The element of this id, which must exist and be of this class.
 * @template {HTMLElement} T
 * @param {string} id
 * @param {new () => T} type
 * @returns {T}
 */
export function element(id, type) {
  const found = document.getElementById(id);
  if (!(found instanceof type)) throw new Error(`expected an element #${id}`);
  return found;
}

/** @param {string} id */
export const input = (id) => element(id, HTMLInputElement);

/** @param {string} id @param {() => void} action */
export const onClick = (id, action) => element(id, HTMLButtonElement).addEventListener("click", action);

/** @param {string} id  of a form @param {() => void} action */
export const onSubmit = (id, action) => element(id, HTMLFormElement).addEventListener("submit", (event) => {
  event.preventDefault();
  action();
});

/**
 * Sets a text only if it differs, so that a live region is not read aloud again.
 * @param {string | HTMLElement} target   the element or its id
 * @param {string} text
 */
export function setText(target, text) {
  const found = typeof target === "string" ? element(target, HTMLElement) : target;
  if (found.textContent !== text) found.textContent = text;
}

/** @param {string} name @returns {any} what this browser keeps under it from an earlier visit; null if it keeps nothing */
export function readKept(name) {
  try {
    return JSON.parse(localStorage.getItem(name) ?? "null");
  } catch {
    return null;
  }
}

/** @param {string} name @param {any} value  to keep for the next visit @returns {boolean} false if this browser does not keep it */
export function keep(name, value) {
  try {
    localStorage.setItem(name, JSON.stringify(value));
    return true;
  } catch {
    return false;
  }
}

/**
 * Asks, and says the message of the result, or why it was refused. Returns the result; null if it was refused.
 * @param {(text: string) => void} say
 * @param {() => Promise<any>} ask   may throw as well
 * @param {string} [meanwhile]
 */
export async function answered(say, ask, meanwhile = "…") {
  try {
    const answer = ask();
    say(meanwhile);
    const result = await answer;
    say([result.message ?? "Done", ...(result.warnings ?? []).map((/** @type {string} */ one) => `warning: ${one}`)].join("; "));
    return result;
  } catch (error) {
    say(`Refused: ${/** @type {Error} */ (error).message}`);
    return null;
  }
}

/** @typedef {string | {label: string, action: () => void}} Cell */

/**
 * Fills a table; a cell is a text, or a button by its label and action. Cells stay the same elements as long as they are of the same
 * sort, so that a button can be clicked, and keeps the focus, while values change.
 * @param {string} id
 * @param {Cell[][]} rows
 * @param {string[]} [head]
 */
export function fillTable(id, rows, head = []) {
  const table = element(id, HTMLTableElement);
  const hasHead = head.length > 0 && rows.length > 0;
  const lines = hasHead ? [head, ...rows] : rows;
  while (table.rows.length > lines.length) table.deleteRow(-1);
  lines.forEach((cells, i) => {
    const line = table.rows[i] ?? table.insertRow();
    while (line.cells.length > cells.length) line.deleteCell(-1);
    cells.forEach((cell, k) => fillCell(line, k, cell, hasHead ? (i === 0 ? "col" : "") : k === 0 && head.length === 0 ? "row" : ""));
  });
}

/** @param {HTMLTableRowElement} line @param {number} index @param {Cell} cell @param {"" | "col" | "row"} scope  of a heading */
function fillCell(line, index, cell, scope) {
  const name = scope ? "th" : "td";
  let box = line.cells[index];
  if (box?.localName !== name) {
    const fresh = document.createElement(name);
    if (scope) fresh.scope = scope;
    if (box) box.replaceWith(fresh);
    else line.append(fresh);
    box = fresh;
  }
  if (typeof cell === "string") {
    if (box.firstElementChild) box.replaceChildren();
    return setText(box, cell);
  }
  if (!box.firstElementChild) box.replaceChildren(Object.assign(document.createElement("button"), { type: "button" }));
  const button = /** @type {HTMLButtonElement} */ (box.firstElementChild);
  setText(button, cell.label);
  button.onclick = cell.action;
  return undefined;
}

/**
 * Fills a list of choices, of which one is chosen.
 * @param {HTMLSelectElement} select
 * @param {{value: string, text: string}[]} choices
 * @param {string} chosen
 */
export function fillSelect(select, choices, chosen) {
  const key = JSON.stringify(choices);
  if (select.dataset.key !== key) {
    select.dataset.key = key;
    select.replaceChildren(...choices.map(({ value, text }) => new Option(text, value)));
  }
  select.value = chosen;
}

/**
 * Saves a file on the user's computer.
 * @param {string} name
 * @param {Blob} blob
 */
export function save(name, blob) {
  const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(blob), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10e3);
}
