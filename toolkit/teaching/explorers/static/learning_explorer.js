// The learning explorer: how often is a private classifier right, by people, epsilon and penalty? All fits were made in Python.
import { set } from "../../../show/widgets/static/elements.js";
import { explorer, figure, fill, last, nearest, panel, said, slider } from "../../../show/widgets/static/kit.js";
import { bars, chart } from "../../../show/widgets/static/pictures.js";

const NAMES = ["without privacy", "objective", "on the weights", "most frequent"];
const KEYS = ["plain", "objective", "output", "base"];
const digits = (value, count) => String(Number(value.toPrecision(count)));

/** Everything shown for one setting: the numbers, and the sentences that Python worded. */
export function reading(words, row) {
  const values = { people: figure(row.people, 0), epsilon: digits(row.epsilon, 4), strength: digits(row.strength, 4), fits: figure(row.fits, 0) };
  KEYS.forEach((key, i) => (values[key] = figure(row.right[i], 1)));
  const [own_right, own_output_right] = row.own_right.map((share) => figure(share, 1));
  Object.assign(values, { own: digits(row.own[0], 4), own_output: digits(row.own[1], 2), own_right, own_output_right, most: digits(row.most, 2) });
  return { numbers: row, sentences: fill(words, values) };
}

/** The row of this very setting where Python has sent it, else the nearest of the table. */
export function rowFor(table, exact, { people, epsilon, strength }) {
  if (exact.people === people && exact.epsilon === epsilon && exact.strength === strength) return exact;
  return table.rows[nearest(table.people, people)][nearest(table.strengths, strength)][nearest(table.epsilons, epsilon)];
}

function read(model, chosen) {
  const table = model.get("table");
  const row = rowFor(table, model.get("row"), chosen);
  const { people, epsilon, strength } = row;
  const { numbers, sentences } = reading(table.words, row);
  return { numbers: { ...numbers, epsilons: table.epsilons }, sentences, shown: { people, epsilon, strength } };
}

/** Right answers along epsilon: noise in the objective drawn through, on the weights dashed; the chosen point. */
function along(epsilons) {
  const x = { from: epsilons[0], to: last(epsilons), log: true, ticks: epsilons.map((at) => ({ at, text: String(at) })) };
  const y = { from: 40, to: 100, ticks: [50, 75, 100].map((at) => ({ at, text: `${at}` })) };
  const plot = chart({ x, y, unit: "right of 100, over ε", headroom: 18 });
  const [output, objective, drop, point] = [plot.line("other"), plot.line("curve"), plot.drop(), plot.dot("point")];
  return {
    element: plot.element,
    draw({ numbers, sentences }) {
      const points = (curve) => numbers.epsilons.map((epsilon, i) => [epsilon, curve[i]]);
      plot.trace(objective, points(numbers.curves[0]));
      plot.trace(output, points(numbers.curves[1]));
      plot.put(point, numbers.epsilon, numbers.right[1]);
      plot.fall(drop, numbers.epsilon, numbers.right[1]);
      set(plot.element, { "aria-label": sentences.curve });
    },
  };
}

function controls() {
  const steps = (name) => (model) => model.get("table")[name];
  const number = (value) => String(Number(value.toPrecision(4)));
  return [
    slider({
      name: "people",
      label: "People",
      ends: ["few", "many"],
      steps: steps("people"),
      words: (value) => `${figure(value, 0)} people`,
      text: (value) => figure(value, 0),
    }),
    slider({
      name: "epsilon",
      label: "Epsilon (ε)",
      ends: ["more private", "more precise"],
      steps: steps("epsilons"),
      words: (value) => `epsilon ${number(value)}`,
      text: number,
    }),
    slider({
      name: "strength",
      label: "C",
      ends: ["more penalty", "less penalty"],
      steps: steps("strengths"),
      words: (value) => `C ${number(value)}`,
      text: number,
    }),
  ];
}

function panels(model) {
  const shares = bars({
    names: NAMES,
    kinds: ["prior", "yes", "no", "prior"],
    values: ({ right }) => right,
    text: (value) => figure(value, 1),
    label: (sentences) => sentences.right,
    most: 110,
    left: 100,
  });
  return [
    panel("Right for how many of 100 others?", shares, said("right"), said("fits")),
    panel("What would more ε bring?", along(model.get("table").epsilons), said("curve"), said("penalty")),
  ];
}

const question = "Explorer of private learning: how often is a private classifier right, by people, epsilon and penalty?";
const truth = { value: ({ numbers }) => numbers.right[1], text: (right) => figure(right, 1) };
export default explorer({ question, controls, panels, read, truth });
