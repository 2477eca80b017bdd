// Words and elements: texts become text nodes, never HTML.

import { written } from "./numbers.js";

// The language that is spoken: its code, its words, the survey's title.
export const speech = {};

// A word by its name, or a text of the survey, with values put in.
export function say(text, values = {}) {
  const found = typeof text === "string" ? speech.words[text] : text[speech.code];
  return found.replace(/\{(\w+)\}/g, (all, name) => (values.hasOwnProperty(name) ? values[name] : all));
}

export const figure = (value, decimals = 12) => written(value, decimals, speech.words);

// An element with attributes (functions are listeners) and children (elements, strings, or nothing).
export function make(tag, attributes, ...children) {
  const space = /^(svg|path|line|text)$/.test(tag) ? "2000/svg" : "1999/xhtml";
  const element = document.createElementNS("http://www.w3.org/" + space, tag);
  Object.entries(attributes).forEach(([name, value]) => {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (name === "style") Object.assign(element.style, value);
    else if (value !== undefined) element.setAttribute(name, value);
  });
  return fill(element, children);
}

export function fill(element, children) {
  element.textContent = "";
  element.append(...children.filter(Boolean));
  return element;
}

export const p = (words, kind) => make("p", { class: kind }, words);
export const note = (word) => p(say(word), "note");
export const lead = (word) => p(say(word), "lead");
export const button = (word, click, kind = "main") => make("button", { class: kind, click }, say(word));
export const back = (word) => button(word, () => history.back(), "quiet");
export const row = (...children) => make("div", { class: "row" }, ...children);
export const code = (words) => make("pre", { dir: "ltr" }, words);
export const fact = (word, told) => make("div", {}, make("dt", {}, say(word)), make("dd", {}, told));
export const details = (word, ...inside) => make("details", {}, make("summary", {}, say(word)), ...inside);

export const heading = (...children) => make("h1", { tabindex: -1 }, ...children);

// Browsers keep titles in their history: the screen, but no question; and whether something is wrong.
export function entitle(wrong) {
  const { textContent } = document.querySelector("h1 .count") || document.querySelector("h1");
  const parts = new Set([textContent, say(speech.title)]);
  document.title = (wrong ? say("error") + ": " : "") + [...parts].join(" – ");
}

// The second half of a double tap meets what nobody has seen: for 350 milliseconds a tap means nothing.
let appeared;
export function appear() {
  appeared = performance.now();
  entitle();
}
addEventListener("click", (event) => {
  if (!event.detail || event.timeStamp - appeared > 350) return; // a key has no second half
  event.preventDefault();
  event.stopPropagation();
}, true);

// A wheel with sectors of these sizes, its hand at the drawn number. Words beside it say all of it.
export function wheel({ randomizer }, sizes, parts, drawn) {
  const whole = randomizer.denominator;
  const at = (turn, far) => [Math.sin(turn) * far, -Math.cos(turn) * far].map((x) => x.toFixed(2));
  const arc = (turn) => "A48 48 0 0 1 " + at(turn, 48);
  let end = 0;
  const sectors = sizes.map((size, i) => {
    const [from, middle, to] = [end, end + size / 2, (end += size)].map((x) => (2 * Math.PI * x) / whole);
    const [x, y] = at(middle, 41);
    return [
      size && make("path", { style: { fill: `var(--s${parts[i].colour})` }, d: "M0 0L" + at(from, 48) + arc(middle) + arc(to) + "Z" }),
      size > 0.08 * whole && make("text", { x, y }, parts[i].mark),
    ];
  });
  const transform = `rotate(${1080 + (360 * (drawn + 0.5)) / whole}deg)`;
  const hand = make("line", { class: "hand", y2: -33, style: { transform } });
  return make("svg", { class: "wheel", viewBox: "-50 -50 100 100", "aria-hidden": true }, ...[].concat(...sectors), hand);
}

export const key = (parts) =>
  row(...parts.map(({ named, colour }) => make("span", { style: { background: `var(--s${colour})` } }, say(named))));
