// The live page of nearfieldd: entry point. docs/use/page.md describes it for its users.

import { kLive_ms } from "./condition.js";
import { connectControls, connectKeys, showAnimation } from "./controls.js";
import { beginLines } from "./curves.js";
import { beginPanels } from "./refresh.js";
import { draw, marksOf, onFrame, showCondition, shown, turn } from "./shown.js";
import { drawing, draws, history, known, lines, markDirty, reducedMotion, stage, ui, view } from "./state.js";
import { link } from "./stream.js";
import { showTransport } from "./transport.js";

ui.animate.checked = !reducedMotion.matches;

connectControls();
connectKeys();

showAnimation();

showTransport();
beginPanels();
beginLines();

setInterval(() => showCondition(false), kLive_ms / 2);
document.addEventListener("visibilitychange", () => { link.askClock(); markDirty(); });
matchMedia("(prefers-color-scheme: light)").addEventListener("change", markDirty);
requestAnimationFrame(onFrame);

/** Values for tests, and for scripts in the browser's console: the page itself does not need them. */
Object.assign(globalThis, {
  nearfield: {
    view, known, link, history, lines, draws, stage, drawing, shown, turn,
    marks() {
      const now = shown();
      return now ? marksOf(now.picture, now.values) : [];
    },
    draw: () => draw(false),
    /**
     * The colour at a place of the field.
     * @param {number} x
     * @param {number} y
     */
    colourAt(x, y) {
      draw(false);
      return stage.colourAt(x, y);
    },
  },
});
