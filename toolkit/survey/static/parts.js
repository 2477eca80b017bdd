// Pieces of the page: words, elements, the wheel. Texts become text nodes, never HTML.

/** The language that is spoken, and the words of the interface in it. */
export const speech = { code: "", words: {} };

/** A word of the interface by its name, or a text of the survey, with values put in. */
export function say(text, values) {
  const found = typeof text === "string" ? speech.words[text] : text[speech.code];
  return found.replace(/\{(\w+)\}/g, (all, name) => (values && name in values ? values[name] : all));
}

/** An element with attributes (functions are listeners) and children (elements, strings, or nothing). */
export function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  Object.keys(attributes).forEach((name) => {
    const value = attributes[name];
    if (typeof value === "function") element.addEventListener(name, value);
    else if (name === "style") Object.assign(element.style, value);
    else if (value !== undefined) element.setAttribute(name, value);
  });
  return fill(element, children);
}

/** Put these children in the place of others. */
export function fill(element, children) {
  element.textContent = "";
  element.append(...children.filter(Boolean));
  return element;
}

export const p = (words, kind) => make("p", { class: kind }, words);
export const note = (word) => p(say(word), "note");
export const lead = (word) => p(say(word), "lead");
export const heading = (word, values) => make("h1", { tabindex: -1 }, say(word, values));
export const button = (word, click, kind) => make("button", { type: "button", class: kind || "main", click }, say(word));
export const back = (word) => button(word, () => history.back(), "quiet");
export const row = (...children) => make("div", { class: "row" }, ...children);
export const code = (words) => make("pre", { dir: "ltr" }, words);
export const fact = (word, told) => make("div", {}, make("dt", {}, say(word)), make("dd", {}, told));
export const details = (word, ...inside) => make("details", {}, make("summary", {}, say(word)), ...inside);

/** A wheel with sectors of these sizes, whose hand stops at the drawn number; then what the colours mean. */
export function wheel(sizes, meanings, drawn) {
  const whole = sizes.reduce((sum, size) => sum + size);
  const colour = (i) => "var(--s" + (i % 4) + ")";
  let end = 0;
  const sectors = sizes.map((size, i) => colour(i) + " 0 " + (100 * (end += size)) / whole + "%");
  const hand = make("div", { class: "hand", style: { transform: "rotate(" + (1080 + (360 * (drawn + 0.5)) / whole) + "deg)" } });
  return [
    make("div", { class: "wheel", style: { background: "conic-gradient(" + sectors + ")" } }, hand),
    row(...meanings.map((words, i) => make("span", { style: { background: colour(i) } }, words))),
  ];
}
