// The mechanism explorer: how does noise hide one person, and how far off is a release?
import { set, svg, write } from "../../../show/widgets/static/elements.js";
import { bound, choices, epsilonSlider, explorer, figure, fill, nearest, panel, player, said, significant, slider } from "../../../show/widgets/static/kit.js";
import { chart, dotplot, niceAbove } from "../../../show/widgets/static/pictures.js";

const SHAPES = { laplace: "laplace", analytic: "gaussian", classic: "gaussian" };
const NAMES = { laplace: "Laplace", analytic: "Gaussian", classic: "Gaussian, classic formula" };

/** A delta as Python writes it. */
function small(delta) {
  return delta < 1e-4 ? delta.toExponential().replace(/e-(\d)$/, "e-0$1") : `${delta}`;
}

/** The sentences of one setting, with the words of Python. */
export function reading(words, row) {
  const pure = row.law === "laplace";
  const values = {
    factor: bound(row.factor),
    but: pure ? "" : `, but for some that exceed this by at most ${small(row.delta)} in all`,
    level: figure(100 * row.level, 0),
    error: significant(row.error),
    times: significant(row.error / row.sensitivity),
    scale: significant(row.ratio * row.sensitivity),
    what: pure ? "its mean size" : "its standard deviation",
    laplace: significant(row.errors.laplace),
    analytic: significant(row.errors.analytic),
    classic: row.errors.classic === undefined ? "not proven" : `±\u00a0${significant(row.errors.classic)}`,
  };
  return fill(words, values);
}

/** The rows of a law; those of the nearest delta where it has one. */
function rowsOf(table, law, delta) {
  const found = table.laws.filter((entry) => entry.law === law);
  return found[nearest(found.map((entry) => entry.delta), delta)];
}

/** The row of this very setting where Python has sent it, else one of the table, in the same form. */
export function rowFor(table, exact, { law, epsilon, delta, sensitivity, level }) {
  const same = exact.law === law && exact.asked === epsilon && exact.sensitivity === sensitivity;
  if (same && exact.delta === delta && exact.level === level) return exact;
  const size = nearest(table.sensitivities, sensitivity);
  const often = nearest(table.levels, level);
  const at = (entry, value) => entry.rows[nearest(entry.rows.map((row) => row.epsilon), value)];
  const entry = rowsOf(table, law, delta);
  const row = at(entry, epsilon);
  const errors = {};
  for (const name of Object.keys(SHAPES)) {
    const other = at(rowsOf(table, name, delta), row.epsilon);
    if (other.epsilon === row.epsilon) errors[name] = other.errors[size][often];
  }
  const known = { sensitivity: table.sensitivities[size], level: table.levels[often] };
  return { ...row, ...known, law, delta: law === "laplace" ? delta : entry.delta, error: errors[law], errors };
}

function read(model, chosen) {
  const table = model.get("table");
  const row = rowFor(table, model.get("row"), chosen);
  const { epsilon, delta, sensitivity, level, ratio, error } = row;
  const shape = SHAPES[row.law];
  const numbers = {
    shift: 1 / ratio,
    shape: table.noise.map((place, i) => [place, table.shapes[shape][i]]),
    shares: table.noise.map((place, i) => [place, row.shares[i]]),
    factor: bound(row.factor),
    dots: table.dots[shape].map((dot) => dot * ratio * sensitivity),
    draws: table.draws[shape],
    width: ratio * sensitivity,
    error,
    reach: niceAbove(1.3 * error),
  };
  return { numbers, sentences: reading(table.words, row), shown: { ...chosen, epsilon, delta, sensitivity, level } };
}

const ACROSS = { from: -6, to: 11 }; // in units of the noise
const PLACE = { left: 52, width: 284 };

