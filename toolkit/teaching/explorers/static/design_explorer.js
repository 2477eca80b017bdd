// The design explorer: how private is each person, and how precise is the survey?
import { set } from "../../../show/widgets/static/elements.js";
import { bound, chance, choices, explorer, figure, fill, inPoints, nearest, panel, said, slider, threeDigits } from "../../../show/widgets/static/kit.js";
import { bars, chart, iconArray, intervals } from "../../../show/widgets/static/pictures.js";

const TALLEST = 50; // points; wider margins say nothing, and would flatten the curve

/** Everything shown for one setting: the numbers, and the sentences that Python worded. */
export function reading(table, row, prevalence, n) {
  const column = nearest(table.prevalences, prevalence);
  const root = Math.sqrt(n);
  const yes = Math.round(100 * row.p);
  const numbers = {
    yes,
    prior: 100 * prevalence,
    afterNo: 100 * row.after_no[column],
    afterYes: 100 * row.after_yes[column],
    margin: (100 * row.margin[column]) / root,
    direct: (100 * table.direct[column]) / root,
    curve: table.rows.map((other) => [other.epsilon, (100 * other.margin[column]) / root]),
  };
  const values = {
    yes,
    no: 100 - yes,
    factor: bound(row.factor),
    prior: chance(numbers.prior),
    after_no: chance(numbers.afterNo),
    after_yes: chance(numbers.afterYes),
    margin: inPoints(numbers.margin),
    direct: inPoints(numbers.direct),
    n: figure(n, 0),
    needed: figure(threeDigits(n * row.multiplier[column]), 0),
    multiplier: figure(row.multiplier[column]),
  };
  return { numbers, sentences: fill(table.words, values) };
}

/** The row of this very epsilon where Python has sent it, else the nearest of the table. */
function rowFor(table, exact, epsilon) {
  if (exact.epsilon === epsilon && exact.margin.length === table.prevalences.length) return exact;
  return table.rows[nearest(table.rows.map((row) => row.epsilon), epsilon)];
}

function read(model, chosen) {
  const row = rowFor(model.get("table"), model.get("row"), chosen.epsilon);
  return { ...reading(model.get("table"), row, chosen.prevalence, chosen.n), shown: { ...chosen, epsilon: row.epsilon } };
}

/** The margin over epsilon, with the chosen point; dashed: asking directly. */
function tradeoff(most) {
  const x = { from: 0, to: most + 0.3, ticks: [1, 2, 3, 4, 5].map((at) => ({ at, text: `ε = ${at}` })) };
  const y = { from: 0, to: TALLEST, ticks: [0, 25, 50].map((at) => ({ at, text: `${at}` })) };
  const plot = chart({ x, y, unit: "± points of margin" });
  const [direct, curve, drop, point] = [plot.line("direct"), plot.line("curve"), plot.drop(), plot.dot("point")];
  return {
    element: plot.element,
    draw({ numbers, sentences }, { epsilon }) {
      plot.trace(curve, numbers.curve);
      plot.trace(direct, [0, most + 0.3].map((end) => [end, numbers.direct]));
      plot.put(point, epsilon, numbers.margin);
      plot.fall(drop, epsilon, numbers.margin);
      set(plot.element, { "aria-label": `${sentences.margin} ${sentences.people}` });
    },
  };
}

function controls(model) {
  const { least, most } = model.get("limits");
  return [
    slider({
      name: "epsilon",
      label: "Epsilon (ε)",
      ends: ["more private", "more precise"],
      steps: (now) => now.get("table").rows.map((row) => row.epsilon),
      words: (value) => `epsilon ${figure(value)}`,
      box: { label: "Epsilon, exactly", least, most, step: 0.05 },
    }),
    choices({
      name: "epsilon",
      lead: "as private as",
      options: model.get("table").devices.map(({ name, how, epsilon }) => ({ label: name, title: how, value: epsilon })),
    }),
    slider({
      name: "n",
      label: "Respondents",
      ends: ["few", "many"],
      steps: (now) => now.get("table").sizes,
      words: (value) => `${figure(value, 0)} respondents`,
      box: { label: "Number of respondents, exactly", least: 2, most: 1000000, step: 1, whole: true },
    }),
    slider({
      name: "prevalence",
      label: "Guess of yes",
      ends: ["rare", "common"],
      steps: (now) => now.get("table").prevalences,
      words: (value) => `${chance(100 * value)} percent`,
      text: (value) => `${chance(100 * value)} %`,
    }),
  ];
}

function panels(model) {
  const beliefs = bars({
    names: ["before", "after “no”", "after “yes”"],
    kinds: ["prior", "no", "yes"],
    values: ({ prior, afterNo, afterYes }) => [prior, afterNo, afterYes],
    text: (share) => `${chance(share)} %`,
    label: ({ belief }) => belief,
  });
  const ranges = intervals({
    names: ["directly", "privately"],
    kinds: ["prior", "yes"],
    middle: ({ prior }) => prior,
    reaches: ({ direct, margin }) => [direct, margin],
    ticks: [0, 25, 50, 75, 100].map((at) => ({ at, text: at === 100 ? "100 %" : `${at}` })),
    label: ({ margin }) => margin,
  });
  const icons = iconArray({ count: ({ yes }) => yes, label: (sentences) => sentences.icons });
  const curve = tradeoff(model.get("limits").most);
  return [
    panel("How private is each person?", icons, said("icons"), beliefs, said("odds"), said("belief")),
    panel("How precise is the survey?", ranges, said("margin"), curve, said("people")),
  ];
}

const question = "Design explorer: how private is each person, and how precise is the survey?";
const truth = { value: ({ numbers }) => numbers.margin, text: inPoints };
export default explorer({ question, controls, panels, read, truth });
