// The screen "Questions": the questions, their order, and their languages.
import { area, button, change, field, h, input, marked, number, numberIn, repaint, same, select, slot, state, t, toggle } from "./core.js";
import { KINDS, LANGUAGE_WORDS, epsilonOf, isProtected, kindOf, languagesOf, make, makeRoom, nameFrom, protect, textIn, withText } from "./kinds.js";

export const KIND_WORDS = { yesno: "Yes or no", options: "One of several", likert: "Scale", ticks: "Any of several", number: "Number", text: "Free text", own: "Own design" };

/** Fields for a text in each language of the survey; `get` and `set` read and write the whole value. */
export function texts(label, get, set, { at, hint, rows = 2, line = false, key, required = false } = {}) {
  const codes = languagesOf(state.survey.data);
  const control = (code) => {
    const write = (text) => change(() => set(withText(get(), code, text, codes)));
    const more = { dir: "auto", lang: code, "data-key": `${key}.${code}`, "aria-required": required === true ? "true" : null, ...(line ? {} : { rows }) };
    return (line ? input : area)(textIn(get(), code, codes[0]), write, more);
  };
  if (codes.length === 1) return field(label, control(codes[0]), { at, hint, required });
  return h("fieldset", { class: "field" }, h("legend", {}, ...marked(label, required)), hint && h("p", { class: "hint" }, hint),
    ...codes.map((code) => h("label", { class: "spoken" }, h("span", { class: "code" }, LANGUAGE_WORDS[code] ?? code), control(code))), at !== undefined && slot(at));
}

export function questions(main) {
  const data = state.survey.data;
  data.questions ??= [];
  const codes = languagesOf(data);
  const list = h("ol", { class: "questions" }, ...data.questions.map((question, i) => item(question, i, data)));
  main.append(
    h("p", { class: "lead" }, t("Write what people are asked. Chance may change a protected answer on the phone before it is sent; a plain one is sent as it is.")),
    texts(t("Title of the survey"), () => data.title, (value) => (data.title = value), { at: "title", line: true, key: "title", required: true }),
    languageChoice(codes), data.questions.length ? list : h("p", { class: "notice" }, t("There is no question yet. Choose the kind of the first question below.")), adder(data), same("questions"));
  return {
    update() {
      list.querySelectorAll(".head .text").forEach((one, i) => (one.textContent = textIn(data.questions[i]?.text, codes[0], codes[0]) || t("A question without words yet")));
      const name = document.querySelector(`[data-key="q${state.open}.name"]`);
      if (name && name !== document.activeElement) name.value = data.questions[state.open]?.name ?? "";
    },
  };
}

function languageChoice(codes) {
  const known = [...new Set([...state.survey.languages, ...codes])];
  const boxes = known.map((code) => toggle(LANGUAGE_WORDS[code] ?? code, codes.includes(code), (on) => change((data) => {
    data.languages = on ? [...codes, code] : codes.filter((one) => one !== code);
    if (!data.languages.length) data.languages = codes;
  }, true), { "data-key": `language.${code}` }));
  return h("fieldset", { class: "field" }, h("legend", {}, t("Languages of the respondents")), h("div", { class: "row" }, ...boxes), slot("languages"));
}

function adder(data) {
  const words = { a: t("first answer"), b: t("second answer"), c: t("third answer"), warning: t("What you write here is sent unchanged. Please write nothing that reveals who you are or what you answered above.") };
  const add = (kind) => change(() => {
    data.questions.push(make(kind, data.questions.map((one) => one.name), words));
    fit(data);
    state.open = data.questions.length - 1;
  }, true);
  return h("section", { class: "adder", "aria-labelledby": "add" }, h("h2", { id: "add" }, t("Add a question")),
    h("div", { class: "row" }, ...KINDS.map((kind) => button(t(KIND_WORDS[kind]), () => (add(kind), focusOn(data.questions.length - 1)), "add", { "data-key": `add.${kind}` }))));
}

/** Divide the ceiling among questions with default protection. */
function fit(data) {
  const { ceiling, questions: costs } = state.survey.facts;
  if (ceiling !== "inf") makeRoom(data.questions, costs.map((one) => Number(one?.epsilon)), ceiling, Number(data.waves) || 1);
}

const focusOn = (i) => requestAnimationFrame(() => document.querySelector(`[data-key^="q${i}.text"]`)?.focus());

function item(question, i, data) {
  const open = state.open === i, codes = languagesOf(data), kind = kindOf(question);
  const text = textIn(question.text, codes[0], codes[0]) || t("A question without words yet");
  const head = h("button", { type: "button", class: "head", "aria-expanded": `${open}`, "data-key": `q${i}.head`, onclick: () => {
    state.open = open ? -1 : i;
    repaint();
  } }, h("span", { class: "place" }, `${i + 1}`), h("span", { class: "text", dir: "auto" }, text), h("span", { class: "chip" }, t(KIND_WORDS[kind])),
  h("span", { class: `chip ${isProtected(question) ? "safe" : "bare"}` }, isProtected(question) ? [t("protected"), epsilonOf(question) && ` · ε ${number(epsilonOf(question))}`] : t("plain")));
  return h("li", { class: open ? "card open" : "card" }, h("h2", { class: "bare" }, head), open && editor(question, i, data, kind), slot(`q${i}`));
}

