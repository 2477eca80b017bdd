// How a true answer becomes a report, on the respondent's own device. Nothing here sends, stores or logs anything.
// The rules are those of Python's toolkit.local: the same random words give the same report. Nothing is rounded: every
// decision compares whole numbers. A `randomizer` is Python's to_dict(). The truth is the code of an option, from 0; for
// tick boxes a list of codes; for a number its place on the grid (gridIndex).

const ROOM = Math.pow(2, 44); // well below 2^53, where whole numbers cease to be exact

/** A source of words, uniform from 0 to 2^32 - 1, from the browser's generator for secret keys. */
export function words() {
  return () => crypto.getRandomValues(new Uint32Array(1))[0];
}

/** Each call of the result is a source of the same words, from the first on: a corrected answer is never drawn anew. */
export function remembered(next) {
  const kept = [];
  return () => {
    let place = 0;
    return () => {
      if (place === kept.length) kept.push(next());
      place += 1;
      return kept[place - 1];
    };
  };
}

/**
 * A whole number, each from 0 to n - 1 equally likely. With b the binary digits of n - 1: take as many words as hold b
 * digits, at least one, the lowest first; keep the b lowest digits; if they make n or more, begin again. Above 2^53, n is
 * a BigInt and so is the result.
 */
export function below(n, next) {
  const whole = typeof n === "bigint" ? BigInt : Number;
  let digits = 0;
  for (let reach = whole(1); reach < n; reach *= whole(2)) digits += 1;
  const count = Math.max(1, Math.ceil(digits / 32));
  const mask = Math.pow(2, digits - 32 * (count - 1)) - 1; // of the last word
  for (;;) {
    let drawn = whole(0);
    let place = whole(1);
    for (let i = 1; i <= count; i += 1) {
      const word = next();
      drawn += place * whole(i < count ? word : (word & mask) >>> 0);
      place *= whole(4294967296);
    }
    if (drawn < n) return drawn;
  }
}

/** The report for a true answer: a whole number or a list of them. `next` is a source of words. */
export function report(randomizer, truth, next) {
  const rule = RULES[randomizer.kind || "design"];
  if (!rule) throw new Error("unknown randomizer");
  return rule(randomizer, truth, (n) => below(n, next));
}

/** For one uniform number below a design's denominator: the report for each true answer. */
export function instruction(design, drawn) {
  return design.weights.map((row) => cell(row, drawn));
}

/** Where a number falls when cells of these widths stand side by side. */
function cell(widths, drawn) {
  let place = 0;
  for (let left = drawn; left >= widths[place]; place += 1) left -= widths[place];
  return place;
}

const RULES = {
  __proto__: null,

  design: (design, truth, draw) => cell(design.weights[code(truth, design.options.length)], draw(design.denominator)),

  // A set of options, which holds the true one more often than by chance.
  subset: (subset, truth, draw) => {
    const count = subset.options.length;
    const own = code(truth, count);
    const holding = subset.size * subset.inside;
    const holds = draw(holding + (count - subset.size) * subset.outside) < holding;
    const chosen = sample(subset.size - (holds ? 1 : 0), count - 1, draw).map((other) => (other < own ? other : other + 1));
    return (holds ? chosen.concat(own) : chosen).sort((a, b) => a - b);
  },

  // A yes or no for every option.
  unary: (unary, truth, draw) => {
    const own = code(truth, unary.options.length);
    return held(unary, (option) => draw(unary.denominator) < (option === own ? unary.own : unary.other));
  },

  // A hash of the person's own, and the value to which it sends the answer, or another.
  local_hash: (hash, truth, draw) => {
    const own = code(truth, hash.options.length);
    const factors = [];
    let value = 0;
    for (let reach = 1; reach < hash.options.length; reach *= 2) {
      const factor = draw(hash.values);
      factors.push(factor);
      if (quotient(own, reach) % 2 === 1) value += factor;
    }
    const drawn = draw(hash.inside + (hash.values - 1) * hash.outside);
    const shift = drawn < hash.inside ? 0 : quotient(drawn - hash.inside, hash.outside) + 1;
    return [(value + shift) % hash.values].concat(factors);
  },

  // One box, drawn by chance, and whether it is ticked: truthfully or not.
  random_box: (boxes, truth, draw) => {
    const ticks = codes(truth, boxes.options.length);
    const box = draw(boxes.options.length);
    const kept = draw(boxes.keep + boxes.lie) < boxes.keep;
    return [box, ticks.has(box) === kept ? 1 : 0];
  },

  // All boxes, each truthfully or not.
  capped_boxes: (boxes, truth, draw) => {
    const ticks = codes(truth, boxes.options.length);
    if (ticks.size > boxes.most) throw new Error("more boxes are ticked than may be");
    return held(boxes, (box) => draw(boxes.denominator) < boxes.flip !== ticks.has(box));
  },

  // A number becomes a single yes or no, sent truthfully or not.
  one_bit: (bit, truth, draw) => {
    const index = code(truth, bit.steps + 1);
    const yes = draw(bit.steps) < index;
    return draw(bit.keep + bit.lie) < bit.keep === yes ? 1 : 0;
  },

  piecewise: slide,
  square_wave: slide,
  hybrid: (both, truth, draw) => (draw(65536) < both.turn ? 2 + slide(both, truth, draw) : RULES.one_bit(both, truth, draw)),

  // A number plus noise that falls off evenly to both sides.
  local_laplace: (laplace, truth, draw) => {
    const index = code(truth, laplace.steps + 1);
    if (!(laplace.steps * laplace.budget[1] < laplace.budget[0] * ROOM)) throw tooLarge();
    return index + Number(noise(laplace, draw));
  },

  // A number plus, or times, a number from a known deck.
  scrambled: (scrambled, truth, draw) => {
    const index = code(truth, scrambled.steps + 1);
    const cards = deck(scrambled);
    const card = cards[cell(scrambled.weights, draw(scrambled.weights.reduce((a, b) => a + b)))];
    return card.start + index * card.slope;
  },
};

