// The pictures of the kit: parts that draw numbers. `label(sentences)` is the text for screen readers; colours are classes of
// kit.css, so that they follow the theme. Python joins this file, kit.js and a widget's file into one module.
import { set, svg, write } from "./elements.js";
import { significant } from "./kit.js";

/** A picture with a text for screen readers; its unit is 1/342 of the width of a panel. */
export function picture(height, ...children) {
  return svg("svg", { viewBox: `0 0 342 ${height}`, role: "img" }, ...children);
}

/** Return a function from values to positions between `start` and `end`; values outside are placed at the ends. */
export function scale({ from, to, start, end, log = false }) {
  const at = log ? Math.log : Number;
  return (value) => {
    const share = (at(Math.min(Math.max(value, from), to)) - at(from)) / (at(to) - at(from));
    return start + share * (end - start);
  };
}

/** Return the next of 1, 2, 5, 10, 20, … as a round end for an axis. */
export function niceAbove(value) {
  const unit = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].find((step) => step * unit >= value) * unit;
}

/** A hundred people in five rows of twenty, of whom the first `count(numbers)` are filled and the others hollow. */
export function iconArray({ count, label }) {
  const people = Array.from({ length: 100 }, (_, i) => {
    const [x, y] = [9 + 17 * (i % 20), 6 + 22 * Math.floor(i / 20)];
    const body = `M${x - 5},${y + 13} v-4 a5,5 0 0 1 10,0 v4 z`;
    return svg("g", {}, svg("circle", { cx: x, cy: y, r: 3.4 }), svg("path", { d: body }));
  });
  const element = picture(112, ...people);
  element.classList.add("icons");
  return {
    element,
    draw({ numbers, sentences }) {
      people.forEach((person, i) => set(person, { class: i < count(numbers) ? "yes" : "no" }));
      set(element, { "aria-label": label(sentences) });
    },
  };
}

/** A bar for each name, from 0 to `most`: `values(numbers)`, formatted by `text(value, place)`; `kinds` are classes for colours. */
export function bars({ names, kinds, values, text, label, most = 100, left = 76 }) {
  const across = scale({ from: 0, to: most, start: 0, end: 286 - left });
  const labels = names.map((name, i) => svg("text", { x: left - 6, y: 16 + 22 * i, "text-anchor": "end" }, name));
  const shapes = names.map((_, i) => svg("rect", { x: left, y: 5 + 22 * i, height: 14, class: kinds[i] }));
  const ends = names.map((_, i) => svg("text", { y: 16 + 22 * i, class: "value" }));
  const element = picture(2 + 22 * names.length, ...labels, ...shapes, ...ends);
  return {
    element,
    draw({ numbers, sentences }) {
      values(numbers).forEach((value, i) => {
        set(shapes[i], { width: across(value) });
        set(ends[i], { x: left + 6 + across(value) });
        write(ends[i], text(value, i));
      });
      set(element, { "aria-label": label(sentences) });
    },
  };
}

/** Intervals around one value on a scale with ticks: the center `middle(numbers)`, and a half-width in `reaches(numbers)` for each name. */
export function intervals({ names, kinds, middle, reaches, label, from = 0, to = 100, ticks, left = 76 }) {
  const across = scale({ from, to, start: left, end: left + 250 - (left - 76) });
  const floor = 5 + 24 * names.length;
  const labels = names.map((name, i) => svg("text", { x: left - 6, y: 16 + 24 * i, "text-anchor": "end" }, name));
  const shapes = names.map((_, i) => svg("rect", { y: 6 + 24 * i, height: 12, rx: 2, class: kinds[i] }));
  const guess = svg("line", { y1: 0, y2: floor - 1, class: "guess" });
  const marks = ticks.map(({ at, text }) => {
    const anchor = at === to ? "end" : "middle";
    return svg("text", { x: across(at), y: floor + 13, "text-anchor": anchor, class: "tick" }, text);
  });
  const axis = svg("line", { x1: across(from), x2: across(to), y1: floor, y2: floor, class: "axis" });
  const element = picture(floor + 17, ...labels, axis, ...shapes, guess, ...marks);
  return {
    element,
    across,
    draw({ numbers, sentences }) {
      const centre = middle(numbers);
      reaches(numbers).forEach((reach, i) => {
        const [low, high] = [across(centre - reach), across(centre + reach)];
        set(shapes[i], { x: low, width: Math.max(high - low, 1.5) });
      });
      set(guess, { x1: across(centre), x2: across(centre) });
      set(element, { "aria-label": label(sentences) });
    },
  };
}

/**
 * Axes for curves: `x` and `y` are { from, to, log?, ticks: [{ at, text }] }, and `unit` is shown at the top of the y axis.
 * `line(kind)`, `dot(kind)` and `drop()` add elements, which a widget then moves with `trace`, `put` and `fall`.
 */
