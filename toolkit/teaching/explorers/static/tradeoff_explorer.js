// The tradeoff explorer: what does the same promise cost when each person keeps it, a shuffler, or a curator?
import { set, svg, write } from "../../../show/widgets/static/elements.js";
import { choices, epsilonSlider, explorer, figure, fill, inPoints, last, nearest, panel, player, said, slider, threeDigits } from "../../../show/widgets/static/kit.js";
import { chart, niceAbove, picture, scale } from "../../../show/widgets/static/pictures.js";

const WAYS = ["direct", "central", "shuffled", "local"];
const KINDS = { direct: "directly", central: "central", shuffled: "shuffled", local: "local" }; // classes that give colours

/** The sentences of one setting, with the words of Python. */
export function reading(words, row) {
  const values = { alone: figure(row.alone), goal: figure(100 * row.goal, 0) };
  for (const way of WAYS) {
    values[way] = inPoints(100 * row.margins[way]);
    values[`${way}_n`] = figure(threeDigits(row.needed[way]), 0);
  }
  return fill(words, values);
}

function placesOf(table, { epsilon, prevalence, n, goal }) {
  return {
    epsilon: nearest(table.epsilons, epsilon),
    prevalence: nearest(table.prevalences, prevalence),
    n: nearest(table.sizes, n),
    goal: nearest(table.goals, goal),
  };
}

/** The row of this very setting where Python has sent it, else one of the table, in the same form. */
export function rowFor(table, exact, chosen) {
  const same = ["epsilon", "prevalence", "n", "goal"].every((name) => exact[name] === chosen[name]);
  if (same) return exact;
  const at = placesOf(table, chosen);
  const row = { epsilon: table.epsilons[at.epsilon], n: table.sizes[at.n], alone: table.alone[at.epsilon][at.n] };
  const [margins, needed] = [{}, {}];
  for (const way of WAYS) {
    margins[way] = table.margins[way][at.epsilon][at.prevalence][at.n];
    needed[way] = table.needed[way][at.epsilon][at.prevalence][at.goal];
  }
  return { ...row, prevalence: table.prevalences[at.prevalence], goal: table.goals[at.goal], margins, needed };
}

function read(model, { epsilon, n, prevalence, margin }) {
  const table = model.get("table");
  const row = rowFor(table, model.get("row"), { epsilon, n, prevalence, goal: margin });
  const at = placesOf(table, row);
  const curve = (way) => table.sizes.map((size, i) => [size, 100 * table.margins[way][at.epsilon][at.prevalence][i]]);
  const numbers = {
    margins: WAYS.map((way) => 100 * row.margins[way]),
    curves: WAYS.map(curve), // of the nearest epsilon of the table; the dots are those of the very setting
    n: row.n,
    goal: 100 * row.goal,
    needed: threeDigits(row.needed.local),
    outcomes: table.outcomes,
  };
  return { numbers, sentences: reading(table.words, row), shown: { epsilon: row.epsilon, n: row.n, prevalence, margin } };
}

