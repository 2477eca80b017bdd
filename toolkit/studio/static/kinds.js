// The kinds of questions that users distinguish, and the conversion between protected and plain questions.
import { state } from "./core.js";

export const KINDS = ["yesno", "options", "likert", "ticks", "number", "text"];

export const maker = (question) => Object.keys(question.design ?? {})[0];
export const isProtected = (question) => question.design !== undefined;

/** What the catalogue says about a design that the page offers; undefined for others. */
export const familyOf = (design) => Object.values(state.survey.facts.families).map((designs) => designs[design]).find((family) => family);
const firstDesign = (kind) => Object.keys(state.survey.facts.families[kind])[0];

export function kindOf(question) {
  const design = maker(question), options = question.options ?? [];
  const kind = state.survey.facts.kinds[design]; // from the catalogue; undefined if it depends on the options
  if (kind) return kind;
  if (question.free_text) return "text";
  if (design === "likert") return "likert";
  if (question.bounds && !design) return "number";
  if (question.multiple) return "ticks";
  if (!design && options.join() === "no,yes") return "yesno";
  if (options.length > 2 && options.every((one, i) => one === i + 1)) return "likert";
  return design && !options.length ? "own" : "options";
}

/** Return a new question with an unused name. */
export function make(kind, taken, words) {
  const epsilon = 1;
  let place = taken.length + 1;
  while (taken.includes(`question_${place}`)) place += 1;
  const base = { name: `question_${place}`, text: "" };
  const parts = {
    yesno: { design: { [firstDesign("yesno")]: { epsilon } } },
    options: { options: [words.a, words.b, words.c], design: { [firstDesign("options")]: { epsilon } } },
    likert: { design: { likert: { points: 5, epsilon } } },
    ticks: { options: [words.a, words.b, words.c], design: { [firstDesign("ticks")]: { epsilon } } },
    number: { bounds: [0, 100], design: { [firstDesign("number")]: { epsilon } } },
    text: { free_text: true, required: false, warning: words.warning },
  };
  return { ...base, ...structuredClone(parts[kind]) };
}

/** Switch between randomizing an answer and sending it unchanged. */
export function protect(question, on) {
  const kind = kindOf(question);
  if (on) {
    delete question.required;
    delete question.page;
    question.design = kind === "likert" ? { likert: { points: question.options.length, epsilon: 1 } } : { [firstDesign(kind)]: { epsilon: 1 } };
    if (kind === "yesno" || kind === "likert") delete question.options;
    delete question.multiple;
    return;
  }
  if (kind === "likert") question.options = Array.from({ length: question.design.likert.points }, (_, i) => i + 1);
  if (kind === "yesno") question.options = ["no", "yes"];
  if (kind === "ticks") question.multiple = true;
  for (const name of ["design", "mode", "instructions", "innocent", "anchor"]) delete question[name];
}

/** Return the epsilon in a question's design; undefined if the design is given by other arguments. */
export const epsilonOf = (question) => question.design?.[maker(question)]?.epsilon;

/** Fit all questions below the ceiling by lowering any epsilon above an equal share. `costs` are the losses of questions without an epsilon. */
export function makeRoom(questions, costs, ceiling, waves = 1) {
  const moved = questions.filter((one) => epsilonOf(one) !== undefined);
  const fixed = questions.reduce((sum, one) => sum + (isProtected(one) && !moved.includes(one) ? costs[one["#"]] || 0 : 0), 0);
  const spent = moved.reduce((sum, one) => sum + Number(epsilonOf(one)), 0);
  if (fixed + waves * spent <= ceiling + 1e-9) return;
  const even = (ceiling - fixed) / waves / moved.length, steps = even < 0.1 ? 100 : 10;
  const share = Math.max(0.01, Math.floor(steps * even + 1e-6) / steps);
  for (const one of moved) if (epsilonOf(one) > share) one.design[maker(one)].epsilon = share;
}

// ---------------------------------------------------------------- texts in several languages

export const LANGUAGE_WORDS = { ar: "العربية", de: "Deutsch", en: "English", es: "Español", fr: "Français" };
export const languagesOf = (data) => (Array.isArray(data.languages) && data.languages.length ? data.languages : ["en"]);

export function textIn(value, code, first) {
  if (value === undefined) return "";
  return typeof value === "object" ? value[code] ?? "" : code === first ? `${value}` : "";
}

/** Return a text with one language changed. It is a plain string as long as there is only one language. */
export function withText(value, code, text, codes) {
  const all = typeof value === "object" ? { ...value } : value === undefined ? {} : { [codes[0]]: value };
  if (text === "" && codes.length > 1) delete all[code];
  else all[code] = text;
  const left = Object.keys(all);
  if (!left.length) return undefined;
  return codes.length === 1 && left.length === 1 ? all[left[0]] : all;
}

/** Derive a column name for the results from a text. */
export function nameFrom(text, taken) {
  const plain = text.normalize("NFD").replace(/[\u0300-\u036f]/g, "").toLowerCase();
  const skip = ["have", "has", "did", "do", "you", "your", "the", "a", "an", "ever", "how", "what", "which", "that", "many", "much", "are", "is", "in", "of", "to", "haben", "sie", "hast", "du", "wie", "was", "der", "die", "das"];
  const words = plain.split(/[^a-z0-9]+/).filter((one) => one && !skip.includes(one));
  const stem = words.slice(0, 2).join("_").replace(/^[^a-z]+/, "").slice(0, 30);
  if (!stem) return null;
  let name = stem, place = 2;
  while (taken.includes(name)) name = `${stem}_${place++}`;
  return name;
}
