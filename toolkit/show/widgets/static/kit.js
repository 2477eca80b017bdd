// The code shared by all explorers. Python joins this file, pictures.js and a widget's file into one module. It contains no
// formulas and no random draws: a widget looks up what Python computed, without requests to the kernel while a slider moves.
//
// A *part* is { element, draw(reading, shown, model), listen(choose)?, stop()? }. A reading is { numbers, sentences, shown? }.
import { html, set, write } from "./elements.js";
import { guessing } from "./guess.js";
import { tools } from "./tools.js";

// ---------------------------------------------------------------- numbers and words, as in toolkit/texts/figures.py

/** Format a number, by default with about three digits; a number below 1 has at least one decimal. */
export function figure(value, decimals) {
  if (decimals === undefined) decimals = value < 10 ? 2 : value < 100 ? 1 : 0;
  else if (value > 0 && value < 1) decimals = Math.max(decimals, 1);
  const rounded = Math.floor(value * 10 ** decimals + 0.5) / 10 ** decimals; // halves are rounded up, as in Python
  return rounded.toLocaleString("en-US", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
}

/** Format a factor, rounded up, because it is a promise. */
export function bound(factor) {
  if (factor > 100000) return "100,000 and more";
  const decimals = factor < 10 ? 2 : factor < 100 ? 1 : 0;
  return figure(Math.ceil(factor * 10 ** decimals - 1e-9) / 10 ** decimals, decimals);
}

/** Format a probability in percent, with a decimal below 2; it is never rounded to 0 or 100. */
export function chance(percent) {
  if (percent > 0 && percent < 0.1) return "under 0.1";
  if (percent < 2) return figure(percent, 1).replace(/\.0$/, "");
  return percent >= 99.5 && percent < 100 ? figure(Math.floor(10 * percent) / 10, 1) : figure(percent, 0);
}

/** Format the upper limit of a probability in percent, rounded up. */
export function atMost(percent) {
  const unit = percent < 1 ? 10 : 1;
  return figure(Math.ceil(percent * unit - 1e-9) / unit, 0);
}

/** Format the lower limit of a probability in percent, rounded down. */
export function atLeast(percent) {
  const unit = percent < 1 ? 10 : 1;
  return figure(Math.floor(percent * unit + 1e-9) / unit, 0);
}

/** Round a number to three significant digits before the decimal point. */
export function threeDigits(value) {
  const unit = 10 ** Math.max(0, Math.floor(Math.log10(value)) - 2);
  return Math.floor(value / unit + 0.5) * unit;
}

/** Format a number with three significant digits. */
export function significant(value) {
  return figure(value >= 100 ? threeDigits(value) : value, Math.max(0, 2 - Math.floor(Math.log10(value))));
}

/** Format a margin in percentage points; a margin of 100 or more says nothing about a share. */
export function inPoints(margin) {
  return margin >= 100 ? "100 or more" : figure(margin, margin >= 1 ? 1 : 2);
}

/** Insert numbers into the sentences from Python. */
export function fill(words, values) {
  const put = (text) => text.replace(/\{(\w+)\}/g, (_, key) => values[key]);
  return Object.fromEntries(Object.entries(words).map(([name, text]) => [name, put(text)]));
}

/** Return the index of the entry nearest to a value. */
export function nearest(list, value) {
  let best = 0;
  list.forEach((entry, i) => {
    if (Math.abs(entry - value) < Math.abs(list[best] - value)) best = i;
  });
  return best;
}

/** The last entry. */
export function last(list) {
  return list[list.length - 1];
}

// ---------------------------------------------------------------- controls: parts with `listen`

/**
 * A slider over a list of values, with words at both ends. If `box` gives limits, there is also a box for an exact number.
 * `steps(model)`: the values; `words(value)`: the value for screen readers; `text(value)`: its text if there is no box.
 */
export function slider({ name, label, ends, steps, words, box, text = words }) {
  const track = html("input", { type: "range", min: 0, step: 1, "aria-label": label, "data-name": name });
  const exact = box ? exactBox(name, box) : html("output", { class: "readout" });
  const [left, right] = ends.map((end) => html("span", { class: "end" }, end));
  let value;
  function tell() {
    if (box) exact.value = box.whole ? value : written(value);
    else write(exact, text(value));
  }
  return {
    name,
    element: html("div", { class: "line" }, html("span", { class: "name" }, label), left, track, right, exact),
    draw(_, shown, model) {
      const list = steps(model);
      value = shown[name];
      set(track, { max: list.length - 1, "aria-valuetext": words(value) });
      track.value = nearest(list, value);
      tell();
    },
    listen(choose, model) {
      const moved = (final) => () => choose({ [name]: steps(model)[track.value] }, final);
      track.addEventListener("input", moved(false));
      track.addEventListener("change", moved(true));
      if (!box) return;
      listenToBox(exact, box.whole, (typed) => {
        choose(typed === undefined ? {} : { [name]: typed }, true);
        tell(); // a rejected input is replaced by the current value
      });
    },
  };
}

/** A slider for the privacy budget, over the epsilons in the table. */
export function epsilonSlider(epsilons, step, about = "") {
  return slider({
    name: "epsilon",
    label: "Epsilon (ε)",
    ends: ["more private", "more precise"],
    steps: () => epsilons,
    words: (value) => `epsilon ${figure(value)}${about}`,
    box: { label: "Epsilon, exactly", least: epsilons[0], most: last(epsilons), step },
  });
}

/** Format a number for a box: four decimals, or four significant digits if the number is too small. */
export function written(value) {
  return Number(Math.abs(value) < 0.01 ? value.toPrecision(4) : value.toFixed(4));
}

export function exactBox(name, { label, least, most, step }) {
  const limits = { min: least, max: most, step };
  return html("input", { type: "number", ...limits, "aria-label": label, "data-name": `${name}-box` });
}

/** A box for a number. An input is moved into the limits on Enter or when the box loses focus; other texts are rejected. */
export function listenToBox(input, isWhole, take) {
  const entered = () => {
    const typed = isWhole ? Math.round(input.valueAsNumber) : input.valueAsNumber;
    take(Number.isFinite(typed) ? Math.min(Math.max(typed, Number(input.min)), Number(input.max)) : undefined);
  };
  input.addEventListener("change", entered);
  input.addEventListener("keydown", (event) => event.key === "Enter" && entered());
}

/** Buttons of which at most one is pressed; `options` are { label, value, title? }. */
export function choices({ name, lead, options }) {
  const buttons = options.map(({ label, title = "" }) => html("button", { type: "button", title }, label));
  return {
    name,
    element: html("div", { class: "choices", role: "group", "aria-label": lead }, html("span", {}, lead), ...buttons),
    draw(_, shown) {
      buttons.forEach((button, i) => set(button, { "aria-pressed": shown[name] === options[i].value }));
    },
    listen(choose) {
      buttons.forEach((button, i) => button.addEventListener("click", () => choose({ [name]: options[i].value }, true)));
    },
  };
}

/**
 * Hypothetical outcomes, one after another: `show(place, reading)` draws outcome number `place` of `count`.
 * Nothing moves before the button is pressed; for people who prefer reduced motion, each press shows one outcome.
 */
export function player({ label = "Play", count, show, every = 500 }) {
  const still = window.matchMedia("(prefers-reduced-motion: reduce)");
  const button = html("button", { type: "button", class: "play", "data-name": "play" });
  const counter = html("span", { class: "end" });
  let [place, timer, last] = [0, undefined, undefined];
  function paint() {
    write(button, timer ? "⏸ Stop" : still.matches ? `⏭ ${label}: next` : `▶ ${label}`);
    set(button, { "aria-pressed": timer !== undefined });
    write(counter, `${place + 1} of ${count}`);
    if (last) show(place, last);
  }
  function next() {
    place = (place + 1) % count;
    paint();
  }
  function stop() {
    clearInterval(timer);
    timer = undefined;
  }
  button.addEventListener("click", () => {
    if (timer) stop();
    else if (!still.matches) timer = setInterval(next, every);
    next();
  });
  return {
    element: html("div", { class: "player" }, button, counter),
    draw(reading) {
      last = reading;
      paint();
    },
    stop,
  };
}

// ---------------------------------------------------------------- words and panels

/** A sentence of the reading, by its name. */
export function said(name) {
  const element = html("p", { "data-name": name });
  return { element, draw: ({ sentences }) => write(element, sentences[name]) };
}

/** A panel: parts below a title. */
export function panel(title, ...parts) {
  return {
    element: html("section", {}, html("h4", {}, title), ...parts.map((part) => part.element)),
    draw: (...all) => parts.forEach((part) => part.draw(...all)),
    stop: () => parts.forEach((part) => part.stop?.()),
  };
}

// ---------------------------------------------------------------- the widget

const MOMENT = 100; // ms between the release of a control and the message to Python
const REST = 5000; // ms after which a slider at rest counts as released, since it sends no "change" if it ends where it began

/**
 * Build a widget from its parts. `controls(model)` and `panels(model)` create the parts, and `read(model, chosen)` looks up
 * what they show; `truth` is the number to predict: { value(reading), text(value) }.
 * Every move is drawn immediately. Python is notified shortly after a control is released, because keys are pressed in quick
 * succession and every message makes JupyterLab repaint. Changes from Python are drawn unless they are already shown.
 * A choice that was not sent yet takes precedence: JupyterLab's echo of the previous move must not undo it.
 */
export function explorer({ question, controls, panels, read, truth }) {
  function render({ model, el }) {
    const [inputs, answers, chosen] = [controls(model), panels(model), {}];
    const settings = inputs.map(({ name }) => name).filter(Boolean);
    const elements = (parts) => parts.map(({ element }) => element);
    const panes = html("div", { class: "panels" }, ...elements(answers));
    const below = settings.length ? [tools(model.get("codes") ?? {}, settings)] : [];
    const hide = (hidden) => [panes, ...elements(below)].forEach((element) => (element.hidden = hidden));
    if (truth && model.get("guess")) inputs.push(guessing(truth, model.get("prompt"), hide));
    const names = inputs.map(({ name }) => name).filter(Boolean);
    const parts = [...inputs, ...answers, ...below];
    let [drawn, ours, telling] = [[], {}, undefined];
    function draw() {
      const now = ["table", "row"].map((name) => model.get(name)).concat(names.map((name) => chosen[name]));
      if (now.every((value, i) => value === drawn[i])) return;
      drawn = now;
      const reading = read(model, chosen);
      for (const part of parts) part.draw(reading, { ...chosen, ...reading.shown }, model);
    }
    function heard() {
      for (const name of names) chosen[name] = name in ours ? ours[name] : model.get(name);
      draw();
    }
    function choose(change, final) {
      Object.assign(ours, change);
      Object.assign(chosen, change);
      if (!final) drawn = []; // the slider may differ from what is shown
      draw();
      clearTimeout(telling);
      telling = setTimeout(tell, final ? MOMENT : REST);
    }
    function tell() {
      for (const [name, value] of Object.entries(ours)) model.set(name, value);
      ours = {};
      model.save_changes();
    }
    for (const part of [...inputs, ...below]) part.listen?.(choose, model);
    const events = ["table", "row", ...names].map((name) => `change:${name}`).join(" ");
    model.on(events, heard);
    const all = [...elements(inputs), panes, ...elements(below)];
    el.append(html("div", { class: "toolkit-explorer", role: "group", "aria-label": question }, ...all));
    heard();
    return () => {
      model.off(events, heard);
      for (const part of parts) part.stop?.();
    };
  }
  return { render };
}