/** `size` of the numbers 0 to count - 1, every set equally likely (Floyd's rule). */
function sample(size, count, draw) {
  const chosen = [];
  for (let j = count - size; j < count; j += 1) {
    const drawn = draw(j + 1);
    chosen.push(chosen.indexOf(drawn) < 0 ? drawn : j);
  }
  return chosen;
}

/** A window slides with the answer; reports inside it are likelier than those beside it. */
function slide(wave, truth, draw) {
  const index = code(truth, wave.steps + 1);
  const within = wave.width * wave.inside;
  const drawn = draw(within + wave.steps * wave.outside);
  if (drawn < within) return index + quotient(drawn, wave.inside);
  const beside = quotient(drawn - within, wave.outside);
  return beside < index ? beside : beside + wave.width;
}

/**
 * z with probability proportional to e^(-|z| budget / steps): Canonne, Kamath and Steinke (2020), algorithm 2. A budget of
 * many digits makes integers pass 2^53: then they are BigInt, in the same lines.
 */
function noise(laplace, draw) {
  const whole = laplace.steps * laplace.budget[1] < ROOM ? Number : BigInt;
  const [bottom, parts] = laplace.budget.map((part) => whole(typeof part === "string" ? part : safe(part)));
  const top = whole(laplace.steps) * parts;
  const common = divisor(top, bottom);
  const [s, t] = [top / common, bottom / common];
  for (;;) {
    let sum = draw(s);
    if (!decays(sum, s, whole, draw)) continue;
    while (decays(whole(1), whole(1), whole, draw)) sum += s;
    const size = quotient(sum, t);
    const minus = draw(2) === 1;
    if (size > 0 || !minus) return minus ? -size : size;
  }
}

/** True with probability e^(-n/d), for n/d from 0 to 1. */
function decays(n, d, whole, draw) {
  for (let tries = 1; ; tries += 1) {
    const longer = d * whole(tries);
    const common = divisor(n, longer);
    if (!(draw(longer / common) < n / common)) return tries % 2 === 1;
  }
}

/** For each card the report of the lowest answer and what a step adds, in the largest unit that keeps all whole. */
function deck(scrambled) {
  const [low, high, steps] = [scrambled.low, scrambled.high, scrambled.steps];
  const parts = times(low[1], high[1], steps); // the two lowest answers are whole multiples of 1 / parts
  const first = times(low[0], high[1], steps);
  const second = safe(first + safe(times(high[0], low[1]) - times(low[0], high[1])));
  const shares = scrambled.values.reduce((all, value) => times(all / divisor(all, safe(value[1])), value[1]), 1);
  const corners = scrambled.values.map((value) => {
    const drawn = times(value[0], shares / value[1]);
    const multiplied = scrambled.how === "multiplicative";
    return [first, second].map((x) => (multiplied ? times(x, drawn) : safe(times(x, shares) + times(drawn, parts))));
  });
  const unit = corners.reduce((common, corner) => divisor(divisor(common, corner[0]), corner[1]), times(parts, shares));
  return corners.map((corner) => {
    const [start, slope] = [corner[0] / unit, safe(corner[1] - corner[0]) / unit];
    safe(Math.abs(start) + times(Math.abs(slope), steps)); // no report is larger
    return { start: start, slope: slope };
  });
}

/** The place on the public grid, 0 to steps, nearest to a number; of two the even one. */
export function gridIndex(randomizer, number) {
  const [low, high] = [randomizer.low, randomizer.high];
  const least = safe(low[0]) / safe(low[1]);
  const inside = typeof number === "number" && number >= least && number <= safe(high[0]) / safe(high[1]);
  if (!inside) throw new Error("the number is out of bounds");
  const span = safe(times(high[0], low[1]) - times(low[0], high[1])) / times(high[1], low[1]);
  const exactly = ((number - least) / span) * randomizer.steps;
  const floor = Math.floor(exactly);
  const up = exactly - floor === 0.5 ? floor % 2 === 1 : exactly - floor > 0.5;
  return Math.min(up ? floor + 1 : floor, randomizer.steps);
}

/** The whole part of a / b, for either kind of number. */
function quotient(a, b) {
  return (a - (a % b)) / b;
}

/** The greatest common divisor. */
function divisor(a, b) {
  while (b != 0) [a, b] = [b, a % b];
  return a < 0 ? -a : a;
}

/** The codes of the options for which the test holds. */
function held(randomizer, test) {
  return randomizer.options.map((_, option) => option).filter(test);
}

/** Anything but a code stops here, before anything is drawn. */
function code(truth, count) {
  if (!Number.isInteger(truth) || truth < 0 || truth >= count) throw new Error("the answer is none of the options");
  return truth;
}

function codes(ticks, count) {
  if (!Array.isArray(ticks)) throw new Error("ticks must be a list");
  return new Set(ticks.map((tick) => code(tick, count)));
}

/** A whole number that is exact here. */
function safe(value) {
  if (!Number.isSafeInteger(value)) throw tooLarge();
  return value;
}

function times(...factors) {
  return factors.reduce((a, b) => safe(safe(a) * safe(b)));
}

function tooLarge() {
  return new Error("the randomizer's numbers are too large for a browser");
}
