// The connection to the server: subscriptions, credit, the server's clock, control commands. It connects again by itself.

import { decode } from "./picture.js";

/**
 * @typedef {object} Request
 * @property {string} processor
 * @property {string} [product]
 * @property {Record<string, number>} [select]
 * @property {number} [most_hz]
 *
 * @typedef {object} Hooks
 * @property {(message: any) => void} hello
 * @property {(layout: import("./picture.js").Layout) => void} layout
 * @property {(picture: import("./picture.js").Picture) => void} picture
 * @property {(message: any) => void} state
 * @property {(id: number, message: string) => void} error
 * @property {(captured_mono_ms: number, jpeg: ArrayBuffer) => void} frame   of the camera at the array
 * @property {(message: string) => void} camera      why it gives no frames; empty if it does again
 * @property {(ahead_ms: number) => void} clock   lead of the server's monotonic clock over the page's
 * @property {(isOpen: boolean) => void} changed     the connection was opened or lost
 */

const kFrameMagic = 0x4143464e;
const kClockEvery_ms = 2000;
const kClockTrips = 8;
const kClockStep_ms = 1;  // resolution of the browser's own clock, which may be coarse
const kFirstRetry_ms = 250;
const kLastRetry_ms = 4000;

export class Link {
  /** @param {Hooks} hooks */
  constructor(hooks) {
    this.hooks = hooks;
    this.isOpen = false;
    /** Totals of received pictures, for the figures. */
    this.received = { pictures: 0, bytes: 0 };
    /** @type {Map<number, import("./picture.js").Layout>} */
    this.layouts = new Map();
    /** @type {Map<number, Request>} */
    this.requests = new Map();
    /** @type {Set<number>} subscriptions that have their one credit */
    this.asked = new Set();
    this.isFrameAsked = false;
    /** @type {Map<string, {resolve: (reply: any) => void, reject: (error: Error) => void}>} */
    this.waiting = new Map();
    this.commands = 0;
    /** @type {{trip_ms: number, offset_ms: number}[]} */
    this.trips = [];
    /** @type {WebSocket | null} */
    this.socket = null;
    this.retry_ms = kFirstRetry_ms;
  }

  start() {
    this.connect();
    setInterval(() => this.askClock(), kClockEvery_ms);
  }

  connect() {
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    const socket = new WebSocket(`${scheme}://${location.host}/stream`);
    socket.binaryType = "arraybuffer";
    this.socket = socket;
    socket.onopen = () => {
      this.isOpen = true;
      this.retry_ms = kFirstRetry_ms;
      this.trips = [];
      this.asked.clear();
      this.isFrameAsked = false;
      this.layouts.clear();
      this.askClock();
      this.hooks.changed(true);
    };
    socket.onmessage = (event) => this.take(event.data);
    socket.onclose = () => this.lost();
  }

  lost() {
    this.isOpen = false;
    for (const command of this.waiting.values()) command.reject(new Error("the connection was lost"));
    this.waiting.clear();
    this.hooks.changed(false);
    setTimeout(() => this.connect(), this.retry_ms);
    this.retry_ms = Math.min(2 * this.retry_ms, kLastRetry_ms);
  }

  /** @param {any} message */
  send(message) {
    if (this.isOpen && this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
  }

  /** @param {string | ArrayBuffer} data */
  take(data) {
    if (typeof data !== "string") {
      const view = new DataView(data);
      if (view.getUint32(0, true) === kFrameMagic) {
        this.isFrameAsked = false;
        return this.hooks.frame(Number(view.getBigInt64(8, true)) / 1e6, data.slice(view.getUint32(4, true)));
      }
      const picture = decode(data, this.layouts);
      if (!picture) return;
      this.received.pictures += 1;
      this.received.bytes += data.byteLength;
      this.asked.delete(picture.id);
      this.hooks.picture(picture);
      return;
    }
    const message = JSON.parse(data);
    switch (message.kind) {
      case "hello":
        this.subscribeAgain(message.processors ?? []);
        this.hooks.hello(message);
        break;
      case "layout":
        if (this.requests.has(message.id)) {
          this.layouts.set(message.id, message);
          this.hooks.layout(message);
        }
        break;
      case "state": this.hooks.state(message); break;
      case "camera": this.hooks.camera(message.message); break;
      case "clock": this.takeClock(message); break;
      case "control":
      case "error": this.takeAnswer(message); break;
    }
  }

  /**
   * Repeats requests that were refused because the processor did not run, or made on an earlier connection.
   * @param {string[]} processors   running now
   */
  subscribeAgain(processors) {
    for (const [id, request] of this.requests) {
      if (!this.layouts.has(id) && processors.includes(request.processor)) this.subscribe(id, request);
    }
  }

  /** @param {number} id @param {Request} request */
  subscribe(id, request) {
    this.requests.set(id, request);
    this.layouts.delete(id);
    this.asked.add(id);  // the server grants the first credit itself
    this.send({ op: "subscribe", id, ...request });
  }

  /** @param {number} id */
  unsubscribe(id) {
    if (!this.requests.delete(id)) return;
    this.layouts.delete(id);
    this.asked.delete(id);
    this.send({ op: "unsubscribe", id });
  }

  /**
   * Grants one credit, unless the subscription still has one.
   * @param {number} id
   */
  next(id) {
    if (!this.isOpen || !this.requests.has(id) || this.asked.has(id)) return;
    this.asked.add(id);
    this.send({ op: "next", id });
  }

  /** Asks for one frame of the camera at the array, unless one is asked for. */
  nextFrame() {
    if (!this.isOpen || this.isFrameAsked) return;
    this.isFrameAsked = true;
    this.send({ op: "camera" });
  }

  askClock() {
    this.send({ op: "clock", page_ms: performance.now() });
  }

  /** @param {{page_ms: number, mono_ns: string}} message */
  takeClock(message) {
    const now_ms = performance.now();
    const trip_ms = now_ms - message.page_ms;
    const offset_ms = Number(BigInt(message.mono_ns)) / 1e6 - (now_ms + message.page_ms) / 2;
    // The true offset lies within half a trip of each answer. An answer that the new one contradicts is from before a clock was set or stopped.
    this.trips = this.trips.filter((old) => Math.abs(old.offset_ms - offset_ms) <= (old.trip_ms + trip_ms) / 2 + kClockStep_ms);
    this.trips.push({ trip_ms, offset_ms });
    if (this.trips.length > kClockTrips) this.trips.shift();
    this.hooks.clock(this.trips.reduce((a, b) => (b.trip_ms < a.trip_ms ? b : a)).offset_ms);
  }

  /**
   * Sends a request of docs/reference/control.md.
   * @param {any} request
   * @returns {Promise<any>}   the result; an error carries the daemon's message
   */
  control(request) {
    if (!this.isOpen) return Promise.reject(new Error("there is no connection to the daemon"));
    const id = `page-${++this.commands}`;
    this.send({ op: "control", request, id });
    return new Promise((resolve, reject) => this.waiting.set(id, { resolve, reject }));
  }

  /** @param {{id: any, reply?: any, message?: string}} answer   to a command, or an error of a subscription */
  takeAnswer({ id, reply, message }) {
    const command = this.waiting.get(id);
    if (!this.waiting.delete(id) && message !== undefined) this.hooks.error(id ?? 0, message);
    if (reply?.ok) command?.resolve(reply.result ?? {});
    else command?.reject(new Error(message ?? reply?.error?.message ?? "the daemon refused the command without a reason"));
  }
}
