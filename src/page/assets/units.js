// Levels and units: conversion of a product's values to decibels, like src/publish/pictures/value_scale.cpp for pictures.

/**
 * @typedef {object} LevelRule
 * @property {number} perDecade  20 for amplitudes, 10 for powers
 * @property {number} reference  the value of 0 dB
 * @property {string} text       "dB re 20 µPa"
 */

/**
 * References of amplitudes; products hold peak values, levels refer to their rms.
 * @type {Record<string, [number, string]>}
 */
const kAmplitudes = {
  "Pa": [20e-6, "dB re 20 µPa"],
  "m/s": [5e-8, "dB re 50 nm/s"],
  "m": [1e-12, "dB re 1 pm"],
};

/**
 * References of powers.
 * @type {Record<string, [number, string]>}
 */
const kPowers = {
  "Pa^2": [4e-10, "dB re 20 µPa"],
  "(m/s)^2": [2.5e-15, "dB re 50 nm/s"],
  "m^2": [1e-24, "dB re 1 pm"],
  "W/m^2": [1e-12, "dB re 1 pW/m²"],
  "W": [1e-12, "dB re 1 pW"],
};

/** @param {import("./picture.js").Product} product */
export function isLength(product) {
  return product.unit === "m" && product.type !== "complex64";
}

/**
 * The rule of a product's levels; null for lengths, which have none.
 * @param {import("./picture.js").Product} product
 * @returns {LevelRule | null}
 */
export function levelRule(product) {
  if (isLength(product)) return null;
  const amplitude = kAmplitudes[product.unit];
  if (amplitude) return { perDecade: 20, reference: amplitude[0] * Math.SQRT2, text: amplitude[1] };
  const power = kPowers[product.unit];
  if (power) return { perDecade: 10, reference: power[0], text: power[1] };
  const isPlain = product.unit === "" || product.unit === "1";
  const perDecade = product.type === "complex64" || !isPlain ? 20 : 10;
  return { perDecade, reference: 1, text: isPlain ? "dB re 1" : `dB re 1 ${product.unit}` };
}

/** @param {LevelRule} rule @param {number} value */
export function levelOf(rule, value) {
  return value > 0 ? rule.perDecade * Math.log10(value / rule.reference) : Number.isNaN(value) ? NaN : -Infinity;
}

/** @param {LevelRule} rule @param {number} level_db */
export function valueOf(rule, level_db) {
  return rule.reference * 10 ** (level_db / rule.perDecade);
}

/**
 * Intensities have a sign, and so have no phase.
 * @param {import("./picture.js").Product} product
 */
export function isSigned(product) {
  return product.unit === "W/m^2";
}

/**
 * A number as text with three or four significant digits.
 * @param {number} value
 * @param {number} [digits]
 */
export function number(value, digits = 4) {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "–" : value > 0 ? "∞" : "−∞";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-3) return value.toExponential(digits - 2).replace("-", "−");
  return String(Number(value.toPrecision(digits))).replace("-", "−");
}

/**
 * Superscripts for the units of products.
 * @param {string} unit
 */
export function unitText(unit) {
  return unit === "1" ? "" : unit.replaceAll("^2", "²");
}

/**
 * Steps of 1, 2 or 5 times a power of ten, at least `least`.
 * @param {number} least
 */
export function niceStep(least) {
  const power = 10 ** Math.floor(Math.log10(least));
  for (const factor of [1, 2, 5]) {
    if (factor * power >= least * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

/** Lead of CLOCK_TAI over UTC since 2017. */
const kTaiAhead_s = 37;

/**
 * A time of CLOCK_TAI, in this computer's zone.
 * @param {number | null} tai_ns
 */
export function taiText(tai_ns) {
  const time = new Date(tai_ns === null ? NaN : tai_ns / 1e6 - 1000 * kTaiAhead_s);
  return Number.isNaN(time.getTime()) ? "–" : time.toLocaleString("sv");
}

/** @param {string} yaml @param {string} section */
const sectionIn = (yaml, section) => new RegExp(`^${section}:(.*(?:\\n(?:[ \\t].*|\\s*$))*)`, "m").exec(yaml)?.[1] ?? "";

/**
 * Numbers of a list in a section of YAML, in brackets or a line each; none if it is absent.
 * @param {string} yaml
 * @param {string} section
 * @param {string} key
 */
export function numbersIn(yaml, section, key) {
  const list = new RegExp(`\\b${key}:\\s*(\\[[^\\]]*\\]|(?:\\s*- *[-.\\de]+)+)`).exec(sectionIn(yaml, section))?.[1] ?? "";
  return list.split(/[\s,[\]]+/).filter((word) => /\d/.test(word)).map(Number);
}

/**
 * A setting of a section of YAML as the daemon writes it, or as a person does; "" if it is absent.
 * @param {string} yaml
 * @param {string} section
 * @param {string} key   the first one of this name in the section
 */
export function settingIn(yaml, section, key) {
  const text = sectionIn(yaml, section);
  return (new RegExp(`\\b${key}:[ \\t]*("[^"]*"|[^\\s,}]+)`).exec(text)?.[1] ?? "").replaceAll('"', "");
}
