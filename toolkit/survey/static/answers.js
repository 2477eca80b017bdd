// The answers while the page is open, in memory only, and the report that is made of them.
//
// The random words of all questions are drawn before the first answer and read again at every edit. Until the report is made
// they outlive the page: the same answer gives the same report. Then they are dropped: both together would tell the answer.

import { below, gridIndex, remembered, report, secret, words } from "./randomizer.js";

// A sheet of answers, and the key under which its report will be stored; the words are kept by this name on the shelf.
export function sheet(survey, shelf, name) {
  const key = secret(16);
  let understood = null;
  let drawn; // by place: the random words of each item
  const given = new Map(); // by question: the true answer; in guided and physical mode the report that was tapped
  const turned = new Set();
  const items = survey.intro.concat(survey.questions);
  const answer = (item) => given.get(item);
  const source = (item) => {
    const place = items.indexOf(item);
    return remembered((drawn[place] = drawn[place] || []), words());
  };
  const visible = (item) =>
    item.show_if.every(([place, codes]) => {
      const other = survey.questions[place];
      return visible(other) && [].concat(answer(other)).some((code) => codes.includes(code));
    });
  // What is sent for a question; undefined until it is answered.
  const value = (item) => {
    const truth = answer(item);
    return truth === undefined || item.mode !== "auto" ? truth : randomized(item, truth, source(item));
  };
  return {
    key, answer, value,
    // How many words a draw takes depends on them alone: any truth will do, and there is none yet.
    begin() {
      drawn = drawn || shelf.read(name) || [];
      items.forEach((item) => item.randomizer && randomized(item, item.truths[0], source(item)));
      shelf.write(name, drawn);
    },
    put(item, truth) {
      if (item.mode === "check" && understood === null) understood = truth === 1; // the first answer counts
      given.set(item, truth);
    },
    turned: (item) => turned.has(item),
    // Where the wheel of a design stops: a number below its denominator.
    draw(item) {
      turned.add(item);
      return below(item.randomizer.denominator, source(item));
    },
    asked: () => survey.questions.filter(visible),
    // All that leaves the phone, byte for byte.
    body(token) {
      const answers = {};
      survey.questions.forEach((item) => (answers[item.name] = visible(item) ? value(item) : null));
      return JSON.stringify({ survey: survey.hash, key, answers, understood, token });
    },
    forget() {
      given.clear();
      turned.clear();
    },
    end() {
      this.forget();
      drawn = null;
      shelf.drop(name);
    },
  };
}

// The report for a true answer: the real one by its own words, a trial by fresh ones.
export const randomized = ({ kind, randomizer }, truth, next) =>
  report(randomizer, kind === "number" ? gridIndex(randomizer, truth) : truth, next);
