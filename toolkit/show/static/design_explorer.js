// The design explorer: looks up what Python computed and draws it. No formula of a design is written here, and nothing is
// asked of the kernel while a slider moves; what was chosen is sent when the slider is let go.

const SVG = "http://www.w3.org/2000/svg";
const TALLEST = 50; // points; wider margins say nothing, and would flatten the curve

// ---------------------------------------------------------------- numbers and words

/** A number for people, as `figure` in table.py writes it. */
export function figure(value, decimals) {
  if (decimals === undefined) decimals = value < 10 ? 2 : value < 100 ? 1 : 0;
  else if (value > 0 && value < 1) decimals = Math.max(decimals, 1);
  const rounded = Math.floor(value * 10 ** decimals + 0.5) / 10 ** decimals; // halves go up, here and in Python
  return rounded.toLocaleString("en-US", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
}

/** A factor that is promised, rounded up, as `bound` in table.py. */
export function bound(factor) {
  const decimals = factor < 10 ? 2 : factor < 100 ? 1 : 0;
  return figure(Math.ceil(factor * 10 ** decimals - 1e-9) / 10 ** decimals, decimals);
}

/** A chance in per cent that is never rounded to impossible or to certain, as `chance` in table.py. */
export function chance(percent) {
  if (percent > 0 && percent < 0.1) return "under 0.1";
  return percent >= 99.5 && percent < 100 ? figure(Math.floor(10 * percent) / 10, 1) : figure(percent, 0);
}

/** A number with all digits but the first three zero, as `three_digits` in table.py. */
export function threeDigits(value) {
  const unit = 10 ** Math.max(0, Math.floor(Math.log10(value)) - 2);
  return Math.floor(value / unit + 0.5) * unit;
}

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
    prior: figure(numbers.prior, 0),
    after_no: chance(numbers.afterNo),
    after_yes: chance(numbers.afterYes),
    margin: figure(numbers.margin, 1),
    direct: figure(numbers.direct, 1),
    n: figure(n, 0),
    needed: figure(threeDigits(n * row.multiplier[column]), 0),
    multiplier: figure(row.multiplier[column]),
  };
  const sentences = {};
  for (const [name, words] of Object.entries(table.words)) {
    sentences[name] = words.replace(/\{(\w+)\}/g, (_, key) => values[key]);
  }
  return { numbers, sentences };
}

/** Position of the entry nearest to a value. */
export function nearest(list, value) {
  let best = 0;
  list.forEach((entry, i) => {
    if (Math.abs(entry - value) < Math.abs(list[best] - value)) best = i;
  });
  return best;
}

// ---------------------------------------------------------------- elements

