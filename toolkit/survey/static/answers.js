// The answers while the page is open, and the report that is made of them: in memory only.
//
// The random words of a question are drawn once and read again at every edit. They are not kept beyond the page: words and
// report together would tell the answer. A reload draws anew, which helps nobody: what was sent is never made again (queue.js).

import { below, gridIndex, remembered, report, secret, words } from "./randomizer.js";

// A sheet of answers, and the key under which its report will be stored.
export function sheet(survey) {
  const key = secret(16);
  let understood = null;
  const given = new Map(); // by question: the true answer; in guided and physical mode the report that was tapped
  const drawn = new Map(); // by question: its random words
  const answer = (item) => given.get(item);
  const source = (item) => {
    if (!drawn.has(item)) drawn.set(item, []);
    return remembered(drawn.get(item), words());
  };
  const visible = (item) =>
    Object.entries(item.show_if || {}).every(([name, codes]) => {
      const other = survey.questions.find((one) => one.name === name);
      return visible(other) && [].concat(answer(other)).some((code) => codes.includes(code));
    });
  // What is sent for a question; undefined until it is answered.
  const value = (item) => {
    const truth = answer(item);
    return truth === undefined || item.mode !== "auto" ? truth : randomized(item, truth, source(item));
  };
  return {
    key, answer, value,
    put(item, truth) {
      if (item.mode === "check" && understood === null) understood = truth === 1; // the first answer counts
      given.set(item, truth);
    },
    turned: (item) => drawn.has(item),
    // Where the wheel of a design stops: a number below its denominator.
    draw: (item) => below(item.randomizer.denominator, source(item)),
    asked: () => survey.questions.filter(visible),
    // All that leaves the phone, byte for byte.
    body(token) {
      const answers = {};
      survey.questions.forEach((item) => (answers[item.name] = visible(item) ? value(item) : null));
      return JSON.stringify({ survey: survey.hash, key, answers, understood, token });
    },
    forget() {
      given.clear();
      drawn.clear();
    },
  };
}

// The report for a true answer: the real one by its own words, a trial by fresh ones.
export const randomized = ({ kind, randomizer }, truth, next) =>
  report(randomizer, kind === "number" ? gridIndex(randomizer, truth) : truth, next);
