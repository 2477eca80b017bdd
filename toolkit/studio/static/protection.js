// The screen "Protection": the privacy loss and precision of each question, live, from numbers that Python computed.
import { api, button, change, field, fillSlot, h, input, meter, notice, number, numberIn, repaint, same, select, slot, state, svg, t } from "./core.js";
import { familyOf, isProtected, kindOf, languagesOf, maker, textIn } from "./kinds.js";

const MODES = [["", "The phone does it"], ["guided", "A wheel on the phone"], ["physical", "A coin or a die of their own"]];
const PICTURES = {
  of_yes: "True answer yes: about {count} of 100 send yes",
  of_no: "True answer no: about {count} of 100 send yes",
  same: "About {count} of 100 send their true answer",
  guess: "At most {count} of 100 guesses between two answers are right",
};
const settings = JSON.parse(sessionStorage.getItem("studio:people") ?? '{"n":1000,"subgroup":10}');
const curves = new Map();

export function protection(main) {
  const data = state.survey.data;
  const total = h("div", { class: "total", "aria-live": "polite" });
  const cards = (data.questions ?? []).map((question, i) => (isProtected(question) ? card(question, i, data) : plainCard(question, i, data)));
  const planned = h("div", {});
  const people = (name) => (text) => {
    const value = numberIn(text);
    if (!(value > 0)) return;
    settings[name] = name === "n" ? Math.round(value) : value;
    sessionStorage.setItem("studio:people", JSON.stringify(settings));
    clearTimeout(people.timer);
    people.timer = setTimeout(refresh, 250);
  };
  async function refresh() {
    await Promise.all(cards.map((one) => one.load?.()));
    await plan();
  }
  async function plan() {
    try {
      const made = await api("plan", { file: state.survey.file, n: settings.n, subgroup: settings.subgroup / 100 });
      cards.forEach((one) => one.plan?.(made.rows));
      planned.replaceChildren(h("details", {}, h("summary", {}, t("How these margins are computed")), ...made.notes.map((note) => h("p", { class: "hint" }, note))));
    } catch (problem) {
      planned.replaceChildren(notice(problem.message, "wrong"));
    }
  }
  /** Give the same epsilon, a multiple of 0.1, to all questions whose epsilon can be changed. */
  function evenly() {
    const moved = (question) => familyOf(maker(question))?.by_epsilon;
    const fixed = data.questions.reduce((sum, question, i) => sum + (isProtected(question) && !moved(question) ? Number(state.survey.facts.questions[i]?.epsilon) || 0 : 0), 0);
    const each = data.questions.filter(moved), left = (state.survey.facts.ceiling === "inf" ? 3 : state.survey.facts.ceiling) - fixed;
    const epsilon = Math.max(1, Math.floor((10 * left) / each.length + 1e-6)) / 10;
    change(() => each.forEach((question) => {
      const name = maker(question), { p, ...rest } = question.design[name];
      question.design = { [name]: { ...rest, epsilon } };
    }), true);
  }
  function update() {
    const { epsilon, ceiling } = state.survey.facts;
    const words = epsilon === "inf" ? t("A report of this survey can prove an answer.")
      : t("All questions together cost a person epsilon {spent} of at most {ceiling}.", { spent: number(Math.ceil(epsilon * 1000 - 1e-9) / 1000, 3), ceiling: ceiling === "inf" ? "∞" : number(ceiling) });
    total.replaceChildren(meter(epsilon === "inf" ? 1e9 : epsilon, ceiling === "inf" ? 1e9 : ceiling, words));
    plan();
  }
  main.append(
    h("p", { class: "lead" }, t("Stronger protection needs more people. Move a slider and see both.")),
    h("section", { class: "panel sticky", "aria-labelledby": "people" }, h("h2", { id: "people" }, t("Your survey")),
      h("div", { class: "row" },
        field(t("People who answer"), input(settings.n, people("n"), { inputmode: "numeric", "data-key": "n" })),
        field(t("Smallest group, in percent of all people"), input(settings.subgroup, people("subgroup"), { inputmode: "decimal", "data-key": "subgroup" })),
        field(t("Ceiling: the maximum privacy loss of one person"), input(data.ceiling ?? 3, (text) => change(() => (data.ceiling = text === "inf" ? "inf" : numberIn(text) || text)), { "data-key": "ceiling" }), { at: "ceiling" })),
      total, button(t("Divide the ceiling evenly"), evenly, "small")),
    h("ol", { class: "questions" }, ...cards.map((one) => one.element)), planned, same("protection"));
  update();
  cards.forEach((one) => one.load?.());
  return { update, stop: () => clearTimeout(people.timer) };
}

