// The answers while the page is open, in memory only, and the report that is made of them. The random words are drawn before the
// first answer and outlive the page: the same answer gives the same report. When that is made they are dropped, as both together
// would tell the answer.

import { below, gridIndex, remembered, report, secret, words } from "./randomizer.js";

// On the shelf are the words of each link and, once the practice is over, what is sent about it.
export function sheet(survey, shelf, link) {
  const [name, past] = ["words:" + link, "practised:" + link];
  const key = secret(16);
  let understood = null;
  let before, over; // the practice is over: since an earlier page, or by now
  let drawn; // by place: the random words of each item
  const given = new Map(); // by item: the true answer; in guided and physical mode what was tapped
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
  // What is sent; undefined until there is an answer.
  const value = (item) => {
    const truth = answer(item);
    return truth === undefined || item.mode !== "auto" ? truth : randomized(item, truth, source(item));
  };
  return {
    key, answer, value,
    begun: () => drawn || shelf.read(name),
    // How many words a draw takes depends on no truth, and there is none yet.
    begin() {
      drawn = drawn || shelf.read(name) || [];
      before = over || shelf.read(past);
      if (before) [understood] = over = before;
      items.forEach((item) => item.randomizer && randomized(item, item.truths[0], source(item)));
      shelf.write(name, drawn);
    },
    put(item, truth) {
      if (item.mode === "check" && understood === null) understood = truth === 1; // the first answer counts
      given.set(item, truth);
    },
    turned: (item) => turned.has(item),
    draw(item) {
      turned.add(item);
      return below(item.randomizer.denominator, source(item));
    },
    practised() {
      if (over || !survey.intro.length) return;
      over = [understood];
      shelf.write(past, over);
    },
    intro: () => (before ? [] : survey.intro),
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
      drawn = before = over = null;
      [name, past].forEach(shelf.drop);
    },
  };
}

export const randomized = ({ kind, randomizer }, truth, next) =>
  report(randomizer, kind === "number" ? gridIndex(randomizer, truth) : truth, next);
