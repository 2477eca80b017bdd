// The elements of each screen. An item is a question. Texts become text nodes, never HTML.

import { randomized } from "./answers.js";
import { readings, written } from "./numbers.js";
import { cell, shuffled, words } from "./randomizer.js";

// The language: its code and words, and the survey's title.
export const speech = {};

// A text by its name, or a text of the survey, with values inserted.
export function say(text, values = {}) {
  const found = typeof text === "string" ? speech.words[text] : text[speech.code];
  return found.replace(/\{([\w:]+)\}/g, (all, name) => (values.hasOwnProperty(name) ? values[name] : all));
}

const figure = (value, decimals = 12) => written(value, decimals, speech.words);

// An element; functions in attributes are listeners; children are elements, strings, or empty.
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

export const p = (text, kind, values) => make("p", { class: kind }, say(text, values));
export const note = (word) => p(word, "note");
export const lead = (word) => p(word, "lead");
export const button = (word, click, kind = "main") => make("button", { class: kind, click }, say(word));
const back = (word) => button(word, () => history.back(), "");
export const row = (...children) => make("div", { class: "row" }, ...children);
const code = (words) => make("pre", { dir: "ltr" }, words);
export const fact = (word, told) => make("div", {}, make("dt", {}, say(word)), make("dd", {}, told));
const details = (word, ...inside) => make("details", {}, make("summary", {}, say(word)), ...inside);

const unfold = (texts, title) => {
  const part = details("more", ...texts.map((text) => make("p", {}, text)));
  part.firstChild.setAttribute("aria-label", say("more") + ": " + title);
  return part;
};

export const heading = (text) => make("h1", { tabindex: -1 }, say(text));

// Plain answers that texts may contain, by slot: labels that are isolated from the direction of the text around them.
const inserted = ({ survey, sheet }) => {
  const found = survey.questions.filter((item) => item.mode === "plain" && item.kind === "choice" && sheet.answer(item) != null);
  return Object.fromEntries(found.map((item) => ["answer:" + item.name, `\u2068${say(item.labels[sheet.answer(item)])}\u2069`]));
};

// Browsers store titles, so a title names the screen and errors, but no question.
function entitle(wrong) {
  const { textContent } = document.querySelector("h1 .count") || document.querySelector("h1");
  const parts = new Set([textContent, say(speech.title)]);
  document.title = (wrong ? say("error") + ": " : "") + [...parts].join(" – ");
}

// Ignore taps for 350 ms, as the second half of a double tap would hit a screen that nobody has seen.
let appeared;
export function appear() {
  appeared = performance.now();
  entitle();
}
addEventListener("click", (event) => {
  if (!event.detail || event.timeStamp - appeared > 350) return; // keys are not affected
  event.preventDefault();
  event.stopPropagation();
}, true);

// A wheel with sectors of these sizes and its hand at the drawn number; a text beside it says the same.
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

// The value to send as a text, with numbers on the question's scale.
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

// In practice the answer is shown as well.
function path(sheet, item) {
  const sent = sheet.value(item);
  return make("dl", {},
    !item.rows && fact("you_answered", told(item, sheet.answer(item))),
    !item.rows && fact("chance", say(item.turns ? item.reports[sent].stopped : "noise")),
    fact(item.sends, received(item, sent)));
}

export const tongues = (survey, speak) =>
  row(...survey.languages.filter((lang) => lang !== speech.code).map((lang) =>
    make("button", { lang, class: "link", click: () => speak(lang) }, survey.words[lang].name)));