function heading(question, i, data) {
  const first = languagesOf(data)[0];
  return h("h2", { class: "text", dir: "auto" }, h("span", { class: "place" }, `${i + 1}`), textIn(question.text, first, first) || question.name);
}

function plainCard(question, i, data) {
  const margin = h("span", { class: "chip" });
  return {
    element: h("li", { class: "card" }, heading(question, i, data),
      h("p", {}, h("span", { class: "chip bare" }, t("plain")), " ", t("Sent as it is; nothing protects it."), " ", margin), slot(`q${i}`)),
    plan(rows) {
      const row = rows[question.name];
      margin.hidden = !row?.margin;
      margin.textContent = row?.margin ?? "";
    },
  };
}

/** A picture of a hundred people in five rows, of which the first `count` are filled. */
function hundred() {
  const people = Array.from({ length: 100 }, (_, i) => svg("circle", { cx: 6 + 12 * (i % 20), cy: 6 + 12 * Math.floor(i / 20), r: 4.5, class: "person" }));
  const picture = svg("svg", { viewBox: "0 0 240 60", "aria-hidden": "true", class: "hundred" }, ...people);
  let filled = 0;
  return {
    picture,
    fill(count) {
      for (let i = Math.min(filled, count); i < Math.max(filled, count); i += 1) people[i].classList.toggle("yes", i < count);
      filled = count;
    },
  };
}

/** Return all settings of one randomizer for a question, which are requested only once. */
async function curve({ "#": _, ...table }, family) {
  const given = { table, family, n: settings.n, subgroup: settings.subgroup / 100, page_language: state.speak }, key = JSON.stringify(given);
  if (!curves.has(key)) curves.set(key, await api("curve", given));
  return curves.get(key);
}