function editor(question, i, data, kind) {
  const codes = languagesOf(data), at = (name) => `q${i}.${name}`;
  const taken = data.questions.filter((one) => one !== question).map((one) => one.name);
  const setText = (value) => {
    const before = question.name;
    question.text = value;
    if (/^question_\d+$/.test(before)) state.named = [question, taken];
  };
  const main = texts(t("What people read"), () => question.text, setText, { at: at("text"), key: at("text"), required: true });
  main.addEventListener("focusout", () => settleName(question, taken));
  const parts = [main, answers(question, i, kind, codes)];
  if (kind !== "text" && kind !== "own") parts.push(protector(question, i));
  const rest = [
    texts(t("Below the question, if something must be explained"), () => question.help, (value) => (question.help = value || undefined), { at: at("help"), key: at("help"), rows: 1 }),
    kind === "text" && texts(t("Warning above the field"), () => question.warning, (value) => (question.warning = value), { at: at("warning"), key: at("warning"), required: true }),
    !isProtected(question) && toggle(t("Must be answered"), question.required !== false, (on) => change(() => (on ? delete question.required : (question.required = false)))),
    field(t("Name of its column in the results"), input(question.name, (value) => change(() => (question.name = value)), { "data-key": at("name"), spellcheck: "false" }),
      { at: at("name"), hint: t("Small letters, digits and _.") }),
    !isProtected(question) && field(t("Its page"), input(question.page ?? "", (value) => change(() => (value ? (question.page = value) : delete question.page)), { "data-key": at("page") }),
      { at: at("page"), hint: t("Neighboring plain questions with the same word here are asked on one page. Nobody reads the word.") }),
    condition(question, i, data),
  ];
  return h("div", { class: "editor" }, ...parts, h("details", {}, h("summary", {}, t("More")), ...rest.filter(Boolean)), tools(question, i, data));
}

/** Name the column after its question, unless the user has named it. */
function settleName(question, taken) {
  if (state.named?.[0] !== question) return;
  state.named = null;
  const codes = languagesOf(state.survey.data);
  const name = nameFrom(textIn(question.text, codes[0], codes[0]), taken);
  if (name) change(() => (question.name = name));
}

function protector(question, i) {
  const text = isProtected(question) ? t("Chance may change the answer on the phone: nobody can be sure what this person answered.") : t("The answer is sent as it is. Whoever reads the reports can read it.");
  return h("div", { class: `protector ${isProtected(question) ? "safe" : "bare"}` },
    toggle(t("Protected"), isProtected(question), (on) => change((data) => (protect(question, on), fit(data)), true), { "data-key": `q${i}.protected` }), h("p", {}, text));
}

function answers(question, i, kind, codes) {
  const at = `q${i}`;
  if (kind === "number") {
    const bounds = question.bounds ?? [0, 100];
    const set = (place) => (text) => !Number.isNaN(numberIn(text)) && change(() => (bounds[place] = numberIn(text), question.bounds = [...bounds]));
    return h("div", { class: "row" }, field(t("Smallest possible answer"), input(bounds[0], set(0), { inputmode: "decimal", "data-key": `${at}.low` }), { at: `${at}.bounds` }),
      field(t("Largest possible answer"), input(bounds[1], set(1), { inputmode: "decimal", "data-key": `${at}.high` })),
      toggle(t("Whole numbers only"), question.whole === true, (on) => change(() => (on ? (question.whole = true) : delete question.whole))));
  }
  if (kind === "likert") return scale(question, i, codes);
  if (kind !== "options" && kind !== "ticks") return null;
  const rows = question.options.map((option, place) => optionRow(question, place, at, codes));
  const add = () => change(() => question.options.push(freeOption(question.options)), true);
  return h("fieldset", { class: "field" }, h("legend", {}, ...marked(t("Answers"), true)), h("ol", { class: "options" }, ...rows), slot(`${at}.options`), slot(`${at}.labels`),
    button(t("Add an answer"), add, "small", { "data-key": `${at}.add` }));
}

function freeOption(options) {
  let place = options.length + 1;
  while (options.includes(t("answer {place}", { place }))) place += 1;
  return t("answer {place}", { place });
}

