// The budget explorer: what does epsilon mean to one person?
import { set } from "../../../show/widgets/static/elements.js";
import { atLeast, atMost, bound, chance, epsilonSlider, explorer, fill, last, nearest, panel, said, slider } from "../../../show/widgets/static/kit.js";
import { bars, chart, iconArray } from "../../../show/widgets/static/pictures.js";

/** The belief whose odds are those of `prior` times `factor`. */
function believed(prior, factor) {
  const odds = (prior / (1 - prior)) * factor;
  return odds / (1 + odds);
}

/** Everything shown for one setting: the numbers, and the sentences that Python worded. */
export function reading(words, row, years, prior) {
  const factor = row.factor[years - 1];
  const highest = believed(prior, factor);
  const numbers = {
    prior: 100 * prior,
    right: Math.ceil(100 * believed(0.5, factor) - 1e-9),
    low: 100 * believed(prior, 1 / factor),
    high: 100 * highest,
    highs: row.factor.map((each, i) => [i + 1, 100 * believed(prior, each)]),
    lows: row.factor.map((each, i) => [i + 1, 100 * believed(prior, 1 / each)]),
  };
  const values = {
    right: atMost(100 * believed(0.5, factor)),
    factor: bound(factor),
    prior: chance(numbers.prior),
    low: atLeast(numbers.low),
    high: atMost(numbers.high),
    stake: bound(highest / prior),
    questions: row.questions,
    years,
    answers: row.questions * years,
    total: bound(row.total[years - 1]),
    each: row.each[years - 1],
  };
  return { numbers, sentences: fill(words, values) };
}

/** The row of this very epsilon and number of questions where Python has sent it, else the nearest of the table. */
export function rowFor(table, exact, epsilon, questions) {
  if (exact.epsilon === epsilon && exact.questions === questions) return exact;
  const place = nearest(table.epsilons, epsilon);
  const asked = table.questions[nearest(table.questions, questions)];
  const by = (list) => table.years.map((year) => list[table.answers.indexOf(asked * year)]);
  const [total, factor, each] = [table.total[place], table.factor[place], table.each].map(by);
  return { epsilon: table.epsilons[place], questions: asked, total, factor, each };
}

function read(model, chosen) {
  const row = rowFor(model.get("table"), model.get("row"), chosen.epsilon, chosen.questions);
  const shown = { ...chosen, epsilon: row.epsilon, questions: row.questions };
  return { ...reading(model.get("table").words, row, chosen.years, chosen.prior), shown };
}

/** The highest and the lowest belief over the years; dashed: before. */
function years(most) {
  const x = { from: 0.5, to: most + 0.5, ticks: [1, 5, 10].map((at) => ({ at, text: at === 1 ? "1 year" : `${at} years` })) };
  const y = { from: 0, to: 100, ticks: [0, 50, 100].map((at) => ({ at, text: `${at}` })) };
  const plot = chart({ x, y, unit: "highest and lowest belief, %", headroom: 16 });
  const [before, low, high] = [plot.line("direct"), plot.line("curve thin"), plot.line("curve")];
  const [drop, point] = [plot.drop(), plot.dot("point")];
  return {
    element: plot.element,
    draw({ numbers, sentences }, shown) {
      plot.trace(before, [x.from, x.to].map((end) => [end, numbers.prior]));
      plot.trace(low, numbers.lows);
      plot.trace(high, numbers.highs);
      plot.put(point, shown.years, numbers.high);
      plot.fall(drop, shown.years, numbers.high);
      set(plot.element, { "aria-label": `${sentences.belief} ${sentences.total}` });
    },
  };
}

function controls(model) {
  const table = model.get("table");
  return [
    epsilonSlider(table.epsilons, 0.01, " for one answer"),
    slider({
      name: "questions",
      label: "Questions",
      ends: ["few: private", "many a year"],
      steps: () => table.questions,
      words: (value) => `${value} questions a year`,
      box: { label: "Questions a year, exactly", least: 1, most: last(table.questions), step: 1, whole: true },
    }),
    slider({
      name: "years",
      label: "Years",
      ends: ["few: private", "many"],
      steps: () => table.years,
      words: (value) => `${value} years`,
      box: { label: "Years, exactly", least: 1, most: table.years.length, step: 1, whole: true },
    }),
    slider({
      name: "prior",
      label: "Believed before",
      ends: ["hardly", "strongly"],
      steps: () => table.priors,
      words: (value) => `${chance(100 * value)} percent`,
      text: (value) => `${chance(100 * value)} %`,
    }),
  ];
}

function panels(model) {
  const beliefs = bars({
    names: ["before", "at least", "at most"],
    kinds: ["prior", "no", "yes"],
    values: ({ prior, low, high }) => [prior, low, high],
    text: (share, place) => `${[chance, atLeast, atMost][place](share)} %`,
    label: ({ belief }) => belief,
  });
  const icons = iconArray({ count: ({ right }) => right, label: (sentences) => sentences.icons });
  return [
    panel("What can be learned about one person?", icons, said("icons"), beliefs, said("belief"), said("bet")),
    panel("And if they are asked again?", years(model.get("table").years.length), said("total"), said("odds"), said("each")),
  ];
}

const question = "Budget explorer: what does epsilon mean to one person?";
const truth = { value: ({ numbers }) => numbers.right, text: (right) => atMost(right) };
export default explorer({ question, controls, panels, read, truth });
