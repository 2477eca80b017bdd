// The answers while the page is open, and the report that is made of them: in memory only.
//
// The random words of a question are drawn once and read again at every edit: no second draw. They are not kept beyond the
// page, because words and report together would tell the answer. A reload begins anew; this helps nobody, because nothing
// was sent yet, and a report that was sent is never made again (queue.js).

import { below, gridIndex, remembered, report, words } from "./randomizer.js";

/** A sheet of answers, with the key under which its report will be stored. */
export function sheet(survey) {
  const key = Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => (256 + byte).toString(16).slice(1)).join("");
  let understood = null;
  const given = new Map(); // by question: the true answer in auto mode, the tapped report in guided and physical mode
  const sources = new Map(); // by question: its random words, from the first one at every call
  const answer = (item) => given.get(item.name);
  const source = (item) => {
    if (!sources.has(item.name)) sources.set(item.name, remembered(words()));
    return sources.get(item.name)();
  };
  const visible = (item) =>
    Object.keys(item.show_if || {}).every((name) => {
      const other = survey.questions.find((one) => one.name === name);
      return visible(other) && [].concat(answer(other)).some((code) => item.show_if[name].indexOf(code) >= 0);
    });
  /** What is sent for a question; undefined as long as it is not answered. */
  const value = (item) => {
    const truth = answer(item);
    return truth === undefined || item.mode !== "auto" ? truth : randomized(item, truth, source(item));
  };
  return {
    key, answer, value,
    put(item, truth) {
      if (item.mode === "check" && understood === null) understood = truth === 1; // the first answer counts
      given.set(item.name, truth);
    },
    turned: (item) => sources.has(item.name),
    /** Where the wheel of a matrix design stops: a number below its denominator. */
    draw: (item) => below(item.randomizer.denominator, source(item)),
    asked: () => survey.questions.filter(visible),
    /** All that leaves the phone, byte for byte. */
    body(token) {
      const answers = {};
      survey.questions.forEach((item) => (answers[item.name] = visible(item) ? value(item) : null));
      return JSON.stringify({ survey: survey.hash, key, answers, understood, token });
    },
    forget() {
      given.clear();
      sources.clear();
    },
  };
}

/** The report for a true answer: for the real one by its own words, for a trial by fresh ones. */
export function randomized(item, truth, next) {
  return report(item.randomizer, item.kind === "number" ? gridIndex(item.randomizer, truth) : truth, next);
}
