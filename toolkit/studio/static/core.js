// The shared code of all screens: words, elements, requests, and the open survey. Only an unsaved draft of the survey is stored in the browser, and no
// data of a table is ever stored.
import { html, svg } from "./elements.js";
import { readings } from "./numbers.js";

export { svg };

// ---------------------------------------------------------------- words

const german = (await (await fetch("de.json")).json());
export const state = { speak: "en", survey: null, status: "", open: 0, busy: false };
const stored = sessionStorage.getItem("studio:speak") ?? navigator.language.slice(0, 2);
state.speak = stored === "de" ? "de" : "en";

/** Return a sentence in the studio's language, with its gaps filled. */
export function t(text, gaps = {}) {
  const words = state.speak === "de" ? german[text] ?? text : text;
  return words.replace(/\{(\w+)\}/g, (_, name) => gaps[name] ?? "");
}

export function speak(code) {
  state.speak = code;
  sessionStorage.setItem("studio:speak", code);
  document.documentElement.lang = code;
}

/** Format a number for the studio's language. Formats are cached, because creating one takes longer than using it. */
export function number(value, maximumFractionDigits = 2) {
  const key = `${state.speak}${maximumFractionDigits}`;
  formats[key] ??= new Intl.NumberFormat(state.speak, { maximumFractionDigits });
  return formats[key].format(value);
}
const formats = {};

/** Return the number that a person typed, or NaN. An ambiguous text such as "1.500" is read by the rules of the studio's language. */
export function numberIn(text) {
  const found = readings(`${text}`), grouped = /[.,]/.exec(text)?.[0] === (state.speak === "de" ? "." : ",");
  return found.length ? found.at(grouped ? -1 : 0) : NaN;
}

// ---------------------------------------------------------------- elements

/** Create an element. Names that begin with "on" add listeners, true adds an empty attribute, and null and false add none. */
export function h(tag, attributes = {}, ...children) {
  const plain = {}, listeners = [];
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) listeners.push([name.slice(2), value]);
    else if (value !== null && value !== undefined && value !== false) plain[name] = value === true ? "" : value;
  }
  const element = html(tag, plain, ...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  if ("value" in plain && tag !== "option") element.value = plain.value;
  listeners.forEach(([name, listener]) => element.addEventListener(name, listener));
  return element;
}

let last = 0;
export const fresh = () => `f${++last}`;

export function button(text, press, kind = "", more = {}) {
  return h("button", { type: "button", class: kind, onclick: press, ...more }, text);
}

/** A slot for the problems of a field, which has the same height when it is empty. `showProblems` fills all slots of a screen. */
export const slot = (at, id) => h("div", { class: "problem", "data-at": at, id });

/** Fill a slot with messages. The first is always visible, and all of them are visible when the slot has the focus. */
export function fillSlot(place, messages, kind = "") {
  place.className = `problem ${kind}`;
  place.replaceChildren(...(messages.length ? [h("div", { class: "message" }, ...messages.map((text) => h("span", {}, plainly(text))))] : []));
  if (messages.length) place.tabIndex = 0;
  else place.removeAttribute("tabindex");
}

/** A label that states whether its field is required. If `required` is a text, it states the condition. */
export const marked = (label, required) => [label, required && h("span", { class: "required" }, ` ${required === true ? t("required") : required}`)];

/** A field: a label, its control, a hint, and a slot for problems. */
export function field(label, control, { at, hint, kind = "", required = false } = {}) {
  const id = fresh(), wrong = `${id}-wrong`;
  control.id = id;
  if (required === true) control.setAttribute("aria-required", "true");
  if (at !== undefined) control.setAttribute("aria-describedby", wrong);
  return h("div", { class: `field ${kind}` }, h("label", { for: id }, ...marked(label, required)), hint && h("p", { class: "hint" }, hint), control,
    at !== undefined && slot(at, wrong));
}

export function input(value, change, more = {}) {
  return h("input", { type: "text", autocomplete: "off", value: value ?? "", oninput: (event) => change(event.target.value), ...more });
}

