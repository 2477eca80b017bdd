// The answers while the page is open, in memory only, and the report that is made of them. The random words are drawn before the
// first answer and outlive the page: the same answer gives the same report. When that is made they are dropped, as both together
// would tell the answer.

import { below, gridIndex, remembered, report, secret, words } from "./randomizer.js";

// On the shelf are the words of each link and, once the practice is over, what is sent about it; in the attic, for later waves,
// the words of its memos, and a number that joins its reports.
export function sheet(survey, shelf, attic, link) {
  const [name, past] = ["words:" + link, "practised:" + link];
  const key = secret(16);
  let understood = null;
  let before, over; // the practice is over: since an earlier page, or by now
  let drawn, panel; // by place: the random words of each item; and what is in the attic
  const given = new Map(); // by item: the true answer; in guided and physical mode what was tapped, or nothing yet if the wheel was turned
  const items = survey.intro.concat(survey.questions);
  const answer = (item) => given.get(item);
  const source = (item) => {
    const place = items.indexOf(item);
    return remembered((drawn[place] = drawn[place] || []), words());
  };
  const memory = ({ name }) => remembered((panel.words[name] = panel.words[name] || []), words());
  const visible = (item) =>
    item.show_if.every(([place, codes]) => {
      const other = survey.questions[place];
      return visible(other) && codes.includes(answer(other));
    });
  // What is sent; undefined until there is an answer.
  const value = (item) => {
    const truth = answer(item);
    return truth === undefined || item.mode !== "auto" ? truth : randomized(item, truth, source(item), memory(item));
  };
  return {
    key, answer, value,
    begun: () => drawn || shelf.read(name),
    // How many words a draw takes depends on no truth, and there is none yet.
    begin() {
      drawn = drawn || shelf.read(name) || [];
      before = over || shelf.read(past);
      if (before) [understood] = over = before;
      panel = attic.read(link) || panel || { person: secret(16), words: { __proto__: null } };
      items.forEach((item) => item.randomizer && randomized(item, item.truths[0], source(item), memory(item)));
      shelf.write(name, drawn);
      if (survey.panel) attic.write(link, panel); // two tabs may write at one moment: both take what was written last
      panel = attic.read(link) || panel;
    },
    put(item, truth) {
      if (item.mode === "check" && understood === null) understood = truth === 1; // the first answer counts
      given.set(item, truth);
    },
    turned: (item) => given.has(item),
    draw(item) {
      given.set(item, answer(item));
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
      return JSON.stringify({ survey: survey.hash, key, answers, understood, token, person: survey.panel && panel.person });
    },
    forget: () => given.clear(),
    end() {
      given.clear();
      drawn = before = over = null;
      [name, past].forEach(shelf.drop);
    },
  };
}

export const randomized = ({ kind, randomizer }, truth, next, memory) =>
  report(randomizer, kind === "number" ? gridIndex(randomizer, truth) : truth, next, memory);
