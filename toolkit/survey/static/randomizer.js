// How a true answer becomes a report, on the respondent's own device. Nothing here sends, stores, logs or rounds anything. The
// same random words give the same report as in Python's toolkit.local, whose browser_data() is a `randomizer`. A truth is the
// code of an option, from 0; for tick boxes a list of codes; for a number its index on the grid.

// A source of words, 0 to 2^32 - 1, from the browser's generator for secret keys.
export const words = () => () => crypto.getRandomValues(new Uint32Array(1))[0];

export const secret = (size) => hex(crypto.getRandomValues(new Uint8Array(size)));
export const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

// Words from a list, then fresh ones, so that a corrected answer is not drawn again.
export const remembered = (kept, next, place = 0) => () => {
  if (place === kept.length) kept.push(next());
  return kept[place++];
};

// The indices of a list in random order; indices that are not among `free` keep their places.
export function shuffled(list, free, next = words()) {
  const left = [...free];
  return list.map((_, i) => (free.includes(i) ? left.splice(below(left.length, next), 1)[0] : i));
}

// A uniform whole number from 0 to n - 1. If n - 1 has b binary digits, take words for b digits, at least one, lowest first; keep
// b digits; if the result is n or more, begin again. Above 2^53 n is a BigInt.
export function below(n, next) {
  const whole = typeof n === "bigint" ? BigInt : Number;
  let reach = whole(1); // 2^b
  while (reach < n) reach *= whole(2);
  for (;;) {
    let [drawn, place] = [whole(0), whole(1)];
    do {
      drawn += place * (whole(next()) % (reach / place));
      place *= whole(4294967296);
    } while (place < reach);
    if (drawn < n) return drawn;
  }
}

// The report for a truth: a whole number or a list. `next` is a source of words, `memory` a source that is the same in each wave.
export function report(randomizer, truth, next, memory = next) {
  const rule = RULES[randomizer.kind || "design"];
  if (!rule) throw new Error("unknown randomizer");
  return rule(randomizer, checked(randomizer, truth), (n) => below(n, next), (n) => below(n, memory));
}

function checked({ kind, options, steps }, truth) {
  const count = options ? options.length : steps + 1;
  const boxes = /box/.test(kind);
  if (boxes && !Array.isArray(truth)) throw new Error("ticks must be a list");
  const possible = (code) => Number.isInteger(code) && code >= 0 && code < count;
  if (!(boxes ? truth : [truth]).every(possible)) throw new Error("the answer is none of the options");
  return boxes ? new Set(truth) : truth;
}

// The index of the cell, of these widths, that contains a number.
export function cell(widths, drawn) {
  let place = 0;
  for (let left = drawn; left >= widths[place]; place += 1) left -= widths[place];
  return place;
}

