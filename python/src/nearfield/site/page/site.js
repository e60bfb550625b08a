// All arrays of a site on one page. Pictures are pulled, one at a time for each array: what cannot be drawn in time is never sent.
const kStateEvery_ms = 1000, kPictureEvery_ms = 200, kMostAge_s = 2;

const cards = new Map();
const colours = (await (await fetch("colours.json")).json());
let heard_ms = -Infinity;   // when the server answered last

function seconds(s) {
  if (!Number.isFinite(s)) return "";
  if (s < 10) return `${s.toFixed(1)} s`;
  return s < 120 ? `${s.toFixed(0)} s` : s < 7200 ? `${(s / 60).toFixed(0)} min` : `${(s / 3600).toFixed(0)} h`;
}

class Card {
  constructor(name) {
    this.name = name;
    this.root = document.getElementById("card").content.firstElementChild.cloneNode(true);
    this.root.dataset.array = name;
    this.find("h2").textContent = name;
    this.picture = null;      // the head of what is drawn
    this.drawn_ms = -Infinity;
    this.state = null;
    document.getElementById("arrays").append(this.root);
    this.pull();
  }
  find(what) { return this.root.querySelector(what); }

  async pull() {
    for (;;) {
      const begun_ms = performance.now();
      try {
        const after = this.picture ? `?after=${encodeURIComponent(this.picture.entry)}` : "";
        const answer = await fetch(`picture/${encodeURIComponent(this.name)}${after}`, { cache: "no-store" });
        if (answer.status === 200) this.draw(await answer.arrayBuffer());
      } catch { /* the server is away: the ages say so */ }
      this.show();
      await new Promise((resolve) => setTimeout(resolve, Math.max(20, kPictureEvery_ms - (performance.now() - begun_ms))));
    }
  }

  draw(message) {
    const bytes = new DataView(message).getUint32(0, true);
    const head = JSON.parse(new TextDecoder().decode(new Uint8Array(message, 4, bytes)));
    const values = new Uint8Array(message, 4 + bytes, head.rows * head.columns);
    const canvas = this.find("canvas");
    canvas.width = head.columns;
    canvas.height = head.rows;
    const context = canvas.getContext("2d");
    const pixels = context.createImageData(head.columns, head.rows);
    const map = colours[head.colours];
    values.forEach((value, i) => pixels.data.set([...map[value], 255], 4 * i));
    context.putImageData(pixels, 0, 0);
    this.picture = head;
    this.drawn_ms = performance.now();
  }

  age_s() { return this.picture ? this.picture.age_s + (performance.now() - this.drawn_ms) / 1000 : Infinity; }

  show() {
    const age_s = this.age_s();
    const live = Math.abs(age_s) <= kMostAge_s;
    const state = this.state;
    const heard = performance.now() - heard_ms < 3 * kStateEvery_ms;
    const known = heard && state !== null && state.is_live;
    let word = known ? state.state : "no news";
    const above = known ? (state.limits ?? []).filter((limit) => limit.state === "above") : [];
    this.root.className = known && state.state === "running" ? (live && above.length === 0 ? "live" : "warned") : "stopped";
    this.find(".word").textContent = word;
    this.find(".age").textContent = Number.isFinite(age_s) ? `picture ${seconds(Math.max(0, age_s))} old` : "";
    this.find(".stage").classList.toggle("stale", !live);
    const veil = this.find(".veil");
    veil.hidden = live;
    veil.textContent = Number.isFinite(age_s) ? `not live: ${seconds(Math.abs(age_s))} ${age_s < 0 ? "ahead: clocks differ" : "old"}` : "no picture";
    const head = this.picture;
    this.find(".what").textContent = head ? `${head.processor}, ${head.product}${head.place ? `, ${head.place}` : ""}: up to ${head.most.toPrecision(3)} ${head.unit}` : "";
    this.find(".alarms").textContent = above.map((limit) => `${limit.name} exceeded`).join(", ");
    this.facts(known ? state : null);
  }

  facts(state) {
    const facts = state === null ? [] : [
      ["frames/s", state.frame_rate_hz === undefined ? "" : `${state.frame_rate_hz.toFixed(1)} of ${state.hop_rate_hz.toFixed(1)}`],
      ["hops without a frame", state.shed_hops ?? ""],
      ["bit-times missing", state.bit_times?.missing ?? ""],
      ["bad microphones", state.microphones_bad ?? ""],
      ["clock", state.clock === null ? "not known" : state.clock.synchronised ? `within ${(1e3 * state.clock.most_error_s).toFixed(1)} ms` : "not synchronised"],
    ].filter(([, value]) => value !== "");
    if (state !== null && state.text) facts.push(["", state.text]);
    const list = this.find("dl");
    const text = JSON.stringify(facts);
    if (list.dataset.text !== text) {
      list.dataset.text = text;
      list.replaceChildren(...facts.flatMap(([name, value]) => {
        const term = document.createElement("dt"), value_ = document.createElement("dd");
        term.textContent = name;
        value_.textContent = value;
        return [term, value_];
      }));
    }
    const open = this.find(".open");
    const page = this.state?.page;
    if (page && /^https?:\/\//.test(page)) {
      if (open.firstChild?.href !== new URL(page).href) {
        const link = document.createElement("a");
        link.href = page;
        link.rel = "noreferrer";
        link.textContent = `live page of ${this.name}`;
        open.replaceChildren(link);
      }
    } else {
      open.replaceChildren();
    }
  }
}

async function look() {
  const banner = document.getElementById("banner");
  try {
    const answer = await fetch("state.json", { cache: "no-store" });
    const site = await answer.json();
    heard_ms = performance.now();
    for (const state of site.arrays) {
      if (!cards.has(state.array)) cards.set(state.array, new Card(state.array));
      cards.get(state.array).state = state;
    }
    document.getElementById("none").hidden = site.arrays.length > 0 || site.broker !== "";
    const well = [...cards.values()].filter((card) => card.root.className === "live").length;
    banner.className = site.broker !== "" ? "stopped" : well === cards.size && well > 0 ? "live" : "";
    banner.textContent = site.broker !== "" ? `the broker does not answer: ${site.broker}` : `${well} of ${cards.size} arrays live`;
  } catch {
    banner.className = "stopped";
    banner.textContent = "this page's server does not answer";
  }
  setTimeout(look, kStateEvery_ms);  // before what follows, which no state may keep from being tried again
  for (const card of cards.values()) card.show();
}
look();
