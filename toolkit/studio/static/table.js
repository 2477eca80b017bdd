// The curator's screen: columns and bounds by hand, statistics with their cost and noise before a release, and the ledger.
import { api, ask, button, codes, field, h, input, meter, notice, number, numberIn, outdated, select, t, tableOf, toggle, work, wrong } from "./core.js";

const STATISTICS = {
  count: "How many rows", histogram: "How many rows in each category", mean: "Mean", sum: "Sum", std: "Standard deviation", median: "Median", bounds: "Propose bounds (paid)", synthesize: "Synthetic table",
};
const WEIGHTED = ["count", "histogram", "mean", "sum"];

export async function table(main, file) {
  let now = await api("table", { table: file }), timer;
  const columns = h("div", {}), queue = h("div", {}), ledger = h("div", {}), adder = h("div", {}), firstPanel = h("div", {});
  const weights = h("div", {}), weightsVerdict = h("div", {});

  let line = Promise.resolve(), version = 0, unsaved = false;
  const chosen = { verb: "count", column: null, by: "", columns: [], other: true, weighted: true };

  /** Disable releases until the changes are saved and their costs are computed, because the page shows outdated costs. */
  function hold() {
    version += 1;
    unsaved = true;
    clearTimeout(timer);
    queue.querySelectorAll("button.main").forEach((one) => (one.disabled = true));
  }
  /** Save the session, one request after the other, and keep all text that was typed in the meantime. */
  function save(again = true) {
    hold();
    const mine = version;
    line = line.then(async () => {
      const session = now.session;
      try {
        const answer = await api("table_save", { table: file, hash: now.hash, session });
        now = mine === version ? answer : { ...answer, session };
        unsaved = mine !== version;
        wrong("");
      } catch (problem) {
        if (problem.status === 409) return outdated(problem);
        wrong(problem.message);
      }
      if (mine === version) (again ? paint : results)();
      return undefined;
    });
  }
  const soon = () => {
    hold();
    timer = setTimeout(() => save(false), 500);
  };
  const about = (name) => (now.session.columns[name] ??= {});

  function columnRow({ name, kind, type }) {
    const one = now.session.columns[name] ?? {};
    const bound = (key) => input(one[key], (text) => {
      if (text.trim() === "") delete about(name)[key];
      else if (!Number.isNaN(numberIn(text))) about(name)[key] = numberIn(text);
      soon();
    }, { inputmode: "decimal", disabled: kind === "text", "aria-label": `${key === "low" ? t("Smallest possible") : t("Largest possible")}: ${name}` });
    const options = input((one.options ?? []).join(", "), (text) => {
      const parts = text.split(",").map((part) => part.trim()).filter(Boolean);
      about(name).options = parts;
      if (!parts.length) delete about(name).options;
      soon();
    }, { "aria-label": `${t("Categories, separated by commas")}: ${name}`, placeholder: kind === "number" ? "1, 2, 3" : t("north, south") });
    const choose = (value) => ((about(name).type = value), save());
    const holds = now.typed ? type : select(kind, [["text", t("Text")], ["number", t("Numbers")]], choose, { "aria-label": `${t("What it holds")}: ${name}`, "data-key": `type.${name}` });
    return [name, holds, bound("low"), bound("high"), options];
  }

  /** The fields that describe the weights of a sample. Only the curator can state how they were made: the data do not show it. */
  function weightsFields() {
    const mine = (now.session.weights ??= {});
    const change = (key) => (text) => {
      if (text.trim() === "") delete mine[key];
      else if (key === "deff") mine.deff = text.trim().replace(",", ".");
      else if (!Number.isNaN(numberIn(text))) mine[key] = numberIn(text);
      soon();
    };
    const column = select(mine.column ?? "", [["", t("none: every row counts once")], ...now.columns.map(({ name }) => [name, name])], (name) => {
      if (name) mine.column = name;
      else delete mine.column;
      save();
    }, { "data-key": "weights.column" });
    const rest = [
      field(t("Smallest possible weight"), input(mine.low, change("low"), { inputmode: "decimal" })),
      field(t("Largest possible weight"), input(mine.high, change("high"), { inputmode: "decimal" })),
      field(t("Design effect, if it is public"), input(mine.deff, change("deff"), { inputmode: "decimal", placeholder: "1.4" })),
    ];
    const made = select(`${mine.fixed ?? ""}`, [["", t("choose")], ["true", t("by the sampling design: each depends on its own row alone")], ["false", t("adjusted to these data: raked, poststratified, for nonresponse")]], (value) => {
      if (value) mine.fixed = value === "true";
      else delete mine.fixed;
      save();
    }, { "data-key": "weights.fixed" });
    weights.replaceChildren(field(t("Column of the weights"), column), ...(mine.column ? [h("div", { class: "row" }, ...rest), field(t("How the weights were made"), made), weightsVerdict] : []));
  }

  /** Ask whether the first line has the column names. Otherwise it is a person's record, so it is never shown here. */
  function firstLine() {
    const answer = (header) => () => ((now.session.header = header), save());
    return h("section", { class: "panel", "aria-labelledby": "first" }, h("h2", { id: "first" }, t("What is in the first line of the file?")),
      h("p", {}, t("Look at the file yourself. If it has no column names, its first line is a record, which must not be shown here.")),
      h("div", { class: "row" }, button(t("The names of the columns"), answer(true), "main"), button(t("A record: there are no names"), answer(false))));
  }

  /** Charge and publish a release, or publish it again. If its pages cannot be written, show this; the numbers are stored. */
  async function released(action, given) {
    now = await api(action, { table: file, ...given });
    paint();
    wrong(now.unpublished ?? "");
  }

  /** Save the rows of a synthetic table on the reader's machine; they are also in the folder of the studio. */
  async function download(name) {
    const made = await api("table_rows", { table: file, name });
    const link = h("a", { href: URL.createObjectURL(new Blob([made.text], { type: "text/csv" })), download: made.file });
    link.click();
    URL.revokeObjectURL(link.href);
    return t("The rows are also in the folder: {file}", made);
  }

  function statistic(one, index) {
    const facts = now.statistics[index] ?? {}, said = h("div", {});
    const title = [t(STATISTICS[one.verb]), one.column, one.columns?.join(" × "), one.by && t("by {name}", { name: one.by }), one.weighted && t("weighted")].filter(Boolean).join(" · ");
    if (facts.released) {
      const take = one.verb === "bounds" ? button(t("Take these as bounds"), () => {
        const values = facts.rows.map((row) => Number(row[facts.columns.indexOf("estimate")] ?? row[1]));
        Object.assign(about(one.column), { low: Math.min(...values), high: Math.max(...values) });
        save();
      }, "small") : null;
      const rows = one.verb === "synthesize" && facts.published ? button(t("Download the rows"), (event) => work(event.target, said, () => download(facts.file)), "small") : null;
      return h("li", { class: "card" }, h("h3", {}, title, " ", h("span", { class: "chip safe" }, t("released"))),
        facts.measured && h("p", { class: "hint" }, t("Measured with noise: {tables}. All other statistics of the rows come from a model and have no interval.", { tables: facts.measured.join(", ") })), tableOf(facts.columns, facts.rows, facts.published ? t("As published in {file}", { file: `${facts.file}.html` }) : t("Kept, but not published yet")),
        facts.published ? (rows ?? take) : button(t("Publish it again"), (event) => work(event.target, said, () => released("publish", { name: facts.file })), "small"), said);
    }
    const size = facts.sd && { number: number(facts.sd) };
    const cell = size && (one.verb === "synthesize" ? t("standard error {number} in each count of one column", size) : t("standard error {number} in each cell", size));
    const mean = facts.per_value && t("standard error about {number} divided by the number of rows: with 1,000 rows {example}", { number: number(facts.per_value), example: number(facts.per_value / 1000) });
    const noise = facts.problem ? notice(facts.problem, "wrong") : h("dl", { class: "facts" }, h("dt", {}, t("Price")), h("dd", {}, facts.price ?? ""),
      h("dt", {}, t("Noise")), h("dd", {}, cell || mean || t("depends on the data"), one.weighted && t("; the error of the sample is added to it in the release")),
      h("dt", {}, t("Budget")), h("dd", {}, facts.fits ? t("enough is left") : t("not enough is left")));
    const price = input(one.epsilon, (text) => ((one.epsilon = text.replace(",", ".")), soon()), { inputmode: "decimal", "data-key": `price${index}` });
    const release = async (event) => {
      const pressed = event.target;
      if (await ask(t("Release it?"), t("The ledger is charged {price}, then the table is read. A charge is never taken back.", { price: facts.price }), t("Pay and release"), "main")) {
        await work(pressed, said, () => released("release", { index, hash: facts.hash }));
      }
    };
    return h("li", { class: "card" }, h("h3", {}, title), field(t("Epsilon"), price), h("div", { class: "verdict" }, noise),
      h("div", { class: "row" }, button(t("Release"), release, "main", { disabled: unsaved || !facts.fits }), button(t("Remove"), () => (now.session.statistics.splice(index, 1), save()), "small")), said,
      facts.code && codes([[null, facts.code]]));
  }

  function add() {
    const names = now.columns.map((one) => one.name);
    if (!names.includes(chosen.column)) Object.assign(chosen, { column: names[0], by: "" });
    const column = field(t("Column"), select(chosen.column, names.map((name) => [name, name]), (name) => (chosen.column = name)));
    const by = field(t("By"), select(chosen.by, [["", t("everybody")], ...names.map((name) => [name, name])], (name) => (chosen.by = name)));
    const columnsOf = h("fieldset", { class: "field" }, h("legend", {}, t("Columns of the table")),
      h("div", { class: "row" }, ...names.map((name) => toggle(name, chosen.columns.includes(name), (on) => {
        chosen.columns = names.filter((other) => (other === name ? on : chosen.columns.includes(other)));
      }))),
      toggle(t("Count all other values of a column as “other”; without it, rows with other values are left out"), chosen.other, (on) => (chosen.other = on)));
    const weighted = toggle(t("With weights"), chosen.weighted, (on) => (chosen.weighted = on));
    const fit = () => {
      const isTable = chosen.verb === "synthesize";
      column.hidden = isTable || chosen.verb === "count";
      by.hidden = isTable || ["histogram", "bounds"].includes(chosen.verb);
      columnsOf.hidden = !isTable;
      weighted.hidden = !now.session.weights?.column || !WEIGHTED.includes(chosen.verb);
    };
    const verb = field(t("Statistic"), select(chosen.verb, Object.entries(STATISTICS).map(([key, text]) => [key, t(text)]), (value) => ((chosen.verb = value), fit())));
    const push = () => {
      const one = { verb: chosen.verb, epsilon: "0.1" };
      if (!column.hidden) one.column = chosen.column;
      if (chosen.by && !by.hidden) one.by = chosen.by;
      if (!columnsOf.hidden) Object.assign(one, { columns: chosen.columns, other: chosen.other });
      if (chosen.weighted && !weighted.hidden) one.weighted = true;
      now.session.statistics.push(one);
      Object.assign(chosen, { verb: "count", by: "", columns: [] });
      save();
    };
    fit();
    adder.replaceChildren(h("div", { class: "row" }, verb, column, by, weighted, button(t("Add to the list"), push, "main")), columnsOf);
  }

  function results() {
    const typing = document.activeElement?.dataset?.key, at = document.activeElement?.selectionStart;
    const { spent, ceiling, remaining, entries } = now.ledger;
    ledger.replaceChildren(meter(spent, ceiling, t("Spent epsilon {spent} of {ceiling}; {remaining} is left.", { spent: number(spent, 4), ceiling: number(ceiling, 4), remaining: number(remaining, 4) })),
      entries.length ? tableOf([t("No."), t("For"), t("Epsilon")], entries.map((one) => [`${one.number}`, one.label, number(one.epsilon, 4)]), t("The ledger, {file}", now.ledger)) : h("p", { class: "hint" }, t("Nothing was spent yet.")));
    queue.replaceChildren(now.session.statistics.length ? h("ol", { class: "questions" }, ...now.session.statistics.map(statistic)) : h("p", { class: "hint" }, t("The list is empty.")));
    const { problem } = now.weights, given = now.session.weights ?? {};
    const isUnfinished = given.fixed === undefined || given.low === undefined || given.high === undefined;
    weightsVerdict.replaceChildren(problem ? notice(problem, isUnfinished ? "note" : "wrong") : notice(t("Weights are clipped to these limits. Counts, sums and means then estimate the population."), "good"));
    const typed = typing && queue.querySelector(`[data-key="${typing}"]`);
    if (typed) {
      typed.focus();
      typed.setSelectionRange(at, at);
    }
  }

  function paint() {
    const focused = document.activeElement?.dataset?.key;
    firstPanel.replaceChildren(...(now.header === null ? [firstLine()] : []));
    plan.hidden = now.header === null;
    columns.replaceChildren(tableOf([t("Column"), t("What it holds"), t("Smallest possible"), t("Largest possible"), t("Categories")], now.columns.map(columnRow), t("What is possible, by column")));
    weightsFields();
    add();
    results();
    rules.disabled = now.ledger.begun;
    if (focused) main.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus();
  }
  const rules = h("fieldset", { class: "row field" }, h("legend", {}, t("Promise")),
    field(t("Budget in all (epsilon)"), input(now.session.ceiling, (text) => ((now.session.ceiling = text.replace(",", ".")), soon()), { inputmode: "decimal" })),
    field(t("One person"), select(now.session.neighbors, [["replace", t("changes a row")], ["add_remove", t("comes or goes")]], (value) => ((now.session.neighbors = value), save())),
      { hint: t("Changes a row: the number of rows is public. Comes or goes: it is secret.") }));
  const said = h("div", {});
  const book = button(t("Write the session as a notebook"), (event) => work(event.target, said, async () => t("Written into the folder: {file}", await api("table_notebook", { table: file, hash: now.hash }))));
  const plan = h("div", {}, h("section", { class: "panel" }, h("h2", {}, t("Budget")), rules, ledger),
    h("section", { class: "panel" }, h("h2", {}, t("Columns")), !now.typed && h("p", { class: "hint" }, t("All cells are text until you state that a column contains numbers. Then a cell that is not a number counts as missing.")),
      h("p", { class: "hint" }, t("Values beyond the bounds are clamped to them. Do not look at the data to choose the bounds: they would reveal something about the data.")), columns),
    h("section", { class: "panel" }, h("h2", {}, t("Weights")), h("p", { class: "hint" }, t("If people were sampled with unequal probabilities, each row has a weight: the number of people whom it represents. Enter its limits from the sampling design, not from the data.")), weights),
    h("section", { class: "panel" }, h("h2", {}, t("Statistics")), adder, queue, h("div", { class: "row" }, book), said));
  main.append(h("h1", { tabindex: -1 }, file),
    h("p", { class: "lead" }, t("The table stays in its folder. Nothing from its rows is shown before a release is charged: enter bounds and categories from what you know, not from the data.")),
    firstPanel, plan);
  paint();
  return { stop: () => clearTimeout(timer) };
}