const RULES = {
  __proto__: null,

  design: (design, own, draw) => cell(design.weights[own], draw(design.denominator)),

  // A memo for each answer, and fresh noise on the memo of the current answer.
  memo: ({ permanent, fresh }, own, draw, recall) => {
    const memos = [0, 1].map((answer) => RULES.design(permanent, answer, recall));
    return RULES.design(fresh, memos[own], draw);
  },

  subset: ({ options, size, inside, outside }, own, draw) => {
    const count = options.length;
    const holds = slide({ steps: count - size, width: size, inside, outside }, 0, draw) < size;
    const chosen = sample(size - (holds ? 1 : 0), count - 1, draw).map((other) => (other < own ? other : other + 1));
    return (holds ? chosen.concat(own) : chosen).sort((a, b) => a - b);
  },

  unary: (unary, truth, draw) => held(unary, (one) => draw(unary.denominator) < (one === truth ? unary.own : unary.other)),

  // A random hash, and the answer's hash value or another.
  local_hash: ({ options, values, inside, outside }, own, draw) => {
    const factors = [];
    let value = 0;
    for (let reach = 1; reach < options.length; reach *= 2) {
      const factor = draw(values);
      factors.push(factor);
      value += factor * (quotient(own, reach) % 2);
    }
    const shift = slide({ steps: values - 1, width: 1, inside, outside }, 0, draw);
    return [(value + shift) % values].concat(factors);
  },

  random_box: (boxes, ticks, draw) => {
    const box = draw(boxes.options.length);
    return [box, told(boxes, ticks.has(box), draw)];
  },

  capped_boxes: (boxes, ticks, draw) => {
    if (ticks.size > boxes.most) throw new Error("more boxes are ticked than may be");
    return held(boxes, (box) => draw(boxes.denominator) < boxes.flip !== ticks.has(box));
  },

  one_bit: (bit, index, draw) => told(bit, draw(bit.steps) < index, draw),

  piecewise: slide,
  square_wave: slide,
  hybrid: (both, index, draw) => (draw(65536) < both.turn ? 2 + slide(both, index, draw) : RULES.one_bit(both, index, draw)),

  local_laplace: ({ s, t }, index, draw) => {
    safe(Math.floor((512 * s) / t)); // noise never exceeds 512 times its scale
    return index + Number(noise(exact(s), exact(t), draw));
  },

  // A number plus or times the number on a card of a known deck.
  scrambled: ({ cards, weights }, index, draw) => {
    const reports = cards.map(({ start, slope }) => safe(safe(start) + safe(index * slope)));
    return reports[cell(weights, draw(weights.reduce((a, b) => a + b)))];
  },
};

// An answer or its opposite.
const told = ({ keep, lie }, yes, draw) => (draw(keep + lie) < keep === yes ? 1 : 0);
const held = ({ options }, test) => options.map((_, i) => i).filter(test);

// A uniform set of `size` numbers from 0 to count - 1 (Floyd's algorithm).
function sample(size, count, draw) {
  const chosen = [];
  for (let j = count - size; j < count; j += 1) {
    const drawn = draw(j + 1);
    chosen.push(chosen.includes(drawn) ? j : drawn);
  }
  return chosen;
}

// Reports inside a window around the answer are likelier than others.
function slide(wave, index, draw) {
  const within = wave.width * wave.inside;
  const drawn = draw(within + wave.steps * wave.outside);
  if (drawn < within) return index + quotient(drawn, wave.inside);
  const beside = quotient(drawn - within, wave.outside);
  return beside < index ? beside : beside + wave.width;
}

// z with probability proportional to e^(-|z| t / s): Canonne, Kamath and Steinke (2020), algorithm 2.
function noise(s, t, draw) {
  for (;;) {
    let sum = draw(s);
    if (!decays(sum, s, draw)) continue;
    while (decays(s, s, draw)) sum += s;
    const size = quotient(sum, t);
    const minus = draw(2) === 1;
    if (size > 0 || !minus) return minus ? -size : size;
  }
}

// True with probability e^(-n/d), for n/d from 0 to 1.
function decays(n, d, draw) {
  let odd = true;
  for (let longer = d; ; longer += d) {
    const common = divisor(n, longer);
    if (!(draw(longer / common) < n / common)) return odd;
    odd = !odd;
  }
}

// The nearest index on the public grid, 0 to steps; the even one of two.
export function gridIndex(grid, number) {
  const [low, high, span] = [grid.low, grid.high, grid.span].map(([a, b]) => safe(a) / safe(b));
  if (!(typeof number === "number" && number >= low && number <= high)) throw new Error("the number is out of bounds");
  const exactly = ((number - low) / span) * grid.steps;
  const near = Math.round(exactly); // the upper one of two
  const odd = near - exactly === 0.5 && near % 2;
  return Math.min(odd ? near - 1 : near, grid.steps);
}

const quotient = (a, b) => (a - (a % b)) / b;

function divisor(a, b) {
  while (b != 0) [a, b] = [b, a % b];
  return a;
}

// Numbers that may exceed 2^53 are strings and become BigInts.
const exact = (value) => (typeof value === "string" ? BigInt(value) : safe(value));

function safe(value) {
  if (!Number.isSafeInteger(value)) throw new Error("the randomizer's numbers are too large for a browser");
  return value;
}
