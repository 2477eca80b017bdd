// What each screen shows: a list of elements, with a heading. An item is a question of the survey.

import { randomized } from "./answers.js";
import { back, button, code, details, fact, fill, heading, lead, make, note, p, row, say, speech, wheel } from "./parts.js";
import { words } from "./randomizer.js";

// --- answers in words

/** What one chooses from: in guided and physical mode the report itself. */
const choices = (item) => (/guided|physical/.test(item.mode) ? item.reports : item.options);
const quoted = (option) => say("quoted", { label: say(option.label) });
const listed = (item, codes) => codes.map((one) => quoted(item.options[one])).join(", ") || say("none");
const isSet = (item) => /subset|unary|capped/.test(item.randomizer.kind);

function told(item, answer) {
  if (answer === null) return say("no_answer");
  if (item.kind === "ticks") return listed(item, answer);
  return item.kind === "choice" ? quoted(choices(item)[answer]) : String(answer);
}

/** What is sent, by a neutral name: a "yes" that chance has made is no confession. */
function received(item, sent) {
  if (item.mode === "plain") return told(item, sent);
  if (item.reports.length) return item.reports[sent].mark + " – " + quoted(item.reports[sent]);
  if (item.randomizer.kind === "random_box") return quoted(item.options[sent[0]]) + ": " + say(sent[1] ? "yes" : "no");
  return isSet(item) ? listed(item, sent) : JSON.stringify(sent);
}

/** "You answered → the wheel stopped at → we send". */
function path(sheet, item) {
  const [answer, sent] = [sheet.answer(item), sheet.value(item)];
  return make("dl", {},
    fact(choices(item) === item.options ? "you_answered" : "you_tapped", told(item, answer)),
    item.mode === "auto" && fact("chance", item.reports.length ? say("stopped", { at: item.reports[sent].mark }) : say("noise")),
    fact(item.heading ? "we_would_send" : "we_send", received(item, sent)));
}

// --- the screens

export const screens = {
  consent({ survey, speak, takePart }) {
    const [first, ...rest] = survey.consent.promise[speech.code];
    const others = survey.languages.filter((code) => code !== speech.code);
    return [
      heading(survey.title),
      row(...others.map((lang) => make("button", { type: "button", lang, click: () => speak(lang) }, survey.words[lang].name))),
      p(first, "lead"),
      ...say(survey.consent.own).split(/\n\s*\n/).concat(rest).map((text) => p(text)),
      note("decline"),
      button("take_part", takePart),
    ];
  },

  ask({ sheet, next }, item) {
    const asked = sheet.asked();
    const field = /number|text/.test(item.kind) ? typed(item) : boxes(item);
    const problem = make("p", { class: "error", role: "alert", id: "problem" });
    const proceed = button("continue", () => {
      const answer = field.read();
      problem.textContent = answer === undefined ? field.problem : "";
      if (answer === undefined) return;
      sheet.put(item, answer);
      next();
    });
    const keydown = (event) => event.key === "Enter" && event.target.tagName === "INPUT" && proceed.click();
    const answering = [...field.elements, problem, row(back("back"), proceed)];
    if (sheet.answer(item) !== undefined) field.write(sheet.answer(item));
    return [
      heading(item.heading || "question", { n: asked.indexOf(item) + 1, of: asked.length }),
      make("fieldset", { "aria-describedby": "problem", keydown },
        make("legend", {}, say(item.text) + (item.required ? "" : " " + say("optional"))),
        item.help && note(item.help),
        note(item.note || item.mode + "_note"),
        item.instructions && lead(item.instructions),
        item.warning && lead(item.warning),
        item.odds && make("div", { class: "odds" }, ...item.odds[speech.code].map((one) => p(one))),
        ...(item.mode === "guided" ? [guided(sheet, item, answering)] : answering)),
    ];
  },

  /** What chance has made of an answer. */
  sent({ sheet, next }, item) {
    const turned = (sizes) => wheel(sizes, item.reports.map((report, i) => received(item, i)), sheet.draw(item));
    return [
      heading("sent_title"),
      ...(item.reports.length ? turned(item.randomizer.weights[sheet.answer(item)]) : []),
      make("div", { class: "after" }, path(sheet, item), item.deniable && lead("deniable")),
      trial(item),
      note("no_reroll"),
      row(back("change"), button("next", next)),
    ];
  },

  /** What is right about the method. A wrong answer stops nobody. */
  told({ sheet, next }, item) {
    return [heading(item.heading), lead(sheet.answer(item) === 1 ? "right" : "wrong"), row(back("back"), button("next", next))];
  },

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

  sending() {
    return [heading("sending_title"), lead("erased"), button("try_now", () => window.dispatchEvent(new Event("trynow")), "quiet")];
  },

  end({ survey, how, record, again }) {
    const title = { 201: "thanks", already: "thanks", link: survey.title }[how] || "no_report";
    return [
      heading(title),
      lead("end_" + how in speech.words ? "end_" + how : "end_400"),
      record && p(say("erased")),
      how === 201 && make("dl", {}, fact("receipt", code(record.key)), fact("program", code(survey.code))),
      again && button("try_again", again),
    ];
  },
};

