// The composition explorer: what do many releases cost together?
import { set, svg } from "../../../show/widgets/static/elements.js";
import { atMost, bound, explorer, figure, fill, nearest, panel, said, slider } from "../../../show/widgets/static/kit.js";
import { bars, chart, iconArray } from "../../../show/widgets/static/pictures.js";

const RULES = ["added up", "advanced", "zCDP", "optimal"];

/** What a cell of the table holds: the totals of the four rules, the factor of the odds, and how many of 100 guesses are right. */
function unpack(cell) {
  const totals = cell.slice(0, 4);
  return { totals, best: Math.min(...totals), factor: cell[4], right: cell[5] };
}

/** Everything shown for one setting: the numbers, and the sentences that Python worded. */
export function reading(words, row) {
  const { totals, best, factor, right } = unpack(row.cell);
  const curve = row.curve.map(unpack);
  const values = {
    releases: figure(row.releases, 0),
    epsilon: String(Number(row.epsilon.toPrecision(4))),
    basic: bound(totals[0]),
    best: bound(best),
    one_in: figure(1 / row.delta, 0),
    right: atMost(right),
    factor: bound(factor),
    one: bound(curve[0].factor),
  };
  const numbers = { totals, best, right: Math.ceil(right - 1e-9), curve, releases: row.releases };
  return { numbers, sentences: fill(words, values) };
}

/** The row of this very setting where Python has sent it, else the nearest of the table. */
export function rowFor(table, exact, { releases, epsilon, delta }) {
  if (exact.releases === releases && exact.epsilon === epsilon && exact.delta === delta) return exact;
  const failures = table.deltas.map((value) => Math.log(value)); // steps of a factor, so the nearest by factor
  const [d, e, k] = [nearest(failures, Math.log(delta)), nearest(table.epsilons, epsilon), nearest(table.releases, releases)];
  const curve = table.cells[d][e];
  return { releases: table.releases[k], epsilon: table.epsilons[e], delta: table.deltas[d], cell: curve[k], curve };
}

function read(model, chosen) {
  const row = rowFor(model.get("table"), model.get("row"), chosen);
  const shown = { releases: row.releases, epsilon: row.epsilon, delta: row.delta };
  return { ...reading(model.get("table").words, row), shown };
}

/** The four totals as bars; the longest fills the width, whatever it is, but for its number. */
function fourBars() {
  let written = [];
  return bars({
    names: RULES,
    kinds: ["prior", "yes", "yes", "yes"],
    values: ({ totals }) => {
      written = totals;
      return totals.map((total) => (100 * total) / Math.max(...totals));
    },
    text: (_, i) => `ε = ${bound(written[i])}`,
    label: ({ total }) => total,
    most: 118,
    left: 66,
  });
}

/** The best total, and dashed what is added up, over the number of releases. */
function growth(releases) {
  const most = releases[releases.length - 1];
  const x = { from: 0, to: 1.05 * most, ticks: [1, 52, 100, 200, 365].map((at) => ({ at, text: `${at}` })) };
  const y = { from: 0, to: 1, ticks: [] };
  const plot = chart({ x, y, unit: "total ε over the number of releases", headroom: 18 });
  const [sum, curve, drop, point] = [plot.line("direct"), plot.line("curve"), plot.drop(), plot.dot("point")];
  const end = plot.element.appendChild(svg("text", { x: 29, "text-anchor": "end", class: "tick" }));
  return {
    element: plot.element,
    draw({ numbers, sentences }) {
      const tallest = 1.15 * Math.max(...numbers.curve.map(({ best }) => best), numbers.best);
      const points = (height) => releases.map((k, i) => [k, height(numbers.curve[i]) / tallest]);
      plot.trace(sum, points(({ totals }) => totals[0]));
      plot.trace(curve, points(({ best }) => best));
      plot.put(point, numbers.releases, numbers.best / tallest);
      plot.fall(drop, numbers.releases, numbers.best / tallest);
      const last = numbers.curve[numbers.curve.length - 1].best;
      set(end, { y: plot.up(last / tallest) + 4 });
      end.textContent = bound(last);
      set(plot.element, { "aria-label": sentences.total });
    },
  };
}

function controls() {
  const steps = (name) => (model) => model.get("table")[name];
  return [
    slider({
      name: "releases",
      label: "Releases",
      ends: ["more private", "more said"],
      steps: steps("releases"),
      words: (value) => `${figure(value, 0)} releases`,
      box: { label: "Releases, exactly", least: 1, most: 365, step: 1, whole: true },
    }),
    slider({
      name: "epsilon",
      label: "ε of each",
      ends: ["more private", "more precise"],
      steps: steps("epsilons"),
      words: (value) => `epsilon ${figure(value)}`,
      box: { label: "Epsilon of each, exactly", least: 0.01, most: 2, step: "any" },
    }),
    slider({
      name: "delta",
      label: "δ in all",
      ends: ["more private", "less private"],
      steps: steps("deltas"),
      words: (value) => `1 in ${figure(1 / value, 0)}`,
      box: { label: "Delta, exactly", least: 1e-12, most: 0.01, step: "any" },
    }),
  ];
}

function panels(model) {
  const people = iconArray({ count: ({ right }) => right, label: ({ icons }) => icons });
  return [
    panel("What do they cost together?", fourBars(), said("total"), growth(model.get("table").releases), said("slack")),
    panel("What does that mean for one person?", people, said("icons"), said("odds")),
  ];
}

const question = "Composition explorer: what do many releases cost together?";
const truth = { value: ({ numbers }) => numbers.best, text: (best) => bound(best) };
export default explorer({ question, controls, panels, read, truth });