export const screens = {
  consent: ({ survey, speak, takePart, decline, anew, lacks }) => [
    heading(survey.title),
    tongues(survey, speak),
    anew && lead("anew"),
    ...survey.consent[speech.code].map(({ title, open, more }) => make("div", {},
      title && make("h2", {}, title),
      ...open.map((text) => make("p", { class: title ? "" : "lead" }, text)),
      more.length && unfold(more, title))),
    lacks && p(lacks),
    survey.access === "blind" && note("link_used"),
    row(button("not_part", decline, ""), button("take_part", takePart)),
  ],

  ask(app, item) {
    const { sheet, next, go } = app;
    const asked = sheet.asked();
    const together = sheet.page(item);
    const values = inserted(app);
    if (together.length > 1) return page(app, together);
    const turn = item.tries && item.tries[Math.min(sheet.tries(), item.tries.length - 1)];
    const { elements, problem, complain, read: answered } = answerable(turn || item, sheet.answer(item));
    const proceed = button("continue", () => {
      const read = answered();
      if (typeof read === "string") return complain(read);
      if (turn) {
        const right = read[0] === turn.right;
        if (!sheet.tried(item, right)) return go("ask:" + item.name);
        return conclude(make("p", { class: "lead", tabindex: -1 }, say(right ? item.right : turn.wrong)));
      }
      sheet.put(item, read[0]);
      if (!item.rows) return next();
      conclude(make("div", { tabindex: -1 }, ...drawn(sheet, item), p(item.rows[read[0]])));
    });
    // Show the consequence of an answer below it, then continue.
    const conclude = (outcome) => {
      group.querySelectorAll("input").forEach((one) => (one.disabled = true));
      fill(problem, []);
      fill(group.querySelector(".row"), []).before(outcome, button("next", next));
      appear();
      outcome.focus();
    };
    const keydown = (event) => event.key === "Enter" && event.target.tagName === "INPUT" && proceed.click();
    const answering = [...elements, row(back("back"), proceed)];
    const group = make("fieldset", { keydown, "aria-describedby": problem.id, input: () => complain("") },
      turn && sheet.tries() === 1 && lead("wrong_once"),
      make("legend", {}, make("h1", { tabindex: -1 }, numbered(item, asked), " ", say(turn ? turn.legend : item.legend, values))),
      item.image && picture(item.image),
      item.page && note("plain_note"),
      ...item.before.map(([kind, text]) => (kind === "again" ? details("odds_again", p(text, "odds")) : p(text, kind, values))),
      ...(item.mode === "guided" ? [guided(sheet, item, answering)] : answering));
    return [group];
  },

  sent: ({ sheet, next }, item) => [
    heading("sent_title"),
    ...drawn(sheet, item),
    trial(item),
    item.once && note("no_reroll"),
    row(back("change"), button("next", next)),
  ],

  review: ({ survey, sheet, go, body, submit }) => [
    heading("review"),
    note("review_note"),
    make("dl", { class: "list" }, ...sheet.asked().map((item) => [item, say(item.text, inserted({ survey, sheet }))]).map(([item, text]) =>
      make("div", {}, make("dt", {}, text), make("dd", {}, received(item, sheet.value(item)), " ",
        make("button", { class: "link", "aria-label": say("change") + ": " + text, click: () => go("ask:" + item.name) },
          say("change")))))),
    details("show", code(body()), note("filled")),
    row(back("back"), button("send", submit)),
  ],

  sending: () => [heading("sending_title"), p("erased")],

  end: ({ survey, how, early, record, code: paid, again, remove, back, another }) => [
    heading(early ? survey.title : "head_" + how),
    lead("end_" + how),
    record && p(remove ? "erased" : "cleared"),
    remove && p("still_here"),
    remove && button("delete", remove, ""),
    again && button("try_again", again),
    survey.debrief && p(survey.debrief),
    survey.help && make("h2", {}, say("help_title")),
    survey.help && lead(survey.help),
    paid && (record || how === "already") && make("dl", {}, fact(paid === survey.completion ? "code_same" : "code_link", code(paid))),
    how === 201 && details("two_numbers",
      make("dl", {}, fact("survey_hash", code(survey.hash)), fact("program", code(survey.code))), note("compare")),
    back && button(survey.station ? "station_" + survey.station.kind : "back", back, ""),
    ...(survey.household && (how === 201 || how === "already") ? [button("another", another, ""), note("another_note")] : []),
  ],
};

const numbered = (item, asked) =>
  make("span", { class: "count" }, say(item.heading, { n: asked.indexOf(item) + 1, of: asked.length }));

const picture = ({ data, alt }) => make("img", { src: data, alt: say(alt) });

// The field of a question with a paragraph for errors.
function answerable(item, before, id = "problem") {
  const { elements, read } = (item.field ? typed : boxes)(item, before);
  const inputs = elements.flatMap((one) => [...(one ? one.querySelectorAll("input, textarea") : [])]);
  const problem = make("p", { class: "error", role: "alert", id });
  const complain = (words) => {
    problem.textContent = words;
    entitle(words);
    inputs.filter((one) => one.matches("[type=text], textarea")).forEach((one) => one.setAttribute("aria-invalid", words !== ""));
  };
  return { elements: [...elements, problem], inputs, problem, complain, read };
}

// Plain questions on one page.
function page(app, items) {
  const { sheet, next, step } = app;
  const values = inserted(app);
  const fields = items.map((item, i) => answerable(item, sheet.answer(item), "problem" + i));
  const proceed = button("continue", () => {
    const read = fields.map((field) => field.read());
    const wrong = read.map((one) => (typeof one === "string" ? one : ""));
    fields.forEach((field, i) => field.complain(wrong[i]));
    const first = wrong.findIndex(Boolean);
    if (first < 0) return items.forEach((item, i) => sheet.put(item, read[i][0])) || next();
    entitle(wrong[first]);
    fields[first].inputs[0].focus();
  });
  const keydown = (event) => event.key === "Enter" && event.target.tagName === "INPUT" && proceed.click();
  const groups = items.map((item, i) =>
    make("fieldset", { keydown, "aria-describedby": fields[i].problem.id, input: () => fields[i].complain("") },
      make("legend", {}, make("h2", {}, numbered(item, sheet.asked()), " ", say(item.legend, values))),
      item.image && picture(item.image),
      ...item.before.map(([kind, text]) => p(text, kind, values)),
      ...fields[i].elements));
  return [make("h1", { tabindex: -1 }, step), note("plain_notes"), ...groups, row(back("back"), proceed)];
}

