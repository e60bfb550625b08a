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

/**
 * Sets a text only if it differs, so that a live region is not read aloud again.
 * @param {HTMLElement} target
 * @param {string} text
 */
export function setText(target, text) {
  if (target.textContent !== text) target.textContent = text;
}

/** @typedef {string | {label: string, action: () => void}} Cell */

/** @type {WeakMap<HTMLButtonElement, () => void>} */
const actions = new WeakMap();

/**
 * Fills a table; a cell is a text, or a button by its label and action. Cells stay the same elements as long as they are of the same
 * sort, so that a button can be clicked, and keeps the focus, while values change.
 * @param {HTMLTableElement} table
 * @param {Cell[][]} rows
 * @param {string[]} [head]
 */
export function fillTable(table, rows, head = []) {
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
  let button = box.querySelector("button");
  if (!button) {
    const fresh = Object.assign(document.createElement("button"), { type: "button" });
    fresh.addEventListener("click", () => actions.get(fresh)?.());
    box.replaceChildren(fresh);
    button = fresh;
  }
  setText(button, cell.label);
  actions.set(button, cell.action);
  return undefined;
}

/**
 * Fills a list of choices and keeps the chosen one.
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
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10e3);
}

/**
 * A time for the name of a file: 20261123T153000.123Z.
 * @param {Date} time
 */
export function stamp(time) {
  return time.toISOString().replace(/[-:]/g, "");
}
