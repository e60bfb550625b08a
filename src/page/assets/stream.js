// The known state of the stream: processors, layouts, pictures and the state of the daemon.

import { choose, look, picturesOf, showChoices, takeLayout } from "./choice.js";
import { Link } from "./link.js";
import { element, setText } from "./page.js";
import { gridOfConfig, standoffOfConfig } from "./panels.js";
import { history, hold, known, kPictures, kSources, kSpectrum, kSurvey, lines, markDirty, paint, ui, view } from "./state.js";

/** @typedef {import("./picture.js").Layout} Layout */

export const link = new Link({
  changed() {
    if (!link.isOpen) known.status = null;
    markDirty();
  },
  hello(message) {
    known.isWritable = message.writable === true;
    known.version = message.version ?? "";
    known.mostPlayers = message.most_players ?? 0;
    showPlayer(message.player ?? null);
    view.processors = message.processors ?? [];
    // The daemon may have been replaced. Known layouts remain until the new ones arrive, so that no control loses its choice.
    for (const name of known.layouts.keys()) if (!view.processors.includes(name)) known.layouts.delete(name);
    if (view.processor && view.processors.length > 0 && !view.processors.includes(view.processor)) {
      known.subscribeError = `The daemon has no processor ${view.processor} now`;
    }
    surveyAgain();
    showChoices();
  },
  layout(layout) {
    known.subscribeError = layout.id === kPictures ? "" : known.subscribeError;
    const before = known.layouts.get(layout.processor);
    known.layouts.set(layout.processor, layout);
    known.surveyed.add(layout.processor);
    if (layout.id >= kSurvey) link.unsubscribe(layout.id);
    if (layout.id === kPictures) takeLayout(layout);
    else if (known.subscribeError && layout.processor === view.processor && before && !isAlike(before, layout)) lookAgain(layout);
    if (!view.product) choose();
    showChoices();
  },
  picture(picture) {
    if (picture.id === kPictures) {
      if (!picture.grid || view.isFrozen) return;  // one may have had its credit; the frozen history is not changed
      known.newest = known.pending = picture;
      history.add(picture);
      if (ui.hold.value !== "none") hold.add(picture);
      if (picture.head.flags !== 0) {
        known.notes.push({ at: performance.now(), flags: picture.head.flags, missing: picture.head.missing_bit_times, shed: picture.head.shed_hops });
      }
    } else if (picture.id === kSpectrum) {
      lines.showSpectrum(picture);
      paint.spectrumIsNew = true;
    } else if (picture.id === kSources) {
      if (view.isFrozen) return;
      known.sources.add(picture);
      markDirty();
    }
  },
  state(message) {
    takeState(message);
  },
  error(id, message) {
    if (id === kPictures) {
      known.subscribeError = message;
      known.surveyed.delete(view.processor);  // the request may have been for an earlier configuration
      survey();
    }
    if (id === kSpectrum) setText(element("spectrum-text", HTMLElement), message);
    if (id >= kSurvey) link.unsubscribe(id);
    markDirty();
  },
});

/** Requests the layouts of processors that are not known yet. */
function survey() {
  view.processors.forEach((processor, i) => {
    const isAsked = link.requests.get(kSurvey + i)?.processor === processor;
    if (!known.surveyed.has(processor) && !isAsked) link.subscribe(kSurvey + i, { processor, most_hz: 1 });
  });
}

/** Requests all layouts again after a possible change of the configuration. */
function surveyAgain() {
  known.surveyed.clear();
  known.arrayGrid = null;
  hasAskedConfig = false;
  survey();
}

/** @param {Layout} a @param {Layout} b  true if both offer the same choices */
const isAlike = (a, b) => JSON.stringify([a.axes, a.products]) === JSON.stringify([b.axes, b.products]);

/** @param {Layout} layout  of the processor in view, which has changed */
function lookAgain(layout) {
  const pictures = picturesOf(layout);
  const product = pictures.find(({ name }) => name === view.product) ?? pictures[0];
  if (product) look(layout.processor, product.name);
}

/**
 * Shows the stream's origin in title and heading; a recording cannot be recorded.
 * @param {{number: number, recording: string} | null} player
 */
function showPlayer(player) {
  known.player = player;
  document.title = player ? `${player.recording} – Nearfield` : "Nearfield";
  setText(element("title", HTMLElement), player?.recording ?? "Nearfield");
  element("record-panel", HTMLElement).hidden = player !== null;
}

/** @param {import("./recordings.js").Player | undefined} player  from the message `state` */
function playerText(player) {
  if (player?.state === "preparing") return `The recording is being prepared${player.text ? `: ${player.text}` : ""}`;
  if (player?.state === "ended") return `The recording is no longer played: ${player.text}`;
  return player && Object.keys(known.rings).length === 0 ? "The player of the recording starts" : "";
}

/** @param {any} message */
function takeState(message) {
  const before = known.status;
  known.status = message.status ?? null;
  known.statusError = message.status_error ?? "";
  known.rings = message.ring ?? {};
  known.ringError = message.ring_error ?? "";
  known.players = message.players ?? [];
  known.playerText = playerText(message.player);
  const now = known.status;
  if (before && now && before.uptime_s <= now.uptime_s) {
    const missing = (now.bit_times?.missing ?? 0) - (before.bit_times?.missing ?? 0);
    const shed = (now.shed_hops ?? 0) - (before.shed_hops ?? 0);
    if (missing > 0 || shed > 0) known.notes.push({ at: performance.now(), flags: 0, missing, shed });
  }
  if (before && now && before.epoch !== now.epoch) surveyAgain();
  else survey();
  if (now && !known.arrayGrid) readConfig();
  markDirty();
}

let hasAskedConfig = false;

async function readConfig() {
  if (hasAskedConfig) return;
  hasAskedConfig = true;
  try {
    const yaml = (await link.control({ command: "config" })).yaml ?? "";
    known.arrayGrid = gridOfConfig(yaml);
    known.standoff_m = standoffOfConfig(yaml);
    markDirty();
  } catch {
    setTimeout(() => { hasAskedConfig = false; }, 5000);
  }
}
