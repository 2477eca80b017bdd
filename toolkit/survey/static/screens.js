// What each screen shows: a list of elements, with a heading. An item is a question of the survey.

import { randomized } from "./answers.js";
import { cell, words } from "./randomizer.js";

// --- words and elements: texts become text nodes, never HTML

// The language that is spoken: its code, and the words of the interface.
export const speech = {};

// A word of the interface by its name, or a text of the survey, with values put in.
export function say(text, values = {}) {
  const found = typeof text === "string" ? speech.words[text] : text[speech.code];
  return found.replace(/\{(n|of)\}/g, (all, name) => (name in values ? values[name] : all));
}

// An element with attributes (functions are listeners) and children (elements, strings, or nothing).
export function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  Object.entries(attributes).forEach(([name, value]) => {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (name === "style") Object.assign(element.style, value);
    else if (value !== undefined) element.setAttribute(name, value);
  });
  return fill(element, children);
}

// Put these children in the place of others.
export function fill(element, children) {
  element.textContent = "";
  element.append(...children.filter(Boolean));
  return element;
}

const p = (words, kind) => make("p", { class: kind }, words);
const note = (word) => p(say(word), "note");
const lead = (word) => p(say(word), "lead");
const heading = (word, values) => make("h1", { tabindex: -1 }, say(word, values));
const button = (word, click, kind = "main") => make("button", { class: kind, click }, say(word));
const back = (word) => button(word, () => history.back(), "quiet");
const row = (...children) => make("div", { class: "row" }, ...children);
const code = (words) => make("pre", { dir: "ltr" }, words);
const fact = (word, told) => make("div", {}, make("dt", {}, say(word)), make("dd", {}, told));
const details = (word, ...inside) => make("details", {}, make("summary", {}, say(word)), ...inside);

// A wheel with sectors of these sizes, its hand at the drawn number; then what the colours mean.
function wheel({ randomizer }, sizes, parts, drawn) {
  const whole = randomizer.denominator;
  const colour = (i) => `var(--s${i % 4})`;
  let end = 0;
  const sectors = sizes.map((size, i) => `${colour(i)} 0 ${(100 * (end += size)) / whole}%`);
  const turn = 1080 + (360 * (drawn + 0.5)) / whole;
  const hand = make("div", { class: "hand", style: { transform: `rotate(${turn}deg)` } });
  return [
    make("div", { class: "wheel", style: { background: `conic-gradient(${sectors})` } }, hand),
    row(...parts.map(({ named }, i) => make("span", { style: { background: colour(i) } }, say(named)))),
  ];
}

// --- answers in words

const quoted = (option) => say(option.quoted);
const listed = (item, codes) => codes.map((one) => quoted(item.options[one])).join(", ") || say("none");

function told(item, answer) {
  if (answer === null) return say("no_answer");
  if (item.kind === "ticks") return listed(item, answer);
  return item.kind === "choice" ? quoted(item.choices[answer]) : String(answer);
}

// What is sent, in words.
function received(item, sent) {
  if (item.mode === "plain") return told(item, sent);
  if (item.reports.length) return say(item.reports[sent].named);
  if (item.randomizer.kind === "random_box") return quoted(item.options[sent[0]]) + ": " + say(sent[1] ? "yes" : "no");
  return item.sets ? listed(item, sent) : JSON.stringify(sent);
}

function path(sheet, item) {
  const [answer, sent] = [sheet.answer(item), sheet.value(item)];
  return make("dl", {},
    fact(item.given, told(item, answer)),
    item.mode === "auto" && fact("chance", say(item.reports.length ? item.reports[sent].stopped : "noise")),
    fact(item.sends, received(item, sent)));
}

// --- the screens

export const screens = {
  consent({ survey, speak, takePart }) {
    const [first, ...rest] = survey.consent[speech.code];
    const others = survey.languages.filter((code) => code !== speech.code);
    return [
      heading(survey.title),
      row(...others.map((lang) => make("button", { lang, click: () => speak(lang) }, survey.words[lang].name))),
      p(first, "lead"),
      ...rest.map((text) => p(text)),
      note("decline"),
      button("take_part", takePart),
    ];
  },

  ask({ sheet, next }, item) {
    const asked = sheet.asked();
    const field = (item.field ? typed : boxes)(item, sheet.answer(item));
    const problem = make("p", { class: "error", role: "alert", id: "problem" });
    const proceed = button("continue", () => {
      const answer = field.read();
      if (answer === undefined) problem.textContent = say(item.problem);
      else {
        sheet.put(item, answer);
        next();
      }
    });
    const keydown = (event) => event.key === "Enter" && event.target.tagName === "INPUT" && proceed.click();
    const answering = [...field.elements, problem, row(back("back"), proceed)];
    return [
      heading(item.heading, { n: asked.indexOf(item) + 1, of: asked.length }),
      make("fieldset", { "aria-describedby": "problem", keydown },
        make("legend", {}, say(item.legend)),
        ...item.before.map(([kind, text]) => p(say(text), kind)),
        ...(item.mode === "guided" ? [guided(sheet, item, answering)] : answering)),
    ];
  },

  // What chance has made of an answer.
  sent({ sheet, next }, item) {
    const { reports, randomizer } = item;
    return [
      heading("sent_title"),
      ...(reports.length ? wheel(item, randomizer.weights[sheet.answer(item)], reports, sheet.draw(item)) : []),
      make("div", { class: "after" }, path(sheet, item), item.deniable && lead("deniable")),
      trial(item),
      note("no_reroll"),
      row(back("change"), button("next", next)),
    ];
  },

  // A wrong answer stops nobody.
  told: ({ sheet, next }, item) => [
    heading(item.heading),
    lead(sheet.answer(item) === 1 ? "right" : "wrong"),
    row(back("back"), button("next", next)),
  ],

  review({ sheet, go, body, submit }) {
    const change = (item) => button("change", () => go("ask:" + item.name), "quiet");
    return [
      heading("review"),
      note("review_note"),
      ...sheet.asked().map((item) => make("section", {}, make("h2", {}, say(item.text)), path(sheet, item), change(item))),
      details("show", code(body())),
      row(back("back"), button("send", submit)),
    ];
  },

  sending: () => [
    heading("sending_title"),
    lead("erased"),
    button("try_now", () => dispatchEvent(new Event("trynow")), "quiet"),
  ],

  end: ({ survey, how, record, receipt, again }) => [
    heading({ 201: "thanks", already: "thanks", link: survey.title }[how] || "no_report"),
    lead("end_" + how),
    record && p(say("erased")),
    how === 201 && make("dl", {}, receipt && fact("receipt", code(receipt)), fact("program", code(survey.code))),
    again && button("try_again", again),
  ],
};