function card(question, i, data) {
  const kind = kindOf(question);
  let rows = [], family = maker(question);
  const known = familyOf(family) !== undefined;
  const slider = h("input", { type: "range", min: 0, max: 0, step: 1, disabled: true, "data-key": `q${i}.slider`, "aria-label": t("Protection of question {place}", { place: i + 1 }) });
  const epsilon = h("output", { class: "epsilon" }), odds = h("div", { class: "odds" }), margin = h("strong", {}), small = h("strong", {});
  const people = [hundred(), hundred()], captions = [h("figcaption", {}), h("figcaption", {})];
  const figures = people.map((one, place) => h("figure", { class: "people", hidden: true }, one.picture, captions[place]));
  const wrong = h("div", { class: "problem" });

  /** Repaint from the list of settings, so that moving the slider sends no request. */
  function draw() {
    const row = rows[slider.value];
    if (!row) return;
    fillSlot(wrong, row.problem ? [row.problem] : []);
    if (row.problem) return;
    const value = row.epsilon === "inf" ? "∞" : number(Math.ceil(row.epsilon * 1000 - 1e-9) / 1000, 3);
    epsilon.textContent = `ε ${value}`;
    slider.setAttribute("aria-valuetext", `epsilon ${value}, ${row.margin}`);
    odds.textContent = row.odds.join(" ");
    margin.textContent = row.margin;
    small.textContent = row.small_margin || "—";
    figures.forEach((figure, place) => {
      const picture = row.pictures[place];
      figure.hidden = !picture;
      if (!picture) return;
      people[place].fill(picture.count);
      captions[place].textContent = t(PICTURES[picture.what], { count: picture.count });
    });
  }
  async function load() {
    if (!known) return;
    if (!rows.length) [epsilon.textContent, margin.textContent, small.textContent] = ["ε …", "…", "…"];
    rows = await curve(question, family);
    slider.disabled = !rows.length;
    slider.max = rows.length - 1;
    slider.value = nearest();
    draw();
  }
  /** Return the index of the setting in the file, or of the setting with the nearest epsilon. */
  function nearest() {
    const exactly = rows.findIndex((row) => JSON.stringify(row.change.design) === JSON.stringify(question.design) && (!row.change.innocent || row.change.innocent.born === question.innocent?.born));
    const cost = state.survey.facts.questions[i]?.epsilon ?? 1;
    const far = (row) => (row.problem || row.epsilon === "inf" ? Infinity : Math.abs(row.epsilon - cost));
    return exactly >= 0 ? exactly : rows.reduce((best, row, place) => (far(row) < far(rows[best]) ? place : best), 0);
  }
  function take(place) {
    const row = rows[place];
    if (!row) return;
    change(() => Object.entries(row.change).forEach(([name, value]) => (value === null || value === undefined ? delete question[name] : (question[name] = structuredClone(value)))));
  }
  slider.addEventListener("input", draw);
  slider.addEventListener("change", () => take(slider.value));
  const families = Object.keys(state.survey.facts.families[kind] ?? {});
  const offered = families.includes(family) ? families : [family, ...families];
  const about = h("p", { class: "hint" }, known ? t(familyOf(family).description) : t("This design was written by hand; it stays as it is."));
  /** Choose a different randomizer with at most the same epsilon, so that the ceiling is not exceeded. */
  const pick = async (name) => {
    const most = (Number(state.survey.facts.questions[i]?.epsilon) || 1) / (Number(data.waves) || 1);
    family = name;
    question.design = { [name]: kind === "likert" ? { points: 5, epsilon: 1 } : { epsilon: 1 } };
    rows = await curve(question, family);
    if (name !== "crosswise" && question.mode === "physical") delete question.mode;
    take(Math.max(0, rows.findLastIndex((row) => !row.problem && row.epsilon <= most + 1e-6)));
    repaint();
  };
  const device = field(t("Who brings chance in"), select(family, offered.map((name) => [name, t(familyOf(name)?.title ?? name)]), pick, { "data-key": `q${i}.family` }), { at: `q${i}.design` });
  const mode = family === "crosswise" ? null : field(t("How"), select(question.mode ?? "", MODES.map(([key, text]) => [key, t(text)]), (value) => change(() => (value ? (question.mode = value) : delete question.mode)), { "data-key": `q${i}.mode` }), { at: `q${i}.mode` });
  const body = known ? [
    h("div", { class: "slider" }, h("span", { "aria-hidden": "true" }, t("stronger protection")), slider, h("span", { "aria-hidden": "true" }, t("more precise"))), wrong,
    h("div", { class: "live" }, h("div", {}, epsilon, odds), h("div", {}, ...figures),
      h("dl", { class: "margins" }, h("dt", {}, t("Margin, everybody")), h("dd", {}, margin), h("dt", {}, t("Margin, smallest group")), h("dd", {}, small))),
    solver(question, () => rows, (place) => (slider.value = place, draw(), take(place))),
  ] : [h("p", { class: "odds" }, (state.survey.facts.questions[i]?.odds ?? []).join(" "))];
  return {
    load,
    element: h("li", { class: "card" }, heading(question, i, data), h("div", { class: "row" }, device, mode), about, ...body, slot(`q${i}`)),
  };
}

/** A form that finds the number of people, or the setting, for a desired margin such as ± 3 points. */
function solver(question, rows, take) {
  const answer = h("div", { role: "status" }), wish = input("", () => {}, { inputmode: "decimal", placeholder: "3" });
  const value = () => numberIn(wish.value || "3");
  const solve = async () => {
    const share = rows()[0]?.share ?? true, margin = share ? value() / 100 : value();
    const place = rows().findIndex((row) => !row.problem && row.number !== "inf" && row.number <= margin);
    try {
      const { n } = await api("needed", { file: state.survey.file, name: question.name, margin });
      const people = n ? t("With this protection it needs {n} people.", { n: number(n, 0) }) : "";
      const other = place < 0 ? t("With {n} people no setting here is precise enough.", { n: number(settings.n, 0) })
        : t("With {n} people it needs epsilon {epsilon}.", { n: number(settings.n, 0), epsilon: number(rows()[place].epsilon) });
      answer.replaceChildren(h("p", {}, `${people} ${other} `, place >= 0 && button(t("Take it"), () => take(place), "small")));
    } catch (problem) {
      answer.replaceChildren(notice(problem.message, "wrong"));
    }
  };
  return h("details", {}, h("summary", {}, t("I want a margin: how many people, or which epsilon?")),
    h("div", { class: "row" }, field(t("Margin, in points or in the unit of the number"), wish), button(t("Solve"), solve)), answer);
}