function html(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

function set(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
}

// JupyterLab's command mode takes arrow keys away from a focused element unless the element itself says no.
const KEYS = { "data-lm-suppress-shortcuts": "true" };

/** A labelled slider with words at both ends, and what stands to its right. */
function control(label, name, [left, right], beside) {
  const slider = html("input", { type: "range", min: 0, step: 1, "aria-label": label, "data-name": name, ...KEYS });
  const ends = [html("span", { class: "end" }, left), html("span", { class: "end" }, right)];
  const line = html("div", { class: "line" }, html("span", { class: "name" }, label), ends[0], slider, ends[1], beside);
  return { line, slider };
}

function box(label, name, least, most, step) {
  return html("input", { type: "number", min: least, max: most, step, "aria-label": label, "data-name": name, ...KEYS });
}

// ---------------------------------------------------------------- pictures; each returns how to redraw itself

/** A hundred people in five rows of twenty: filled where the report is yes, hollow where it is no. */
function icons() {
  const people = Array.from({ length: 100 }, (_, i) => {
    const [x, y] = [9 + 17 * (i % 20), 6 + 22 * Math.floor(i / 20)];
    const body = `M${x - 5},${y + 13} v-4 a5,5 0 0 1 10,0 v4 z`;
    return svg("g", {}, svg("circle", { cx: x, cy: y, r: 3.4 }), svg("path", { d: body }));
  });
  const picture = svg("svg", { viewBox: "0 0 342 112", role: "img", class: "icons" }, ...people);
  return {
    picture,
    draw({ yes }, { icons: label }) {
      people.forEach((person, i) => set(person, { class: i < yes ? "yes" : "no" }));
      set(picture, { "aria-label": label });
    },
  };
}

/** Three bars: the guess before, and what becomes of it after each report. */
function beliefs() {
  const names = ["before", "after “no”", "after “yes”"];
  const bars = names.map((_, i) => svg("rect", { x: 76, y: 5 + 22 * i, height: 14, class: ["prior", "no", "yes"][i] }));
  const ends = names.map((_, i) => svg("text", { y: 16 + 22 * i, class: "value" }));
  const labels = names.map((name, i) => svg("text", { x: 70, y: 16 + 22 * i, "text-anchor": "end" }, name));
  const picture = svg("svg", { viewBox: "0 0 342 68", role: "img" }, ...labels, ...bars, ...ends);
  return {
    picture,
    draw({ prior, afterNo, afterYes }, { belief }) {
      [prior, afterNo, afterYes].forEach((share, i) => {
        set(bars[i], { width: 2.1 * share });
        set(ends[i], { x: 82 + 2.1 * share });
        ends[i].textContent = `${chance(share)} %`;
      });
      set(picture, { "aria-label": belief });
    },
  };
}

/** Two intervals around the guess on a scale from 0 to 100 %: asking directly, and asking with the design. */
function intervals() {
  const across = (percent) => 76 + 2.5 * Math.min(Math.max(percent, 0), 100);
  const names = ["directly", "privately"];
  const labels = names.map((name, i) => svg("text", { x: 70, y: 16 + 24 * i, "text-anchor": "end" }, name));
  const bars = names.map((_, i) => svg("rect", { y: 6 + 24 * i, height: 12, rx: 2, class: ["prior", "yes"][i] }));
  const guess = svg("line", { y1: 0, y2: 52, class: "guess" });
  const scale = [0, 25, 50, 75, 100].map((tick) => {
    const [anchor, text] = tick === 100 ? ["end", "100 %"] : ["middle", `${tick}`];
    return svg("text", { x: across(tick), y: 66, "text-anchor": anchor, class: "tick" }, text);
  });
  const axis = svg("line", { x1: across(0), x2: across(100), y1: 53, y2: 53, class: "axis" });
  const picture = svg("svg", { viewBox: "0 0 342 70", role: "img" }, ...labels, axis, ...bars, guess, ...scale);
  return {
    picture,
    draw({ prior, direct, margin }, { margin: label }) {
      [direct, margin].forEach((reach, i) => {
        const [low, high] = [across(prior - reach), across(prior + reach)];
        set(bars[i], { x: low, width: Math.max(high - low, 1.5) });
      });
      set(guess, { x1: across(prior), x2: across(prior) });
      set(picture, { "aria-label": label });
    },
  };
}

/** The margin over epsilon, with the chosen point; dashed: asking directly. */
function tradeoff() {
  const [left, width, bottom, height] = [34, 300, 104, 92];
  const across = (epsilon, most) => left + (width * Math.min(epsilon, most)) / (most + 0.3);
  const up = (points) => bottom - (height * Math.min(points, TALLEST)) / TALLEST;
  const curve = svg("path", { class: "curve" });
  const direct = svg("line", { x1: left, x2: left + width, class: "direct" });
  const drop = svg("line", { y2: bottom, class: "guess" });
  const point = svg("circle", { r: 5.5, class: "point" });
  const words = (anchor, y, text) => svg("text", { x: left - 5, y, "text-anchor": anchor, class: "tick" }, text);
  const heights = [0, 25, 50].map((tick) => words("end", up(tick) + 4, `${tick}`));
  const axis = svg("path", { d: `M${left},${bottom - height} V${bottom} H${left + width}`, class: "axis" });
  const unit = svg("text", { x: left + 6, y: 14, class: "tick" }, "± points of margin");
  const ends = [1, 2, 3, 4, 5].map((tick) => words("middle", bottom + 14, `ε = ${tick}`));
  const parts = [axis, unit, ...heights, ...ends, direct, curve, drop, point];
  const picture = svg("svg", { viewBox: "0 0 342 122", role: "img" }, ...parts);
  return {
    picture,
    draw(numbers, { margin: label, people }, epsilon) {
      const most = numbers.curve[numbers.curve.length - 1][0];
      const here = across(epsilon, most);
      ends.forEach((text, i) => set(text, { x: across(i + 1, most) }));
      const visible = numbers.curve.filter(([, margin]) => margin <= TALLEST);
      set(curve, { d: visible.length ? "M" + visible.map(([x, y]) => `${across(x, most)},${up(y)}`).join("L") : "" });
      set(direct, { y1: up(numbers.direct), y2: up(numbers.direct) });
      set(point, { cx: here, cy: up(numbers.margin) });
      set(drop, { x1: here, x2: here, y1: up(numbers.margin) });
      set(picture, { "aria-label": `${label} ${people}` });
    },
  };
}

// ---------------------------------------------------------------- the widget

/** All elements, not yet filled. */
function build(table, limits) {
  const boxes = {
    epsilon: box("Epsilon, exactly", "epsilon-box", limits.least, limits.most, 0.05),
    n: box("Number of respondents, exactly", "n-box", 2, 1000000, 1),
  };
  const guess = html("output", { class: "guess-box" });
  const controls = {
    epsilon: control("Epsilon (ε)", "epsilon", ["more private", "more precise"], boxes.epsilon),
    n: control("Respondents", "n", ["few", "many"], boxes.n),
    prevalence: control("Guess of yes", "prevalence", ["rare", "common"], guess),
  };
  const devices = table.devices.map(({ name, how }) => html("button", { type: "button", title: how, ...KEYS }, name));
  const pictures = { icons: icons(), beliefs: beliefs(), intervals: intervals(), tradeoff: tradeoff() };
  const said = {};
  for (const name of Object.keys(table.words)) said[name] = html("p", { "data-name": name });
  return { boxes, guess, controls, devices, pictures, said, root: arrange(controls, devices, pictures, said) };
}

function arrange(controls, devices, pictures, said) {
  const panel = (title, ...parts) => html("section", {}, html("h4", {}, title), ...parts);
  const question = "Design explorer: how private is each person, and how precise is the survey?";
  return html(
    "div",
    { class: "toolkit-explorer", role: "group", "aria-label": question },
    controls.epsilon.line,
    html("div", { class: "devices" }, "as private as", ...devices),
    controls.n.line,
    controls.prevalence.line,
    html(
      "div",
      { class: "panels" },
      panel("How private is each person?", pictures.icons.picture, said.icons, pictures.beliefs.picture, said.odds, said.belief),
      panel("How precise is the survey?", pictures.intervals.picture, said.margin, pictures.tradeoff.picture, said.people),
    ),
  );
}

/** Put one setting on the screen. */
function paint(parts, table, row, { n, prevalence }) {
  const { numbers, sentences } = reading(table, row, prevalence, n);
  for (const picture of Object.values(parts.pictures)) picture.draw(numbers, sentences, row.epsilon);
  for (const [name, line] of Object.entries(parts.said)) line.textContent = sentences[name];
  const guess = figure(numbers.prior, 0);
  slide(parts.controls.epsilon.slider, steps(table).epsilon, row.epsilon, `epsilon ${figure(row.epsilon)}`);
  slide(parts.controls.n.slider, steps(table).n, n, `${figure(n, 0)} respondents`);
  slide(parts.controls.prevalence.slider, steps(table).prevalence, prevalence, `${guess} percent`);
  parts.boxes.epsilon.value = Number(row.epsilon.toFixed(4));
  parts.boxes.n.value = n;
  parts.guess.textContent = `${guess} %`;
  parts.devices.forEach((button, i) => set(button, { "aria-pressed": row.epsilon === table.devices[i].epsilon }));
}

/** What each slider walks along. */
function steps(table) {
  return { epsilon: table.rows.map((row) => row.epsilon), n: table.sizes, prevalence: table.prevalences };
}

function slide(slider, list, value, words) {
  set(slider, { max: list.length - 1, "aria-valuetext": words });
  slider.value = nearest(list, value);
}

/** The row of this very epsilon where Python has sent it, else the nearest of the table. */
function rowFor(table, exact, epsilon) {
  if (exact.epsilon === epsilon && exact.margin.length === table.prevalences.length) return exact;
  return table.rows[nearest(steps(table).epsilon, epsilon)];
}

/** Call `choose(change, final)` for all that a reader does; a slider on its way is not yet final. */
function listen(parts, model, choose) {
  for (const [name, { slider }] of Object.entries(parts.controls)) {
    const moved = (final) => () => choose({ [name]: steps(model.get("table"))[name][slider.value] }, final);
    slider.addEventListener("input", moved(false));
    slider.addEventListener("change", moved(true));
  }
  for (const [name, input] of Object.entries(parts.boxes)) {
    const take = () => {
      const typed = name === "n" ? Math.round(input.valueAsNumber) : input.valueAsNumber;
      const value = Math.min(Math.max(typed, Number(input.min)), Number(input.max));
      choose(Number.isFinite(value) ? { [name]: value } : {}, true);
    };
    input.addEventListener("change", take);
    input.addEventListener("keydown", (event) => event.key === "Enter" && take());
  }
  parts.devices.forEach((button, i) => {
    button.addEventListener("click", () => choose({ epsilon: model.get("table").devices[i].epsilon }, true));
  });
}

function render({ model, el }) {
  const parts = build(model.get("table"), model.get("limits"));
  const chosen = {};

  function draw() {
    const table = model.get("table");
    paint(parts, table, rowFor(table, model.get("row"), chosen.epsilon), chosen);
  }

  /** What Python changes is drawn too: another setting, another table, or the row of a typed epsilon. */
  function heard() {
    for (const name of ["epsilon", "n", "prevalence"]) chosen[name] = model.get(name);
    draw();
  }

  listen(parts, model, (change, final) => {
    Object.assign(chosen, change);
    draw();
    if (!final) return;
    for (const [name, value] of Object.entries(chosen)) model.set(name, value);
    model.save_changes();
  });
  const events = "change:table change:row change:epsilon change:n change:prevalence";
  model.on(events, heard);
  el.append(parts.root);
  heard();
  return () => model.off(events, heard);
}

export default { render };
