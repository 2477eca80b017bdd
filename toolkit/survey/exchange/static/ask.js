// Questions in the page of another program. The answer to a hidden question is in the fields of the page, and nowhere else, until
// the button is pressed. Then the report is drawn, the fields are removed, and the report alone is returned.

import { hide, shuffled } from "./hide.js";
import { readings } from "./numbers.js";

// Show a question and return a promise of its report or plain answer, or of undefined if it is optional and left empty.
export function ask(place, question, words) {
  return new Promise((resolve) => {
    const [fields, read] = inputs(question, words);
    const problem = make("p", { role: "alert", className: "error" });
    const name = make("legend", { tabIndex: -1 }, question.text, question.required ? "" : " " + words.optional);
    const notes = question.notes.map((text) => make("p", { className: "note" }, text));
    const odds = question.odds.map((text) => make("p", { className: "odds" }, text));
    const button = make("button", { type: "button", className: "main" }, words.next);
    button.addEventListener("click", () => {
      const answer = read();
      const isEmpty = answer === undefined || answer === "";
      if (isEmpty && question.required) return (problem.textContent = words.choose);
      if (!isEmpty && question.wrong && !isAllowed(question, answer)) return (problem.textContent = question.wrong);
      const value = isEmpty ? undefined : question.design ? hide(question.design, answer) : plain(question, answer);
      place.replaceChildren(); // the fields are gone before anybody hears of the report
      resolve(value);
    });
    const shown = make("fieldset", {}, name, ...notes, ...fields, ...odds, problem, button);
    place.replaceChildren(make("div", { className: "toolkit" }, shown));
    name.focus();
  });
}

// Show the consent text and return a promise of whether the person takes part.
export function consent(place, { sections, words }) {
  return new Promise((resolve) => {
    const button = (text, takesPart) => {
      const made = make("button", { type: "button", className: takesPart ? "main" : "" }, text);
      made.addEventListener("click", () => [place.replaceChildren(), resolve(takesPart)]);
      return made;
    };
    const lines = ({ title, lines }) => [title ? make("h2", {}, title) : "", ...lines.map((line) => make("p", {}, line))];
    const buttons = [button(words.take_part, true), button(words.not_part, false)];
    place.replaceChildren(make("div", { className: "toolkit" }, ...sections.flatMap(lines), ...buttons));
  });
}

// Ask all questions and return the values by name. A question is asked if plain answers before it fulfill its condition. `units` are
// lists of indices of questions that stay together, and `mixed` the indices of the units in random order.
export async function askAll(place, { questions, words, units, mixed }) {
  const values = {};
  for (const question of shuffled(units, mixed).flatMap((i) => units[i].map((index) => questions[index]))) {
    const isAsked = Object.entries(question.show_if).every(([name, options]) => options.includes(values[name]));
    values[question.name] = isAsked ? await ask(place, question, words) : undefined;
  }
  // Programs store names in the order of the object, which is the order of the survey for everybody.
  const asked = questions.filter(({ name }) => values[name] !== undefined);
  return Object.fromEntries(asked.map(({ name }) => [name, values[name]]));
}

// The fields of a question, and a function that reads the answer from them.
function inputs(question, words) {
  if (question.kind === "number" || question.kind === "text") {
    const kinds = { number: ["input", { type: "text", inputMode: "decimal" }], text: ["textarea", { maxLength: 2000, rows: 4 }] };
    const [tag, properties] = kinds[question.kind];
    const field = alone(make(tag, properties));
    const read = () => (question.kind === "text" ? field.value.trim() : number(field.value, question));
    return [[make("label", {}, question.hint, field)], read];
  }
  const type = question.kind === "ticks" ? "checkbox" : "radio";
  const group = "toolkit-" + question.name;
  const fields = question.options.map(() => alone(make("input", { type, name: group })));
  const rows = question.options.map(({ label }, i) => make("label", { className: "choice" }, fields[i], label));
  const chosen = () => question.options.filter((_, i) => fields[i].checked).map(({ value }) => value);
  // The order of the labels is drawn here and kept nowhere else: `fields` and options have the order of the survey.
  const ordered = shuffled(rows, question.mixed).map((i) => rows[i]);
  return [ordered, () => (type === "checkbox" ? chosen() : chosen()[0])];
}

// Keep a field out of every form around it, and out of what browsers remember and fill in.
function alone(field) {
  field.setAttribute("form", "");
  field.setAttribute("autocomplete", "off");
  return field;
}

// A plain answer as it is stored: ticks are the positions of the options, from 0, as in reports.
function plain({ kind, options }, answer) {
  return kind === "ticks" ? answer.map((value) => options.findIndex((option) => option.value === value)) : answer;
}

// The number that a text means, undefined for an empty text, and NaN for any other. "1.500" may mean 1500 or 1.5.
function number(text, question) {
  const allowed = readings(text).filter((reading) => isAllowed(question, reading));
  return text.trim() === "" ? undefined : allowed.length === 1 ? allowed[0] : NaN;
}

function isAllowed({ kind, bounds, whole, most }, answer) {
  if (kind === "ticks") return answer.length <= most;
  return answer >= bounds[0] && answer <= bounds[1] && (!whole || Number.isInteger(answer)); // false for NaN
}

export function make(tag, properties, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}