/** Guided: the wheel says what to tap, and the phone never hears the real answer. */
function guided(sheet, item, answering) {
  const turn = () => {
    const drawn = sheet.draw(item);
    const at = item.wheel.findIndex((part) => drawn < part.end);
    const orders = item.wheel.map((part, i) => i + 1 + " – " + say(part.order));
    const words = say("stopped", { at: at + 1 }) + " " + say(item.wheel[at].order);
    const told = make("p", { class: "after lead", tabindex: -1 }, words);
    fill(place, [...wheel(item.wheel.map((part) => part.size), orders, drawn), told, ...answering]);
    told.focus(); // the button that was pressed is gone
  };
  const place = make("div", {}, button("turn", turn));
  if (sheet.turned(item)) turn();
  return place;
}

// --- fields: elements, how they are written and read (undefined is no answer), and what is then the problem

function boxes(item) {
  const many = item.kind === "ticks";
  const most = (item.randomizer && item.randomizer.most) || Infinity;
  const labels = choices(item).map((option) => say(option.label)).concat(many || item.required ? [] : say("no_answer"));
  // Radio buttons need the name of a group. It is made up: no browser can restore an answer by it, and it is never sent.
  const name = "group" + performance.now();
  const inputs = labels.map(() => make("input", { type: many ? "checkbox" : "radio", name, autocomplete: "off" }));
  const problem = many ? say("most", { n: most }) : say("choose");
  const choice = (input, i) => make("label", { class: "choice" }, input, make("span", {}, labels[i]));
  return {
    problem,
    elements: [most < Infinity && p(problem), ...inputs.map(choice)],
    write: (given) => [].concat(given === null ? labels.length - 1 : given).forEach((i) => (inputs[i].checked = true)),
    read() {
      const codes = inputs.map((input, i) => i).filter((i) => inputs[i].checked);
      if (many) return codes.length > most ? undefined : codes;
      return codes[0] === choices(item).length ? null : codes[0];
    },
  };
}

function typed(item) {
  const [low, high] = item.bounds || [];
  const number = item.kind === "number";
  const kind = number ? { type: "number", step: "any", min: low, max: high, inputmode: "decimal" } : { rows: 5, maxlength: 2000 };
  const box = make(number ? "input" : "textarea", Object.assign(kind, { autocomplete: "off", "aria-describedby": "problem" }));
  return {
    problem: say(number ? "wrong_number" : "choose", { low, high }),
    elements: [make("label", {}, say(item.kind, { low, high }), box)],
    write: (given) => (box.value = given === null ? "" : given),
    read() {
      const { valid } = box.validity;
      if (valid && box.value.trim() === "") return item.required ? undefined : null;
      if (number) return valid ? box.valueAsNumber : undefined;
      return box.value.replace(/[\0-\x08\x0b-\x1f\x7f\uD800-\uDFFF]/gu, ""); // no halves of characters
    },
  };
}

// --- seeing for oneself

/** A thousand fresh draws by the function that made the report. Nothing of them is kept. */
function trial(item) {
  const truths = item.bounds || item.options.map((option, i) => (item.kind === "ticks" ? [i] : i));
  const choose = make("select", { autocomplete: "off" }, ...truths.map((truth) => make("option", {}, told(item, truth))));
  const result = make("ul", { role: "status" });
  const run = () => {
    const counts = {};
    const sent = Array.from({ length: 1000 }, () => randomized(item, truths[choose.selectedIndex], words()));
    counted(item, sent).forEach((name) => (counts[name] = (counts[name] || 0) + 1));
    const bar = (value) => make("progress", { max: 1000, value, "aria-hidden": "true" });
    fill(result, Object.keys(counts).map((name) => make("li", {}, name + ": " + counts[name], bar(counts[name]))));
  };
  return details("try", make("label", {}, say("try_label"), choose), button("try_button", run, "quiet"), result, note("try_note"));
}

/** What is counted: reports; of sets the members, of a hash its value; numbers in about ten steps. */
function counted(item, sent) {
  const hash = item.randomizer.kind === "local_hash";
  const all = (isSet(item) ? [].concat(...sent) : hash ? sent.map((one) => one[0]) : sent).sort((a, b) => a - b);
  const step = item.kind === "number" ? Math.ceil((all[999] - all[0]) / 10) : 1;
  if (step > 1) return all.map((one) => "≥ " + (all[0] + step * Math.floor((one - all[0]) / step)));
  return all.map((one) => (isSet(item) ? quoted(item.options[one]) : received(item, one)));
}

export function footer({ survey }) {
  const steps = [1, 2, 3, 4, 5].map((number) => make("li", {}, say("verify_" + number)));
  return details("verify", make("ol", {}, ...steps), p(say("program")), code(survey.code));
}