// The randomized report.
const drawn = (sheet, item) => [
  item.turns && wheel(item, item.randomizer.weights[sheet.answer(item)], item.reports, sheet.draw(item)),
  item.turns && !item.rows && key(item.reports),
  make("div", { class: item.turns && "after" }, path(sheet, item), item.deniable && !item.rows && lead("deniable")),
].filter(Boolean);

// The wheel shows which report to tap, and only that is entered.
function guided(sheet, item, answering) {
  const turn = () => {
    const drawn = sheet.draw(item);
    const sizes = item.wheel.map((part) => part.size);
    const told = make("p", { class: "after lead", tabindex: -1 }, say(item.wheel[cell(sizes, drawn)].stopped));
    const orders = key(item.wheel); // in practice all instructions are visible
    const folded = item.heading === "practice" ? orders : details("orders", orders);
    fill(place, [wheel(item, sizes, item.wheel, drawn), told, ...answering, folded]);
    appear();
    told.focus(); // the pressed button was removed
  };
  const place = make("div", {}, button("turn", turn));
  if (sheet.turned(item)) turn();
  return place;
}

// Fields with the earlier answer: elements, and a function that returns [answer] or an error text.

function boxes(item, before) {
  const many = item.kind === "ticks";
  const end = item.choices.length; // the index of "none of these" or "no answer"
  const ticked = before === null && many ? [] : [].concat(before === null || String(before) === "" ? end : before);
  // Under a random name no browser restores an answer.
  const kind = { type: many ? "checkbox" : "radio", name: "group" + item.name + performance.now(), autocomplete: "off" };
  const inputs = item.labels.map((_, i) => Object.assign(make("input", kind), { checked: ticked.includes(i) }));
  item.order = item.order || shuffled(inputs, item.mixed); // on this page only
  const change = ({ target }) => {
    const none = target === inputs[end];
    if (many && target.checked) inputs.forEach((one, i) => (one.checked = one.checked && (i === end) === none));
  };
  const choice = (input, i) => make("label", { class: "choice", change }, input, make("bdi", {}, say(item.labels[i])));
  return {
    elements: [item.hint && p(item.hint), ...item.order.map((i) => choice(inputs[i], i))],
    read() {
      const codes = inputs.map((_, i) => i).filter((i) => inputs[i].checked);
      if (!codes.length) return many && !item.required ? [null] : say("choose");
      if (!many) return [codes[0] === end ? null : codes[0]];
      return codes.length > item.most ? say(item.problem) : [codes[0] === end ? [] : codes];
    },
  };
}

// Text or a number, as browsers' number fields read "1,5" as 15. Whole numbers are answered by index.
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
      if (words) return [box.value.replace(/[\0-\x08\x0b-\x1f\x7f\uD800-\uDFFF]/gu, "")]; // no lone surrogates
      const found = readings(text).filter(possible);
      if (found.length === 1) return [found[0] - first];
      return say("you_wrote", { typed: text }) + " " + say(found.length ? "two_ways" : problem, range);
    },
  };
}

// A thousand fresh draws, which are not stored.
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

// Count members of sets, and numbers in about ten bins.
function counted(item, sent) {
  const first = (one) => [].concat(one)[0];
  const all = (item.sets ? [].concat(...sent) : sent).sort((a, b) => first(a) - first(b));
  const least = item.scale && item.scale.bits ? 2 : all[0];
  const step = item.scale ? Math.ceil((all[999] - least) / 10) : 1;
  const from = (one) => "≥ " + received(item, least + step * Math.floor((one - least) / step));
  return all.map((one) => (step > 1 && one >= least ? from(one) : received(item, item.sets ? [one] : one)));
}

export function footer({ verify, code: program, help, station }, screen, checkable) {
  if (screen === "sending") return [button("try_now", () => dispatchEvent(new Event("trynow")), "")];
  if (screen === "end") return [];
  return [
    help && details("help_title", p(help)),
    station && button("station_stop", () => location.reload(), ""),
    checkable && details("verify", make("ol", {}, ...verify.map((word) => make("li", {}, say(word)))), p("program"), code(program)),
  ];
}