export function chart({ x, y, unit = "", height = 92, headroom = 16, left = 34, width = 300 }) {
  const bottom = height + headroom;
  const across = scale({ ...x, start: left, end: left + width });
  const up = scale({ ...y, start: bottom, end: bottom - height });
  const tick = (anchor, px, py, text) => svg("text", { x: px, y: py, "text-anchor": anchor, class: "tick" }, text);
  const frame = svg("path", { d: `M${left},${bottom - height} V${bottom} H${left + width}`, class: "axis" });
  const heights = y.ticks.map(({ at, text }) => tick("end", left - 5, up(at) + 4, text));
  const widths = x.ticks.map(({ at, text }) => tick("middle", across(at), bottom + 14, text));
  const title = svg("text", { x: left + 6, y: headroom - 7, class: "tick" }, unit);
  const element = picture(bottom + 18, frame, title, ...heights, ...widths);
  const add = (shape) => element.appendChild(shape);
  const notes = new Map();
  return {
    element,
    across,
    up,
    heights,
    line: (kind) => add(svg("path", { class: kind })),
    dot: (kind) => add(svg("circle", { r: 5.5, class: kind })),
    drop: () => add(svg("line", { y2: bottom, class: "guess" })),
    /** A path through points. Points outside the frame are left out, because the curve would follow its edge. */
    trace(path, points) {
      const visible = points.filter(([, value]) => value >= y.from && value <= y.to);
      set(path, { d: visible.length ? "M" + visible.map(([a, b]) => `${across(a)},${up(b)}`).join("L") : "" });
    },
    /** A dot. Beyond the axis, it stays at the edge, is hollow, and has a note. */
    put(dot, a, b) {
      const beyond = b > y.to ? "↑ off the axis" : b < y.from ? "↓ off the axis" : a > x.to ? "off the axis →" : a < x.from ? "← off the axis" : "";
      const right = across(a) > left + width / 2;
      set(dot, { cx: across(a), cy: up(b), "data-beyond": beyond });
      if (beyond && !notes.has(dot)) notes.set(dot, add(svg("text", { class: "tick beyond" })));
      if (!notes.has(dot)) return;
      const beside = { x: across(a) + (right ? -9 : 9), y: up(b) + 4, "text-anchor": right ? "end" : "start" };
      const above = { x: left + width, y: headroom - 7, "text-anchor": "end" }; // curves would cross a label at the upper edge
      set(notes.get(dot), b > y.to ? above : beside);
      write(notes.get(dot), beyond);
    },
    fall: (line, a, b) => set(line, { x1: across(a), x2: across(a), y1: up(b) }),
  };
}

/** Quantiles as stacked dots on an axis from -reach to reach; each dot stands for the same probability. */
export function dotplot({ values, reach, label, height = 96, size = 342 / 35 }) {
  const middle = 342 / 2;
  const dots = svg("g", { class: "dots" });
  const axis = svg("line", { x1: 0, x2: 342, y1: height, y2: height, class: "axis" });
  const anchors = ["start", "middle", "middle", "middle", "end"];
  const marks = anchors.map((anchor, i) => svg("text", { x: (342 * i) / 4, y: height + 14, "text-anchor": anchor, class: "tick" }));
  const sides = [[0, "start"], [342, "end"]].map(([x, anchor]) => svg("text", { x, y: 11, "text-anchor": anchor, class: "tick beyond" }));
  const element = picture(height + 18, axis, dots, ...marks, ...sides);
  const plot = {
    element,
    height,
    across: () => middle,
    draw({ numbers, sentences }) {
      const most = reach(numbers);
      plot.across = scale({ from: -most, to: most, start: 0, end: 342 });
      const stacks = new Map();
      const places = values(numbers).map((value) => {
        const column = Math.round((plot.across(value) - middle) / size);
        stacks.set(column, (stacks.get(column) ?? 0) + 1);
        return [middle + column * size, height - size * (stacks.get(column) - 0.5)];
      });
      while (dots.childNodes.length < places.length) dots.append(svg("circle", { r: 0.44 * size }));
      places.forEach(([cx, cy], i) => set(dots.childNodes[i], { cx, cy }));
      const beyond = [values(numbers).filter((value) => value < -most).length, values(numbers).filter((value) => value > most).length];
      marks.forEach((mark, i) => {
        write(mark, i === 2 ? "0" : `${i < 2 ? "−" : "+"}${significant((Math.abs(i - 2) * most) / 2)}`);
      });
      [sides[0], sides[1]].forEach((side, i) => write(side, beyond[i] ? `${i ? "" : "← "}${beyond[i]} beyond${i ? " →" : ""}` : ""));
      set(element, { "aria-label": label(sentences) });
    },
  };
  return plot;
}
