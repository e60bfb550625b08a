// Keys: each has a control with the same effect. "?" lists them.

import { element, fillTable } from "./page.js";

/**
 * @param {Record<string, [string, () => void]>} keys       effect of each key, in words and as an action
 * @param {{arrow: (x: number, y: number) => void, escape: () => void}} others
 * @param {HTMLElement} stage   arrow keys work while it has the focus
 */
export function keyboard(keys, others, stage) {
  const help = element("help", HTMLDialogElement);
  const names = (/** @type {string} */ key) => (key === " " ? "Space" : key.toUpperCase() === key && key.toLowerCase() !== key ? `Shift ${key}` : key);
  fillTable(element("keys", HTMLTableElement), [
    ...Object.entries(keys).map(([key, [words]]) => [names(key), words]),
    ["← ↑ → ↓", "In the picture: move the cursor; surface: turn it"],
    ["Esc", "End the alignment of a photograph"],
    ["?", "This list"],
  ]);
  element("help-button", HTMLButtonElement).addEventListener("click", () => help.showModal());
  /** @type {Record<string, [number, number]>} */
  const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || help.open) return;
    const target = /** @type {HTMLElement} */ (event.target);
    const isTyped = target.matches("textarea, select, input:not([type=checkbox]):not([type=range])");
    if (isTyped) return;
    if (event.key === "Escape") return others.escape();
    const arrow = arrows[event.key];
    if (arrow) {
      if (target !== stage) return;
      event.preventDefault();
      return others.arrow(...arrow);
    }
    if (event.key === " " && target.matches("button, input, summary")) return;  // they handle it themselves
    const action = event.key === "?" ? () => help.showModal() : keys[event.key]?.[1];
    if (!action) return;
    event.preventDefault();
    action();
  });
}
