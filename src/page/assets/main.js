// The live page of nearfieldd: entry point. docs/use/page.md describes it for its users.

import { advance } from "./actions.js";
import "./calibrator.js";
import { followClip } from "./clip.js";
import "./controls.js";
import "./cursors.js";
import { lines } from "./curves.js";
import { meters } from "./levels.js";
import { marksOf } from "./marks.js";
import "./meters.js";
import "./panels.js";
import "./recordings.js";
import { draw, drawing, stage } from "./scene.js";
import "./settings.js";
import { background, changed, draws, history, known, markDirty, shown, takeDirty, tell, turn, view } from "./store.js";
import { askNext, link } from "./stream.js";

const kPanels_ms = 250;
let last_ms = performance.now();

/** @param {number} now_ms */
function onFrame(now_ms) {
  requestAnimationFrame(onFrame);
  advance(Math.min(0.1, Math.max(0, now_ms - last_ms) / 1000));
  last_ms = now_ms;
  const isNew = known.isUndrawn && !view.isFrozen;
  if (takeDirty() || isNew) {
    known.isUndrawn = false;
    draw(isNew);
    followClip();
  }
  askNext();
}

document.addEventListener("visibilitychange", () => { link.askClock(); markDirty(); });
matchMedia("(prefers-color-scheme: light)").addEventListener("change", markDirty);
link.start();
changed();
setInterval(tell, kPanels_ms);
requestAnimationFrame(onFrame);

/** Values for tests, and for scripts in the browser's console: the page itself does not need them. */
Object.assign(globalThis, {
  nearfield: {
    view, known, background, link, history, lines, draws, stage, drawing, shown, turn, meters,
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
