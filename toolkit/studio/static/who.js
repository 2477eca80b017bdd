// The screen "Who asks": statements about the researchers, the use of answers, and the impact assessment.
import { change, field, h, input, numberIn, same, select, state, t, toggle } from "./core.js";
import { texts } from "./questions.js";

const STATED = {
  controller: ["Who is responsible", "The institution, with its full name."],
  contact: ["Whom to write to", "An address that somebody reads."],
  purpose: ["What it is for", ""],
  retention: ["How long answers are kept", ""],
  publication: ["What is published", "For example: results of groups of at least 30 people."],
  approval: ["Who approved it", "An ethics board and its number, or: none needed."],
  withdrawal: ["How to take an answer back", "If it is left empty, people are told that nothing can be taken back."],
  hashes: ["Where the page's two numbers are published", "Need not be said."],
};
const ENDING = { debrief: ["After the last question", "Shown on every last screen."], help: ["Where to find help", "A helpline, for example; folded below every question, and on the last screen."] };
const PROTECTION = {
  legal_basis: "Legal basis", subjects: "Who is asked", processors: "Who helps to process", transfers: "Where data go", officer: "Data protection officer",
  authority: "Authority", review: "Date of the next review (such as 2027-06-01)", necessity: "Why it is needed",
};

export function who(main) {
  const data = state.survey.data;
  const own = (name, label, hint, more = {}) => texts(t(label), () => data[name], (value) => (data[name] = value || undefined), { at: name, hint: hint && t(hint), key: name, rows: 1, ...more });
  const left = h("p", { class: "notice" });
  const update = () => {
    const missing = state.survey.facts?.missing ?? [];
    left.hidden = !missing.length;
    left.textContent = t("Before other people may be asked, the survey must state: {names}. Until then it runs only on this machine, and the page calls it a demonstration.", { names: missing.map((name) => t(STATED[name]?.[0] ?? name)).join(", ") });
  };
  const guard = (name) => (value) => {
    data.protection = { ...data.protection, [name]: value || undefined };
    if (!Object.values(data.protection).some((one) => one !== undefined)) delete data.protection;
  };
  /** Set access to single-use links for a station, because its uses are such links. */
  const station = (value) => change(() => {
    data.field = value ? { ...data.field, station: value } : undefined;
    if (value) data.access = "token";
  }, true);
  const plainly = (name, label, hint, more = {}) => field(t(label), input(data[name], (text) => change(() => (data[name] = text === "" ? undefined : more.number ? numberIn(text) || text : text)), { "data-key": name, ...more }), { at: name, hint: hint && t(hint) });
  main.append(
    h("p", { class: "lead" }, t("People must know who asks them. The page itself states what happens to their answers, based on the designs, so that it is true.")), left,
    h("section", { class: "panel" }, h("h2", {}, t("Consent")), own("consent", "What people agree to, in your words", "Who asks and why; that it is voluntary.", { rows: 4, required: true }),
      ...Object.entries(STATED).map(([name, [label, hint]]) => own(name, label, hint, { required: !state.survey.facts.optional.includes(name) && t("required beyond this machine") }))),
    h("section", { class: "panel" }, h("h2", {}, t("At the end")), ...Object.entries(ENDING).map(([name, [label, hint]]) => own(name, label, hint))),
    h("section", { class: "panel" }, h("h2", {}, t("Rules")),
      field(t("Who may answer"), select(data.access ?? "open", [["open", t("Anybody with the link")], ["token", t("Everyone with a personal link, once")], ["blind", t("The same, and links cannot be traced (experimental)")]], (value) => change(() => (data.access = value)), { "data-key": "access" }), { at: "access" }),
      field(t("Your devices on which people answer"), select(data.field?.station ?? "", [["", t("None")], ["kiosk", t("One that stands alone")], ["interviewer", t("One that is handed over and back")]], station, { "data-key": "field" }), { at: "field", hint: t("For people without a phone; works even without a network. It needs personal links.") }),
      data.field && toggle(t("Without a wheel the device receives true answers; people are told so"), data.field.auto === true, (on) => change(() => (data.field = { ...data.field, auto: on || undefined }))),
      plainly("minimum", "Smallest number of people that is shown", "No estimate from fewer people is shown, neither for a group nor for everybody.", { number: true, inputmode: "numeric", placeholder: "30" }),
      plainly("cap", "At most so many reports", "", { number: true, inputmode: "numeric" }),
      plainly("closes", "Last day (as 2026-12-01)", ""),
      toggle(t("A question to practise first"), data.practice !== false, (on) => change(() => (on ? delete data.practice : (data.practice = false)))),
      toggle(t("A question on how it works"), data.check !== false, (on) => change(() => (on ? delete data.check : (data.check = false))))),
    h("details", { class: "panel", open: data.protection !== undefined }, h("summary", {}, h("h2", {}, t("For the data protection assessment"))),
      h("p", { class: "hint" }, t("Respondents do not see it. Preview shows the whole sheet.")),
      ...Object.entries(PROTECTION).map(([name, label]) => texts(t(label), () => data.protection?.[name], guard(name), { at: `protection.${name}`, key: `protection.${name}`, rows: 1 }))),
    same("who"));
  update();
  return { update };
}