export function area(value, change, more = {}) {
  const element = h("textarea", { rows: 2, oninput: (event) => (grow(event.target), change(event.target.value)), ...more });
  element.value = value ?? "";
  requestAnimationFrame(() => grow(element));
  return element;
}

function grow(element) {
  element.style.height = "auto";
  if (element.scrollHeight) element.style.height = `${element.scrollHeight + 4}px`;
}

export function select(value, options, change, more = {}) {
  const entries = options.map(([key, text]) => h("option", { value: key, selected: `${key}` === `${value}` }, text));
  return h("select", { onchange: (event) => change(event.target.value), ...more }, ...entries);
}

export function toggle(label, on, change, more = {}) {
  const box = h("input", { type: "checkbox", role: "switch", onchange: (event) => change(event.target.checked), ...more });
  box.checked = on;
  return h("label", { class: "toggle" }, box, h("span", {}, label));
}

/** Remove the backticks in which Python's messages name fields, because they mean nothing to users. */
const plainly = (text) => text.replace(/`/g, "");
export const notice = (text, kind = "note") => h("p", { class: `notice ${kind}`, role: kind === "wrong" ? "alert" : "status" }, plainly(text));

export function tableOf(columns, rows, caption) {
  const head = h("tr", {}, ...columns.map((name) => h("th", { scope: "col" }, name)));
  const lines = rows.map((row) => h("tr", {}, ...row.map((cell, i) => h(i ? "td" : "th", i ? {} : { scope: "row" }, cell))));
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption },
    h("table", {}, h("caption", {}, caption), h("thead", {}, head), h("tbody", {}, ...lines)));
}

/** A bar that shows a share of a whole, with a text. */
export function meter(value, most, words) {
  const over = value > most * (1 + 1e-9);
  const bar = h("div", { class: "bar" });
  bar.style.inlineSize = `${Math.min(100, most ? (100 * value) / most : 0)}%`;
  return h("div", { class: `meter${over ? " over" : ""}` }, h("div", { class: "track", "aria-hidden": "true" }, bar), h("p", {}, words));
}

/** The same step as code for a shell and for Python, collapsed. */
export function same(...names) {
  const steps = state.survey?.steps;
  if (!steps) return null;
  return codes(names.map((name) => [steps[name].shell, steps[name].python]));
}

export function codes(pairs) {
  const box = (kind, code) => h("figure", { class: "code" }, h("figcaption", {}, kind, copier(code)), h("pre", { tabindex: 0 }, code));
  return h("details", { class: "same" }, h("summary", {}, t("The same without the studio")),
    ...pairs.flatMap(([shell, python]) => [shell && box(t("Shell"), shell), python && box("Python", python)]));
}

export function copier(text, label = t("Copy")) {
  return button(label, async (event) => {
    try {
      await navigator.clipboard.writeText(text);
      event.target.textContent = t("Copied");
    } catch {
      event.target.textContent = t("Select and copy it");
    }
  }, "small");
}

/** Ask for confirmation before an action that cannot be undone. */
export function ask(title, text, yes, kind = "danger", no = t("Cancel")) {
  return new Promise((done) => {
    const answer = (value) => () => (dialog.close(), dialog.remove(), done(value));
    const dialog = h("dialog", { "aria-labelledby": "ask-title", oncancel: (event) => (event.preventDefault(), no === t("Cancel") && answer(false)()) }, h("h2", { id: "ask-title" }, title),
      typeof text === "string" ? h("p", {}, text) : text,
      h("div", { class: "row" }, button(no, answer(false)), button(yes, answer(true), kind)));
    document.body.append(dialog);
    dialog.showModal();
  });
}

// ---------------------------------------------------------------- requests

export async function api(action, given = {}) {
  const headers = { "content-type": "application/json", "x-studio-session": sessionStorage.getItem("studio:session") ?? "" };
  let answer;
  try {
    answer = await fetch(`api/${action}`, { method: "POST", headers, body: JSON.stringify(given), credentials: "omit" });
  } catch {
    throw new Error(t("The studio does not answer. Is it still running in the terminal?"));
  }
  const data = await answer.json();
  if (answer.ok) return data;
  throw Object.assign(new Error(data.error), { status: answer.status, now: data.now });
}

/** Run the action of a button, which is disabled meanwhile, and show errors below it. */
export async function work(pressed, place, run) {
  pressed.disabled = true;
  pressed.classList.add("working");
  place.replaceChildren(h("p", { class: "notice", role: "status" }, t("Working …")));
  try {
    const said = await run();
    place.replaceChildren(...(said ? [typeof said === "string" ? notice(said, "good") : said] : []));
  } catch (problem) {
    if (problem.status === 409) await outdated(problem);
    else place.replaceChildren(notice(problem.message, "wrong"));
  } finally {
    pressed.disabled = false;
    pressed.classList.remove("working");
  }
}

/** Show the current state if the page was out of date, with the message that nothing was done. */
export async function outdated(problem) {
  await look();
  await listeners.repaint();
  listeners.wrong(problem.message);
}

/** A button that writes a document of the survey into the folder. */
export function writer(label, place, given, { words = "Written into the folder: {file}", kind = "" } = {}) {
  return button(label, (event) => work(event.target, place, async () => {
    const made = await api("write", { file: state.survey.file, hash: state.survey.hash, ...given() });
    return h("div", {}, notice(t(words, made), "good"), ...made.notes.map((note) => notice(note)));
  }), kind, { "data-document": given().document });
}

// ---------------------------------------------------------------- the open survey

let timer, sending = null, dirty = false, listeners = {};
export const listen = (given) => (listeners = given);
export const repaint = () => listeners.repaint();
export const wrong = (text) => listeners.wrong(text);
const draftName = () => `studio:draft:${state.survey.file}`;

/** Use the state of a file that the server returned. Every question stores its index in the file. */
export function adopt(survey) {
  survey.data?.questions?.forEach?.((question, i) => (question["#"] = i));
  state.survey = survey;
}

export async function openSurvey(file) {
  adopt(await api("survey", { file, page_language: state.speak }));
  const draft = JSON.parse(sessionStorage.getItem(draftName()) ?? "null");
  if (draft && draft.hash === state.survey.hash) {
    state.survey.data = draft.data;
    dirty = true;
    schedule(0);
  } else if (draft) conflict(draft.data, state.survey);
}

/** Change the survey and schedule saving its file; with `again`, repaint the screen. */
export function change(edit, again = false) {
  if (state.survey.readonly) return;
  edit(state.survey.data);
  dirty = true;
  sessionStorage.setItem(draftName(), JSON.stringify({ hash: state.survey.hash, data: state.survey.data }));
  tell(t("Saving …"));
  schedule(again ? 0 : 350);
  if (again) listeners.repaint();
}

function tell(status) {
  state.status = status;
  listeners.status?.();
}

function schedule(wait) {
  clearTimeout(timer);
  timer = setTimeout(save, wait);
}

/** Write the file. There is one request at a time, and another if the survey was changed in the meantime. */
export async function save() {
  clearTimeout(timer);
  if (sending) return sending.then(save);
  if (!dirty) return undefined;
  const { file, hash, data } = state.survey, order = [...(data.questions ?? [])];
  dirty = false;
  sending = api("save", { file, hash, data, page_language: state.speak });
  try {
    const now = await sending;
    order.forEach((question, i) => (question["#"] = i));
    for (const name of ["hash", "problems", "facts", "valid", "undo", "redo", "steps"]) state.survey[name] = now[name];
    if (!dirty) {  // otherwise the survey was changed in the meantime, and is saved next
      sessionStorage.removeItem(draftName());
      tell(t("Saved"));
    }
    wrong("");
    listeners.update();
  } catch (problem) {
    dirty = true;
    tell(t("Not saved"));
    if (problem.now) conflict(data, problem.now);
    else listeners.wrong(problem.message);
  } finally {
    sending = null;
  }
  return dirty ? undefined : null;
}

export async function step(action) {
  await save();
  const { file, hash } = state.survey;
  try {
    adopt(await api(action, { file, hash, page_language: state.speak }));
    const status = action === "undo" ? t("Undone") : t("Done again");
    tell(status);
    setTimeout(() => state.status === status && tell(t("Saved")), 4000);
    listeners.repaint();
  } catch (problem) {
    if (problem.now) conflict(state.survey.data, problem.now);
    else listeners.wrong(problem.message);
  }
}

/** Show both versions if the file was changed outside the studio, and let the user choose. */
function conflict(mine, now) {
  const rows = differences(mine, now.data ?? {}).slice(0, 30);
  const body = h("div", {}, h("p", {}, t("{file} was changed in the meantime, by hand or by another program. Nothing is lost: choose a version.", { file: now.file })),
    tableOf([t("Where"), t("Here"), t("In the file")], rows, t("What differs")));
  ask(t("Two versions"), body, t("Keep what is here"), "main", t("Take the file's version")).then((keep) => {
    adopt({ ...now, data: keep ? mine : now.data });
    dirty = keep;
    if (keep) schedule(0);
    else sessionStorage.removeItem(draftName());
    listeners.repaint();
  });
}

function differences(mine, theirs, path = "") {
  const flat = (value) => (value === undefined ? "—" : typeof value === "string" ? value : JSON.stringify(value)).slice(0, 120);
  const both = (one) => one !== null && typeof one === "object";
  if (!both(mine) || !both(theirs)) return JSON.stringify(mine) === JSON.stringify(theirs) ? [] : [[path, flat(mine), flat(theirs)]];
  const names = [...new Set([...Object.keys(mine), ...Object.keys(theirs)])].filter((name) => name !== "#");
  return names.flatMap((name) => differences(mine[name], theirs[name], path ? `${path} · ${name}` : name));
}

/** Show the current content of the file if it was changed outside the studio. */
export async function look() {
  if (!state.survey || dirty || sending) return;
  try {
    const now = await api("survey", { file: state.survey.file, page_language: state.speak });
    if (dirty || sending || now.hash === state.survey.hash) return;
    adopt(now);
    tell(t("The file was changed outside the studio; this is its current content"));
    listeners.repaint();
  } catch {
    tell(t("The studio does not answer. Is it still running in the terminal?"));
  }
}

// ---------------------------------------------------------------- problems

const PROTECTING = ["design", "mode", "p", "epsilon", "instructions", "innocent", "points"];

/** Return the screen to which a problem belongs. */
export function screenOf({ question, field: name }) {
  if (question !== null) return PROTECTING.includes(name) ? "protection" : "questions";
  if (name === "ceiling") return "protection";
  return name === null || ["title", "languages", "questions", "words"].includes(name) ? "questions" : "who";
}

const UNFINISHED = { empty: "Still to be written.", example: "This is an example: write your own text." };

/** Show every problem at its field, or else at its question, or else at the top of its screen, without moving anything. */
export function showProblems(root, screen) {
  const slots = new Map([...root.querySelectorAll(".problem[data-at]")].map((one) => [one.dataset.at, { place: one, problems: [] }]));
  root.querySelectorAll("[aria-invalid]").forEach((one) => one.removeAttribute("aria-invalid"));
  for (const problem of state.survey.problems ?? []) {
    const isEmptyList = problem.question === null && problem.field === null; // the list itself states that there are no questions
    if (problem.unfinished && (isEmptyList || screenOf(problem) !== screen)) continue;
    const at = problem.question === null ? problem.field : `q${problem.question}.${problem.field}`;
    const places = [at, problem.question === null ? null : `q${problem.question}`, screenOf(problem) === screen ? "" : null];
    places.map((one) => slots.get(one)).find(Boolean)?.problems.push(problem);
  }
  for (const { place, problems } of slots.values()) {
    const refused = problems.some((one) => !one.warning && !one.unfinished);
    const texts = problems.map((one) => (one.unfinished ? t(UNFINISHED[one.unfinished]) : one.message));
    fillSlot(place, [...new Set(texts)], refused ? "" : problems.some((one) => one.warning) ? "warning" : "unfinished");
    if (refused) root.querySelector(`[aria-describedby="${place.id || "none"}"]`)?.setAttribute("aria-invalid", "true");
  }
}
