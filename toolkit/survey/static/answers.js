// The answers, in memory only, and the report made from them. Random words are drawn before the first answer and kept until the
// tab is closed, so that the same answer gives the same report. Then they are deleted, because words and report together reveal
// the answer.

import { draws } from "./queue.js";
import { below, cell, gridIndex, remembered, report, secret, shuffled, words } from "./randomizer.js";

// The shelf has the words and, after practice, its result. The attic has, for later waves, the words of memos, a number that
// links reports, and the page of each wave's report, which alone is kept after the last wave.
export function sheet(survey, shelf, attic) {
  const key = secret(16);
  const lasting = draws(shelf);
  let understood = null;
  let tries = 0; // at the check
  let before, over; // whether practice ended on an earlier page, or now
  let drawn, panel; // the random words of each item by index; the content of the attic
  const given = new Map(); // by item: the true answer or the tapped report; undefined if only the wheel was turned
  const items = survey.intro.concat(survey.questions);
  const order = [].concat(...shuffled(survey.units, survey.mixed).map((i) => survey.units[i])); // on this page only
  const total = ({ weights }) => weights.reduce((sum, one) => sum + one, 0);
  const answer = (item) => (item.weights ? drawn && cell(item.weights, below(total(item), source(item))) : given.get(item));
  const memory = () => attic.read("memory") || { seen: {} };
  const from = (lists, name) => remembered((lists[name] = lists[name] || []), words());
  const source = (item) => from(drawn, items.indexOf(item));
  const recall = (item) => from(panel.words, item.name);
  const visible = (item) =>
    item.show_if.every(([place, codes]) => {
      const other = survey.questions[place];
      return visible(other) && codes.includes(answer(other));
    });
  // The value to send; undefined without an answer.
  const value = (item) => {
    const truth = answer(item);
    return truth === undefined || item.mode !== "auto" ? truth : randomized(item, truth, source(item), recall(item));
  };
  const asked = () => order.map((i) => survey.questions[i]).filter((item) => visible(item) && !item.weights);
  return {
    key, answer, value, memory, asked,
    begun: () => drawn || lasting.read(),
    // Reserve this wave's report for this page; false if another page has made it.
    seal() {
      const { seen } = Object.assign(panel, memory());
      const first = (seen[survey.wave] = seen[survey.wave] || survey.hash);
      if (survey.panel) attic.write("memory", seen[survey.waves] ? { seen } : panel);
      return survey.pages.includes(first);
    },
    // The number of words in a draw depends on no truth.
    begin() {
      drawn = drawn || lasting.read() || [];
      before = over || shelf.read("practised");
      if (before) [understood] = over = before;
      panel = { person: secret(16), words: { __proto__: null }, ...panel, ...memory() };
      items.forEach((item) => item.randomizer && randomized(item, item.truths[0], source(item), recall(item)));
      items.forEach((item) => item.weights && answer(item));
      if (!lasting.read()) lasting.write(drawn);
      if (survey.panel && !panel.seen[survey.waves]) attic.write("memory", panel); // the last of two tabs wins
      panel = { ...panel, ...memory() };
    },
    put(item, truth) {
      given.set(item, truth);
    },
    // The first answer to the check counts; about a device it is the number of the right try, or 0.
    tried(item, right) {
      tries += 1;
      const over = right || tries >= item.tries.length;
      if (over && understood === null) understood = item.tries.length > 1 ? (right ? tries : 0) : right;
      if (over) given.set(item, right);
      return over;
    },
    tries: () => tries,
    turned: (item) => given.has(item),
    draw(item) {
      given.set(item, answer(item));
      return below(item.randomizer.denominator, source(item));
    },
    practised: () => over || !survey.intro.length || shelf.write("practised", (over = [understood])),
    intro: () => (before ? [] : survey.intro),
    page: (item) => (item.page ? asked().filter(({ page }) => page === item.page) : [item]), // all items on its screen
    // The body of the report, byte for byte.
    body(token) {
      const answers = {};
      survey.questions.forEach((item) => (answers[item.name] = visible(item) ? value(item) : null));
      return JSON.stringify({ survey: survey.hash, key, answers, understood, token, person: survey.panel && panel.person });
    },
    forget: () => given.clear(),
    end() {
      given.clear();
      drawn = before = over = null;
      lasting.drop();
      shelf.drop("practised");
    },
  };
}

export const randomized = ({ kind, randomizer }, truth, next, memory) =>
  report(randomizer, kind === "number" ? gridIndex(randomizer, truth) : truth, next, memory);
