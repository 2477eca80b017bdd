// What each screen shows: elements, with a heading. An item is a question. Texts become text nodes, never HTML.

import { randomized } from "./answers.js";
import { readings, written } from "./numbers.js";
import { cell, words } from "./randomizer.js";

// The language: its code, its words, the survey's title.
export const speech = {};

// A word by its name, or a text of the survey, with values put in.
export function say(text, values = {}) {
  const found = typeof text === "string" ? speech.words[text] : text[speech.code];
  return found.replace(/\{(\w+)\}/g, (all, name) => (values.hasOwnProperty(name) ? values[name] : all));
}

const figure = (value, decimals = 12) => written(value, decimals, speech.words);

// An element; attributes that are functions are listeners, children elements, strings, or nothing.
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

const p = (text, kind) => make("p", { class: kind }, say(text));
const note = (word) => p(word, "note");
const lead = (word) => p(word, "lead");
const button = (word, click, kind = "main") => make("button", { class: kind, click }, say(word));
const back = (word) => button(word, () => history.back(), "");
const row = (...children) => make("div", { class: "row" }, ...children);
const code = (words) => make("pre", { dir: "ltr" }, words);
const fact = (word, told) => make("div", {}, make("dt", {}, say(word)), make("dd", {}, told));
const details = (word, ...inside) => make("details", {}, make("summary", {}, say(word)), ...inside);

const heading = (text, ...before) => make("h1", { tabindex: -1 }, ...before, say(text));

// Browsers keep titles: the screen, but no question; and whether something is wrong.
function entitle(wrong) {
  const { textContent } = document.querySelector("h1 .count") || document.querySelector("h1");
  const parts = new Set([textContent, say(speech.title)]);
  document.title = (wrong ? say("error") + ": " : "") + [...parts].join(" – ");
}

// The second half of a double tap meets what nobody has seen: for 350 ms it means nothing.
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