/** The likelihood of every release with one record and with another, and a mark where a release falls. */
function neighbors() {
  const x = { ...ACROSS, ticks: [{ at: 0, text: "truth" }] };
  const plot = chart({ x, y: { from: 0, to: 1.15, ticks: [] }, headroom: 20, ...PLACE });
  const [one, other, mark] = [plot.line("curve"), plot.line("other"), plot.drop()];
  const key = (place, kind, text) => svg("text", { x: place, y: 12, "text-anchor": "end", class: `key ${kind}` }, text);
  plot.element.append(key(244, "yes", "— with one record"), key(336, "no", "┄ with another"));
  return {
    element: plot.element,
    mark: (place) => plot.fall(mark, place, 1.15),
    draw({ numbers, sentences }) {
      plot.trace(one, numbers.shape);
      plot.trace(other, numbers.shape.map(([place, height]) => [place + numbers.shift, height]));
      set(plot.element, { "aria-label": `Two curves of likelihood, one for each of two records. ${sentences.ratio}` });
    },
  };
}

/** How many times likelier each release is with one record than with the other; dashed: what epsilon promises. */
function losses() {
  const y = { from: -1.6, to: 1.6, ticks: [1, 0, -1].map((at) => ({ at, text: "1" })) };
  const x = { ...ACROSS, ticks: [] };
  const plot = chart({ x, y, unit: "times likelier with one record", height: 84, headroom: 16, ...PLACE });
  const [top, low, curve] = [plot.line("direct"), plot.line("direct"), plot.line("curve ink")];
  const ticks = plot.heights;
  return {
    element: plot.element,
    draw({ numbers, sentences }) {
      plot.trace(top, [ACROSS.from, ACROSS.to].map((end) => [end, 1]));
      plot.trace(low, [ACROSS.from, ACROSS.to].map((end) => [end, -1]));
      plot.trace(curve, numbers.shares);
      write(ticks[0], numbers.factor);
      write(ticks[2], `1 / ${numbers.factor}`);
      set(plot.element, { "aria-label": sentences.ratio });
    },
  };
}

/** The noise as dots, with the error as a band and a mark where a release falls. */
function noise() {
  const label = ({ error, scale: size }) => `${error} ${size}`;
  const plot = dotplot({ values: ({ dots }) => dots, reach: ({ reach }) => reach, label });
  const band = svg("rect", { y: 0, height: plot.height, class: "band" });
  const mark = svg("line", { y1: 0, y2: plot.height, class: "guess" });
  plot.element.prepend(band);
  plot.element.append(mark);
  return {
    element: plot.element,
    mark: (value) => set(mark, { x1: plot.across(value), x2: plot.across(value) }),
    draw(reading, ...rest) {
      plot.draw(reading, ...rest);
      const { error } = reading.numbers;
      set(band, { x: plot.across(-error), width: plot.across(error) - plot.across(-error) });
    },
  };
}

function controls(model) {
  const table = model.get("table");
  const deltas = table.deltas.map((value) => ({ label: small(value), value }));
  const level = (value) => ({ label: `${figure(100 * value, 0)} %`, value });
  return [
    choices({ name: "law", lead: "noise", options: Object.entries(NAMES).map(([value, label]) => ({ label, value })) }),
    epsilonSlider(table.epsilons, 0.05),
    choices({ name: "delta", lead: "δ, Gaussian only (small: private)", options: deltas }),
    slider({
      name: "sensitivity",
      label: "Sensitivity",
      ends: ["less noise", "more noise"],
      steps: () => table.sensitivities,
      words: (value) => `one person changes at most ${value}`,
      box: { label: "Sensitivity, exactly", least: 0.001, most: 1000000, step: 0.1 },
    }),
    choices({ name: "level", lead: "error that holds in", options: table.levels.map(level) }),
  ];
}

function panels(model) {
  const [curves, dots] = [neighbors(), noise()];
  const count = model.get("table").draws.laplace.length;
  function show(place, { numbers }) {
    curves.mark(numbers.draws[place]);
    dots.mark(numbers.draws[place] * numbers.width);
  }
  const play = player({ label: "Release again and again", count, show });
  return [
    panel("How private is one person?", curves, said("ratio"), losses()),
    panel("How far off is a release?", dots, play, said("error"), said("scale"), said("others")),
  ];
}

const question = "Mechanism explorer: how does noise hide one person, and how far off is a release?";
const truth = { value: ({ numbers }) => numbers.error, text: (error) => significant(error) };
export default explorer({ question, controls, panels, read, truth });
