// The outlier explorer: move one salary. What does each statistic do, and what noise does each need?
import { explorer, figure, fill, nearest, panel, said, slider } from "../../../show/widgets/static/kit.js";
import { bars } from "../../../show/widgets/static/pictures.js";

const NAMES = ["mean", "trimmed mean", "Huber location", "median"];
const SHORT = ["mean", "trimmed", "huber", "median"];

/** Everything shown for one setting: the numbers, and the sentences that Python worded. */
export function reading(table, row) {
  const values = { salary: Number(row.salary.toPrecision(4)).toLocaleString("en-US", { maximumFractionDigits: 4 }), epsilon: String(Number(row.epsilon.toPrecision(4))) };
  SHORT.forEach((name, i) => {
    values[name] = figure(row.values[i], 1);
    values[`${name}_noise`] = figure(row.noise[i], 2);
    values[`${name}_moved`] = figure(row.values[i] - table.lowest[i], 1);
  });
  return { numbers: { values: row.values, noise: row.noise }, sentences: fill(table.words, values) };
}

/** The row of this very setting where Python has sent it, else the nearest of the table. */
export function rowFor(table, exact, { salary, epsilon }) {
  if (exact.salary === salary && exact.epsilon === epsilon) return exact;
  return table.rows[nearest(table.salaries, salary)][nearest(table.epsilons, epsilon)];
}

function read(model, chosen) {
  const row = rowFor(model.get("table"), model.get("row"), chosen);
  return { ...reading(model.get("table"), row), shown: { salary: row.salary, epsilon: row.epsilon } };
}

/** Four bars; the longest fills the width, but for its number. */
function fourBars(kind, part, decimals) {
  let written = [];
  return bars({
    names: NAMES,
    kinds: NAMES.map(() => kind),
    values: (numbers) => {
      written = numbers[part];
      return written.map((value) => (100 * value) / Math.max(...written));
    },
    text: (_, i) => figure(written[i], decimals),
    label: (sentences) => sentences[part],
    most: 124,
    left: 96,
  });
}

function controls() {
  const table = (model) => model.get("table");
  return [
    slider({
      name: "salary",
      label: "One salary",
      ends: ["nothing", "a million"],
      steps: (model) => table(model).salaries,
      words: (value) => `${figure(value, 0)} thousand`,
      box: { label: "One salary in thousands, exactly", least: 0, most: 1000, step: "any" },
    }),
    slider({
      name: "epsilon",
      label: "Epsilon (ε)",
      ends: ["more private", "more precise"],
      steps: (model) => table(model).epsilons,
      words: (value) => `epsilon ${figure(value)}`,
      box: { label: "Epsilon, exactly", least: 0.25, most: 4, step: "any" },
    }),
  ];
}

function panels() {
  return [
    panel("What does each statistic do?", fourBars("yes", "values", 1), said("values"), said("moved")),
    panel("What noise does each need?", fourBars("prior", "noise", 2), said("noise"), said("why")),
  ];
}

const question = "Outlier explorer: what does one salary do to each statistic, and what noise does each need?";
const truth = { value: ({ numbers }) => numbers.noise[0], text: (noise) => figure(noise, 2) };
export default explorer({ question, controls, panels, read, truth });
