// The explorer of weeks: a total is published every week. How far off is each way to do it, for one loss in all?
import { set, svg } from "../../../show/widgets/static/elements.js";
import { explorer, figure, fill, nearest, panel, said, slider } from "../../../show/widgets/static/kit.js";
import { bars, chart } from "../../../show/widgets/static/pictures.js";

const NAMES = ["fresh noise", "binary tree", "best tree", "square root, δ"];
const KEYS = ["share", "fresh", "binary", "tree", "root"];

/** Everything shown for one setting: the numbers, and the sentences that Python worded. */
export function reading(words, row) {
  const values = { weeks: figure(row.weeks, 0), epsilon: String(Number(row.epsilon.toPrecision(4))), nodes: figure(row.nodes, 0) };
  KEYS.forEach((key, i) => (values[key] = figure(row.errors[i])));
  values.group = figure(row.weeks * row.epsilon);
  return { numbers: row, sentences: fill(words, values) };
}

/** The row of this very setting where Python has sent it, else the nearest of the table. */
export function rowFor(table, exact, { weeks, epsilon }) {
  if (exact.weeks === weeks && exact.epsilon === epsilon) return exact;
  return table.rows[nearest(table.weeks, weeks)][nearest(table.epsilons, epsilon)];
}

function read(model, chosen) {
  const row = rowFor(model.get("table"), model.get("row"), chosen);
  return { ...reading(model.get("table").words, row), shown: { weeks: row.weeks, epsilon: row.epsilon } };
}

/** Four bars; the longest fills the width, but for its number. */
function fourBars() {
  let written = [];
  return bars({
    names: NAMES,
    kinds: NAMES.map(() => "yes"),
    values: ({ errors }) => {
      written = errors.slice(1);
      return written.map((value) => (100 * value) / Math.max(...written));
    },
    text: (_, i) => figure(written[i]),
    label: ({ errors }) => errors,
    most: 124,
    left: 100,
  });
}

/** The standard deviation after every week: of fresh noise dashed, of the best tree drawn through. */
function everyWeek() {
  const plot = chart({ x: { from: 0, to: 1, ticks: [] }, y: { from: 0, to: 1, ticks: [] }, unit: "standard deviation", headroom: 18 });
  const [fresh, tree] = [plot.line("other"), plot.line("curve")];
  const text = (x, y, anchor) => plot.element.appendChild(svg("text", { x, y, "text-anchor": anchor, class: "tick" }));
  const [most, first, last] = [text(29, plot.up(1) + 4, "end"), text(34, plot.up(0) + 14, "start"), text(334, plot.up(0) + 14, "end")];
  return {
    element: plot.element,
    draw({ numbers, sentences }) {
      const tallest = Math.max(...numbers.curves.flat());
      const points = (curve) => numbers.places.map((week, i) => [week / numbers.weeks, curve[i] / tallest]);
      plot.trace(fresh, points(numbers.curves[0]));
      plot.trace(tree, points(numbers.curves[1]));
      most.textContent = figure(tallest);
      first.textContent = "week 1";
      last.textContent = `week ${figure(numbers.weeks, 0)}`;
      set(plot.element, { "aria-label": sentences.weeks });
    },
  };
}

function controls() {
  const table = (model) => model.get("table");
  return [
    slider({
      name: "weeks",
      label: "Weeks",
      ends: ["a month", "ten years"],
      steps: (model) => table(model).weeks,
      words: (value) => `${figure(value, 0)} weeks`,
      box: { label: "Weeks, exactly", least: 1, most: 520, step: 1, whole: true },
    }),
    slider({
      name: "epsilon",
      label: "Epsilon (ε)",
      ends: ["more private", "more precise"],
      steps: (model) => table(model).epsilons,
      words: (value) => `epsilon ${figure(value)} for all weeks`,
      box: { label: "Epsilon, exactly", least: 0.1, most: 4, step: "any" },
    }),
  ];
}

function panels() {
  return [
    panel("How far off, at most?", fourBars(), said("errors"), said("root")),
    panel("And after every week?", everyWeek(), said("weeks"), said("level")),
  ];
}

const question = "Explorer of weeks: how far off is a total that is published every week, by each way to add noise?";
const truth = { value: ({ numbers }) => numbers.errors[2], text: (error) => figure(error) };
export default explorer({ question, controls, panels, read, truth });