function optionRow(question, place, at, codes) {
  const option = () => question.options[place];
  const shown = (code) => (question.labels?.[option()] !== undefined ? textIn(question.labels[option()], code, codes[0]) : code === codes[0] ? `${option()}` : "");
  const write = (code) => (text) => change(() => {
    const labelled = question.labels?.[option()] !== undefined;
    if (codes.length === 1 && !labelled) question.options[place] = text;
    else question.labels = { ...question.labels, [option()]: withText(labelled ? question.labels[option()] : { [codes[0]]: `${option()}` }, code, text, codes) };
  });
  const move = (by) => change(() => question.options.splice(place + by, 0, question.options.splice(place, 1)[0]), true);
  const drop = () => change(() => {
    if (question.labels) delete question.labels[option()];
    question.options.splice(place, 1);
  }, true);
  const name = (code) => t("Answer {place}", { place: place + 1 }) + (codes.length > 1 ? ` (${code})` : "");
  return h("li", {}, h("div", { class: "stack" }, ...codes.map((code) => input(shown(code), write(code), { "aria-label": name(code), dir: "auto", lang: code, "data-key": `${at}.option${place}.${code}` }))),
    button("↑", () => move(-1), "small", { disabled: place === 0, "aria-label": t("Move up") + `: ${option()}`, "data-key": `${at}.up${place}` }),
    button("↓", () => move(1), "small", { disabled: place === question.options.length - 1, "aria-label": t("Move down") + `: ${option()}`, "data-key": `${at}.down${place}` }),
    button("✕", drop, "small", { disabled: question.options.length < 3, "aria-label": t("Remove") + `: ${option()}`, "data-key": `${at}.drop${place}` }));
}

function scale(question, i, codes) {
  const points = () => question.design?.likert?.points ?? question.options.length, at = `q${i}`;
  const set = (text) => change(() => {
    if (question.design) question.design.likert.points = Number(text);
    else question.options = Array.from({ length: Number(text) }, (_, place) => place + 1);
    for (const key of Object.keys(question.labels ?? {})) if (Number(key) > Number(text)) delete question.labels[key];
  }, true);
  const rows = Array.from({ length: points() }, (_, place) => {
    const key = `${place + 1}`;
    return h("li", {}, h("div", { class: "stack" }, ...codes.map((code) => input(textIn(question.labels?.[key], code, codes[0]), (text) => change(() => {
      const value = withText(question.labels?.[key], code, text, codes);
      question.labels = { ...question.labels, [key]: value };
      if (value === undefined || value === "") delete question.labels[key];
      if (!Object.keys(question.labels).length) delete question.labels;
    }), { "aria-label": t("Words for point {place}", { place: key }) + (codes.length > 1 ? ` (${code})` : ""), placeholder: key, dir: "auto", lang: code, "data-key": `${at}.point${key}.${code}` }))));
  });
  return h("fieldset", { class: "field" }, h("legend", {}, t("Scale")), field(t("Points"), select(points(), [3, 4, 5, 6, 7, 9, 11].map((one) => [one, one]), set, { "data-key": `${at}.points` })),
    h("ol", { class: "options" }, ...rows), slot(`${at}.labels`));
}

/** A condition on the answers to an earlier plain question. Any other rule could reveal a protected answer. */
function condition(question, i, data) {
  const earlier = data.questions.slice(0, i).filter((one) => !isProtected(one) && one.options && !one.multiple);
  if (!earlier.length) return null;
  const [name, chosen] = Object.entries(question.show_if ?? {})[0] ?? ["", []];
  const pick = (other) => change(() => (other ? (question.show_if = { [other]: [earlier.find((one) => one.name === other).options[0]] }) : delete question.show_if), true);
  const of = earlier.find((one) => one.name === name);
  const boxes = (of?.options ?? []).map((option) => toggle(`${option}`, chosen.includes(option), (on) => change(() => (question.show_if[name] = on ? [...question.show_if[name], option] : question.show_if[name].filter((one) => one !== option)))));
  return h("div", {}, field(t("Ask it only of some"), select(name, [["", t("Everybody")], ...earlier.map((one) => [one.name, t("Depending on {name}", { name: textIn(one.text, languagesOf(data)[0], languagesOf(data)[0]) || one.name })])], pick, { "data-key": `q${i}.if` }), { at: `q${i}.show_if` }), h("div", { class: "row" }, ...boxes));
}

function tools(question, i, data) {
  const move = (by) => change(() => {
    data.questions.splice(i + by, 0, data.questions.splice(i, 1)[0]);
    state.open = i + by;
  }, true);
  const twice = () => change(() => {
    const copy = structuredClone(question);
    delete copy["#"];
    let place = 2;
    while (data.questions.some((one) => one.name === `${question.name}_${place}`)) place += 1;
    copy.name = `${question.name}_${place}`;
    data.questions.splice(i + 1, 0, copy);
    fit(data);
    state.open = i + 1;
  }, true);
  const drop = () => change(() => {
    data.questions.splice(i, 1);
    state.open = -1;
  }, true);
  return h("div", { class: "row tools" }, button(t("Move up"), () => move(-1), "small", { disabled: i === 0, "data-key": "up" }),
    button(t("Move down"), () => move(1), "small", { disabled: i === data.questions.length - 1, "data-key": "down" }),
    button(t("Duplicate"), twice, "small"), button(t("Delete"), drop, "small danger"));
}