// A wheel with sectors of these sizes, its hand at the drawn number; words beside it say it, too.
function wheel({ randomizer }, sizes, parts, drawn) {
  const whole = randomizer.denominator;
  const at = (turn, far) => [Math.sin(turn) * far, -Math.cos(turn) * far];
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

const key = (parts) =>
  row(...parts.map(({ named, colour }) => make("span", { style: { background: `var(--s${colour})` } }, say(named))));

const quoted = (option) => say(option.quoted);
const listed = (item, codes) => codes.map((one) => quoted(item.options[one])).join(", ") || say("none");

function told(item, answer) {
  if (answer === null) return say("no_answer");
  if (item.kind === "ticks") return listed(item, answer);
  if (item.kind === "number") return figure(answer);
  return item.kind === "choice" ? quoted(item.choices[answer]) : answer;
}

// What is sent, in words; numbers as they were asked for.
function received(item, sent) {
  const { kind, values } = item.randomizer || {};
  if (item.mode === "plain") return told(item, sent);
  if (item.reports.length) return say(item.reports[sent].named);
  if (kind === "random_box") return quoted(item.options[sent[0]]) + ": " + say(sent[1] ? "yes" : "no");
  if (kind === "local_hash") return say("group", { n: sent[0] + 1, of: values });
  if (item.sets) return listed(item, sent);
  const { bits, zero, step, decimals } = item.scale;
  return bits && sent < 2 ? say(sent ? "yes" : "no") : figure(zero + step * sent, decimals);
}

function path(sheet, item, all) {
  const sent = sheet.value(item);
  return make("dl", {},
    item.mode === "auto" && fact("you_answered", told(item, sheet.answer(item))),
    all && fact("chance", say(item.turns ? item.reports[sent].stopped : "noise")),
    fact(item.sends, received(item, sent)));
}

export const screens = {
  consent: ({ survey, speak, takePart, anew, lacks }) => [
    heading(survey.title),
    row(...survey.languages.filter((lang) => lang !== speech.code).map((lang) =>
      make("button", { lang, click: () => speak(lang) }, survey.words[lang].name))),
    anew && lead("anew"),
    ...survey.consent[speech.code].map((text, i) => make("p", { class: i ? "" : "lead" }, text)),
    survey.odds.length && details("odds_each", ...survey.odds.map((text) => p(text, "odds"))),
    lacks && p(lacks),
    note("decline"),
    button("take_part", takePart),
  ],

  ask({ sheet, next }, item) {
    const asked = sheet.asked();
    const field = (item.field ? typed : boxes)(item, sheet.answer(item));
    const problem = make("p", { class: "error", role: "alert", id: "problem" });
    const complain = (words) => {
      problem.textContent = words;
      entitle(words);
      group.querySelectorAll("[type=text], textarea").forEach((one) => one.setAttribute("aria-invalid", words !== ""));
    };
    const proceed = button("continue", () => {
      const read = field.read();
      if (typeof read === "string") return complain(read);
      sheet.put(item, read[0]);
      next();
    });
    const keydown = (event) => event.key === "Enter" && event.target.tagName === "INPUT" && proceed.click();
    const answering = [...field.elements, problem, row(back("back"), proceed)];
    const place = { n: asked.indexOf(item) + 1, of: asked.length };
    const count = make("span", { class: "count" }, say(item.heading, place));
    const group = make("fieldset", { keydown, "aria-describedby": "problem", input: () => complain("") },
      make("legend", {}, heading(item.legend, count, " ")),
      ...item.before.map(([kind, text]) => (kind === "again" ? details("odds_again", p(text, "odds")) : p(text, kind))),
      ...(item.mode === "guided" ? [guided(sheet, item, answering)] : answering));
    return [group];
  },

  sent: ({ sheet, next }, item) => [
    item.heading === "practice" && p("practice", "count"),
    heading("sent_title"),
    item.turns && wheel(item, item.randomizer.weights[sheet.answer(item)], item.reports, sheet.draw(item)),
    item.turns && key(item.reports),
    make("div", { class: item.turns && "after" }, path(sheet, item, true), item.deniable && lead("deniable")),
    trial(item),
    note("no_reroll"),
    row(back("change"), button("next", next)),
  ],

  told: ({ sheet, next }, item) => [
    heading(item.heading),
    lead(sheet.answer(item) === 1 ? "right" : "wrong"),
    row(back("back"), button("next", next)),
  ],

  review: ({ sheet, go, body, submit }) => [
    heading("review"),
    note("review_note"),
    ...sheet.asked().map((item) => make("section", {}, make("h2", {}, say(item.text)), path(sheet, item),
      make("button", { "aria-label": say("change") + ": " + say(item.text), click: () => go("ask:" + item.name) }, say("change")))),
    details("show", code(body())),
    row(back("back"), button("send", submit)),
  ],

  sending: () => [heading("sending_title"), p("erased")],

  end: ({ survey, how, record, receipt, again }) => [
    heading("head_" + how),
    lead("end_" + how),
    record && p("erased"),
    how === 201 && make("dl", {},
      receipt && fact("receipt", code(receipt)), fact("survey_hash", code(survey.hash)), fact("program", code(survey.code))),
    how === 201 && note("compare"),
    again && button("try_again", again),
  ],
};

// The wheel says what to tap; nothing else is entered.
function guided(sheet, item, answering) {
  const turn = () => {
    const drawn = sheet.draw(item);
    const sizes = item.wheel.map((part) => part.size);
    const told = make("p", { class: "after lead", tabindex: -1 }, say(item.wheel[cell(sizes, drawn)].stopped));
    fill(place, [wheel(item, sizes, item.wheel, drawn), told, ...answering, details("orders", key(item.wheel))]);
    appear();
    told.focus(); // the button that was pressed is gone
  };
  const place = make("div", {}, button("turn", turn));
  if (sheet.turned(item)) turn();
  return place;
}

// Fields with the answer before: elements, and what is read: [answer], or what is wrong in words.

function boxes(item, before) {
  const many = item.kind === "ticks";
  const end = item.choices.length; // the place of "none of these", or of no answer
  const ticked = before === null && many ? [] : [].concat(before === null || String(before) === "" ? end : before);
  // A made-up name: no browser restores an answer by it.
  const kind = { type: many ? "checkbox" : "radio", name: "group" + performance.now(), autocomplete: "off" };
  const inputs = item.labels.map((_, i) => Object.assign(make("input", kind), { checked: ticked.includes(i) }));
  const change = ({ target }) => {
    const none = target === inputs[end];
    if (many && target.checked) inputs.forEach((one, i) => (one.checked = one.checked && (i === end) === none));
  };
  const choice = (input, i) => make("label", { class: "choice", change }, input, make("bdi", {}, say(item.labels[i])));
  return {
    elements: [item.hint && p(item.hint), ...inputs.map(choice)],
    read() {
      const codes = inputs.map((_, i) => i).filter((i) => inputs[i].checked);
      if (!codes.length) return many && !item.required ? [null] : say("choose");
      if (!many) return [codes[0] === end ? null : codes[0]];
      return codes.length > item.most ? say(item.problem) : [codes[0] === end ? [] : codes];
    },
  };
}

// Words or a number: browsers' own fields make 15 of "1,5". Among whole numbers the answer is a place.
function typed({ kind, field, hint, problem, required, first, whole, limits: [low, high] }, before) {
  const words = kind === "text";
  const range = { low: figure(low), high: figure(high) };
  const possible = (one) => one >= low && one <= high && (!whole || Number.isInteger(one));
  const box = make(words ? "textarea" : "input", field);
  if (before != null) box.value = words ? before : written(before + first, 12, { ...speech.words, grouped_from: Infinity });
  return {
    elements: [make("label", {}, say(hint, range), box)],
    read() {
      const text = box.value.trim();
      if (text === "") return required ? say(problem, range) : [null];
      if (words) return [box.value.replace(/[\0-\x08\x0b-\x1f\x7f\uD800-\uDFFF]/gu, "")]; // no halves of characters
      const found = readings(text).filter(possible);
      if (found.length === 1) return [found[0] - first];
      return say("you_wrote", { typed: text }) + " " + say(found.length ? "two_ways" : problem, range);
    },
  };
}

// A thousand fresh draws, none of them kept.
function trial(item) {
  const choose = make("select", { autocomplete: "off" }, ...item.truths.map((truth) => make("option", {}, told(item, truth))));
  const result = make("ul", {});
  const run = () => {
    const counts = {};
    const sent = Array.from({ length: 1000 }, () => randomized(item, item.truths[choose.selectedIndex], words()));
    counted(item, sent).forEach((name) => (counts[name] = (counts[name] || 0) + 1));
    const bar = ([name, value]) => make("li", {}, name + ": " + value, make("progress", { max: 1000, value, "aria-hidden": true }));
    fill(result, Object.entries(counts).map(bar));
  };
  const draw = [button("try_button", run, ""), make("div", { role: "status" }, result)];
  return details("try", make("label", {}, say("try_label"), choose), ...draw, note("try_note"));
}

// Of sets the members; numbers in about ten steps.
function counted(item, sent) {
  const first = (one) => [].concat(one)[0];
  const all = (item.sets ? [].concat(...sent) : sent).sort((a, b) => first(a) - first(b));
  const least = item.scale && item.scale.bits ? 2 : all[0];
  const step = item.scale ? Math.ceil((all[999] - least) / 10) : 1;
  const from = (one) => "≥ " + received(item, least + step * Math.floor((one - least) / step));
  return all.map((one) => (step > 1 && one >= least ? from(one) : received(item, item.sets ? [one] : one)));
}

export function footer({ verify, code: program }, screen) {
  if (screen === "sending") return button("try_now", () => dispatchEvent(new Event("trynow")), "");
  if (screen === "end") return null;
  return details("verify", make("ol", {}, ...verify.map((word) => make("li", {}, say(word)))), p("program"), code(program));
}