/** The four intervals around the truth, and a dot where a hypothetical survey falls. */
function spreads(names) {
  const [left, right, floor] = [64, 336, 101];
  const labels = WAYS.map((way, i) => svg("text", { x: left - 6, y: 16 + 24 * i, "text-anchor": "end" }, names[way]));
  const shapes = WAYS.map((way, i) => svg("rect", { y: 6 + 24 * i, height: 12, rx: 2, class: KINDS[way] }));
  const dots = WAYS.map((_, i) => svg("circle", { cy: 12 + 24 * i, r: 4.5, class: "outcome" }));
  const notes = WAYS.map((_, i) => svg("text", { y: 16 + 24 * i, class: "tick beyond" }));
  const middle = (left + right) / 2;
  const truth = svg("line", { x1: middle, x2: middle, y1: 0, y2: floor, class: "guess" });
  const axis = svg("line", { x1: left, x2: right, y1: floor, y2: floor, class: "axis" });
  const tick = (x, anchor) => svg("text", { x, y: floor + 13, "text-anchor": anchor, class: "tick" });
  const ticks = [tick(left, "start"), tick(middle, "middle"), tick(right, "end")];
  const element = picture(floor + 17, ...labels, axis, ...shapes, truth, ...ticks, ...dots, ...notes);
  let [across, most] = [() => middle, 100];
  return {
    element,
    mark(places) {
      places.forEach((place, i) => {
        const beyond = place > most ? "off the axis →" : place < -most ? "← off the axis" : "";
        set(dots[i], { cx: across(place), "data-beyond": beyond });
        set(notes[i], { x: across(place) + (place > 0 ? -8 : 8), "text-anchor": place > 0 ? "end" : "start" });
        write(notes[i], beyond);
      });
    },
    draw({ numbers: { margins }, sentences }) {
      most = Math.min(niceAbove(Math.max(...margins)), 100);
      across = scale({ from: -most, to: most, start: left, end: right });
      margins.map((margin) => [across(-margin), across(margin)]).forEach(([low, high], i) => {
        set(shapes[i], { x: low, width: Math.max(high - low, 1.5) });
      });
      [`−${figure(most, 0)} points`, "truth", `+${figure(most, 0)} points`].forEach((text, i) => write(ticks[i], text));
      set(element, { "aria-label": sentences.margins });
    },
  };
}

/** The margin of each way over the number of people, with the chosen number and the margin to reach. */
function curves() {
  const x = { from: 100, to: 100000, log: true, ticks: [100, 1000, 10000, 100000].map((at) => ({ at, text: figure(at, 0) })) };
  const y = { from: 0.05, to: 100, log: true, ticks: [0.1, 1, 10, 100].map((at) => ({ at, text: `${at}` })) };
  const plot = chart({ x, y, unit: "± points of margin, by respondents", height: 116, headroom: 16, width: 284 });
  const lines = WAYS.map((way) => plot.line(KINDS[way]));
  const [goal, drop] = [plot.line("goal"), plot.drop()];
  const dots = WAYS.map((way) => plot.dot(KINDS[way]));
  return {
    element: plot.element,
    draw({ numbers, sentences }) {
      numbers.curves.forEach((curve, i) => plot.trace(lines[i], curve));
      plot.trace(goal, [x.from, x.to].map((end) => [end, numbers.goal]));
      numbers.margins.forEach((margin, i) => plot.put(dots[i], numbers.n, margin));
      plot.fall(drop, numbers.n, y.to);
      set(plot.element, { "aria-label": sentences.needed });
    },
  };
}

function controls(model) {
  const table = model.get("table");
  const goals = table.goals.map((value) => ({ label: figure(100 * value, 0), value }));
  return [
    epsilonSlider(table.epsilons, 0.05),
    slider({
      name: "n",
      label: "Respondents",
      ends: ["few", "many"],
      steps: () => table.sizes,
      words: (value) => `${figure(value, 0)} respondents`,
      box: { label: "Number of respondents, exactly", least: table.sizes[0], most: last(table.sizes), step: 1, whole: true },
    }),
    slider({
      name: "prevalence",
      label: "Guess of yes",
      ends: ["rare", "common"],
      steps: () => table.prevalences,
      words: (value) => `${figure(100 * value, 0)} percent`,
      text: (value) => `${figure(100 * value, 0)} %`,
    }),
    choices({ name: "margin", lead: "wanted margin, ± points", options: goals }),
  ];
}

function panels(model) {
  const table = model.get("table");
  const ranges = spreads(table.ways);
  const show = (place, { numbers }) => ranges.mark(numbers.outcomes[place].map((z, i) => z * numbers.margins[i]));
  const play = player({ label: "Ask again and again", count: table.outcomes.length, show });
  return [
    panel("How precise are these people?", ranges, play, said("margins"), said("trust")),
    panel("How many people are needed?", curves(), said("needed"), said("order")),
  ];
}

const question = "Tradeoff explorer: what does the same promise cost when each person keeps it, a shuffler, or a curator?";
const truth = { value: ({ numbers }) => numbers.needed, text: (people) => figure(people, 0) };
export default explorer({ question, controls, panels, read, truth });
