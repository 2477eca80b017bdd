// The reconstruction game: how many secrets do published sums give away? All games were played in Python.
import { set } from "../../../show/widgets/static/elements.js";
import { atMost, bound, explorer, figure, fill, nearest, panel, player, said, slider } from "../../../show/widgets/static/kit.js";
import { chart, iconArray } from "../../../show/widgets/static/pictures.js";

const NONE = 0.25; // where no noise at all stands on a logarithmic axis

/** Everything shown for one setting and one game: the numbers, and the sentences that Python worded. */
export function reading(table, row, game = 0) {
  const bare = row.epsilon === null;
  const values = {
    found: row.found[game],
    games: row.found.length,
    mean: figure(row.mean, 0),
    noise: String(Number(row.noise.toPrecision(4))),
    epsilon: bare ? "" : bound(row.epsilon),
    limit: atMost(row.limit),
  };
  const { promise, vain, bare: none, ...sentences } = fill(table.words, values);
  sentences.promise = bare ? none : values.limit === "100" ? vain : promise;
  return { numbers: { row, game }, sentences };
}

/** The row of this very setting where Python has sent it, else the nearest of the table. */
export function rowFor(table, exact, { sums, noise }) {
  if (exact.sums === sums && exact.noise === noise) return exact;
  return table.rows[nearest(table.sums, sums)][nearest(table.noises, noise)];
}

function read(model, chosen) {
  const table = model.get("table");
  const row = rowFor(table, model.get("row"), chosen);
  const curve = table.rows[nearest(table.sums, row.sums)].map(({ noise, mean }) => [Math.max(noise, NONE), mean]);
  const { numbers, sentences } = reading(table, row);
  return { numbers: { ...numbers, table, curve }, sentences, shown: { sums: row.sums, noise: row.noise } };
}

/** A hundred people, filled where the attacker is right, and a button that plays the other games. */
function people() {
  const icons = iconArray({ count: () => 0, label: ({ found }) => found });
  const words = said("found");
  let [place, last] = [0, undefined];
  function show() {
    const { row, table } = last.numbers;
    const { sentences } = reading(table, row, place);
    Array.from(row.right[place]).forEach((bit, i) => set(icons.element.children[i], { class: bit === "1" ? "yes" : "no" }));
    set(icons.element, { "aria-label": sentences.found });
    words.element.textContent = sentences.found;
  }
  function draw(now) {
    last = now;
    show();
  }
  const games = (count) =>
    player({
      label: "Play other games",
      count,
      show: (now, seen) => {
        [place, last] = [now, seen];
        show();
      },
      every: 900,
    });
  return { icons: { element: icons.element, draw }, words: { element: words.element, draw: () => undefined }, games };
}

/** The mean of all games over the noise, with the chosen point; dashed: a coin. */
function curve() {
  const x = { from: NONE, to: 1600, log: true, ticks: [0, 1, 10, 100, 1000].map((at) => ({ at: at || NONE, text: `${at}` })) };
  const y = { from: 40, to: 102, ticks: [50, 75, 100].map((at) => ({ at, text: `${at}` })) };
  const plot = chart({ x, y, unit: "secrets found of 100, over the noise on each sum", headroom: 18 });
  const [coin, line, drop, point] = [plot.line("direct"), plot.line("curve"), plot.drop(), plot.dot("point")];
  plot.trace(coin, [[NONE, 50], [1600, 50]]);
  return {
    element: plot.element,
    draw({ numbers, sentences }) {
      const [noise, mean] = [Math.max(numbers.row.noise, NONE), numbers.row.mean];
      plot.trace(line, numbers.curve);
      plot.put(point, noise, mean);
      plot.fall(drop, noise, mean);
      set(plot.element, { "aria-label": sentences.games });
    },
  };
}

function controls() {
  return [
    slider({
      name: "sums",
      label: "Sums",
      ends: ["more private", "more said"],
      steps: (model) => model.get("table").sums,
      words: (value) => `${figure(value, 0)} sums`,
      box: { label: "Number of sums, exactly", least: 1, most: 1600, step: 1, whole: true },
    }),
    slider({
      name: "noise",
      label: "Noise on each",
      ends: ["more precise", "more private"],
      steps: (model) => model.get("table").noises,
      words: (value) => `scale ${Number(value.toPrecision(4))}`,
      box: { label: "Noise, exactly", least: 0, most: 1600, step: "any" },
    }),
  ];
}

function panels(model) {
  const { icons, words, games } = people();
  const play = games(model.get("row").found.length);
  return [
    panel("Whose secret is out?", icons, words, play, said("games")),
    panel("How much noise stops it?", curve(), said("noise"), said("promise")),
  ];
}

const question = "Reconstruction game: how many secrets do published sums give away?";
const truth = { value: ({ numbers }) => numbers.row.mean, text: (mean) => figure(mean, 0) };
export default explorer({ question, controls, panels, read, truth });