// Guided: the wheel says what to tap, and the phone never hears the real answer.
function guided(sheet, item, answering) {
  const turn = () => {
    const drawn = sheet.draw(item);
    const sizes = item.wheel.map((part) => part.size);
    const told = make("p", { class: "after lead", tabindex: -1 }, say(item.wheel[cell(sizes, drawn)].stopped));
    fill(place, [...wheel(item, sizes, item.wheel, drawn), told, ...answering]);
    told.focus(); // the button that was pressed is gone
  };
  const place = make("div", {}, button("turn", turn));
  if (sheet.turned(item)) turn();
  return place;
}

// --- fields, with the answer before: elements, and how they are read (undefined is no answer)

function boxes(item, before) {
  const many = item.kind === "ticks";
  const labels = item.choices.map((option) => say(option.label)).concat(many || item.required ? [] : say("no_answer"));
  const ticked = [].concat(before === null ? labels.length - 1 : before);
  // The name of the group is made up: no browser can restore an answer by it.
  const kind = { type: many ? "checkbox" : "radio", name: "group" + performance.now(), autocomplete: "off" };
  const inputs = labels.map((_, i) => Object.assign(make("input", kind), { checked: ticked.includes(i) }));
  const choice = (input, i) => make("label", { class: "choice" }, input, make("span", {}, labels[i]));
  return {
    elements: [item.hint && p(say(item.hint)), ...inputs.map(choice)],
    read() {
      const codes = inputs.map((_, i) => i).filter((i) => inputs[i].checked);
      if (many) return codes.length > item.most ? undefined : codes;
      return codes[0] === item.choices.length ? null : codes[0];
    },
  };
}

function typed(item, before) {
  const number = item.kind === "number";
  const box = make(number ? "input" : "textarea", item.field);
  box.value = before == null ? "" : before;
  return {
    elements: [make("label", {}, say(item.hint), box)],
    read() {
      const { valid } = box.validity;
      if (valid && box.value.trim() === "") return item.required ? undefined : null;
      if (number) return valid ? box.valueAsNumber : undefined;
      return box.value.replace(/[\0-\x08\x0b-\x1f\x7f\uD800-\uDFFF]/gu, ""); // no halves of characters
    },
  };
}

// To see for oneself: a thousand fresh draws by the function that made the report. None is kept.
function trial(item) {
  const choose = make("select", { autocomplete: "off" }, ...item.truths.map((truth) => make("option", {}, told(item, truth))));
  const result = make("ul", { role: "status" });
  const run = () => {
    const counts = {};
    const sent = Array.from({ length: 1000 }, () => randomized(item, item.truths[choose.selectedIndex], words()));
    counted(item, sent).forEach((name) => (counts[name] = (counts[name] || 0) + 1));
    const bar = ([name, value]) => make("li", {}, name + ": " + value, make("progress", { max: 1000, value, "aria-hidden": true }));
    fill(result, Object.entries(counts).map(bar));
  };
  return details("try", make("label", {}, say("try_label"), choose), button("try_button", run, "quiet"), result, note("try_note"));
}

// What is counted: of sets the members, of a hash its value; numbers in about ten steps.
function counted(item, sent) {
  const hash = item.randomizer.kind === "local_hash";
  const all = (item.sets ? [].concat(...sent) : hash ? sent.map((one) => one[0]) : sent).sort((a, b) => a - b);
  const step = item.kind === "number" ? Math.ceil((all[999] - all[0]) / 10) : 1;
  if (step > 1) return all.map((one) => "≥ " + (all[0] + step * Math.floor((one - all[0]) / step)));
  return all.map((one) => received(item, item.sets ? [one] : one));
}

export function footer({ survey }) {
  const steps = [1, 2, 3, 4, 5].map((i) => make("li", {}, say("verify_" + i)));
  return details("verify", make("ol", {}, ...steps), p(say("program")), code(survey.code));
}
