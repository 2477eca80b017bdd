// The screen "Results": tables and plots, overall or by group, and files for readers and for other programs.
import { api, h, notice, number, same, select, state, t, writer } from "./core.js";

/** A table of estimates. Each question is a heading of its rows, with its name in files and plots. */
function estimates({ columns, rows, texts }) {
  const caption = t("Estimates, each with its interval"), names = [...new Set(rows.map(([name]) => name))], count = columns.lastIndexOf("people");
  const cells = (row) => row.slice(1).map((cell, i) => h(i ? "td" : "th", i ? {} : { scope: "row" }, i + 1 === count ? number(cell, 0) : cell));
  const bodies = names.map((name) => h("tbody", {},
    h("tr", {}, h("th", { scope: "rowgroup", colspan: columns.length - 1, class: "question", dir: "auto" }, texts[name] ?? name, " ", h("span", { class: "hint" }, name))),
    ...rows.filter((row) => row[0] === name).map((row) => h("tr", {}, ...cells(row)))));
  const head = columns.slice(1).map((name) => h("th", { scope: "col" }, texts[name] ?? name));
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption }, h("table", {}, h("caption", {}, caption), h("thead", {}, h("tr", {}, ...head)), ...bodies));
}

/** Show the estimates of one collection in an element of the page. */
export async function fillResults(place, which, by) {
  const found = await api("results", { file: state.survey.file, which, by });
  const parts = [];
  if (found.rows.length) parts.push(estimates(found));
  else parts.push(notice(t("There is nothing to show: no question has enough answers yet."), "note"));
  if (found.svg) {
    const address = URL.createObjectURL(new Blob([found.svg], { type: "image/svg+xml" }));
    parts.push(h("figure", { class: "plot", tabindex: 0 }, h("img", { src: address, alt: found.alt })));
  } else if (found.alt) parts.push(notice(found.alt, "note"));
  parts.push(h("ul", { class: "notes" }, ...found.notes.map((note) => h("li", {}, note))));
  place.replaceChildren(...parts);
}

export async function results(main) {
  const now = await api("field", { file: state.survey.file });
  const there = ["real", "rehearsal"].filter((which) => now[which]);
  if (!there.length) {
    main.append(notice(t("Nothing is collected yet. Rehearse or open the survey first."), "note"));
    return;
  }
  const chosen = { which: there[0], by: "" }, body = h("div", {}), said = h("div", {}), choices = h("div", { class: "row" });
  const show = async () => {
    body.replaceChildren(notice(t("Working …")));
    files.querySelectorAll("[data-document=report]").forEach((one) => (one.disabled = now[chosen.which].state !== "closed"));
    try {
      await fillResults(body, chosen.which, chosen.by);
    } catch (problem) {
      body.replaceChildren(notice(problem.message, "wrong"));
    }
  };
  const words = { real: t("Real reports"), rehearsal: t("Rehearsal") };
  function paint() {
    const { groups, texts } = now[chosen.which];
    choices.replaceChildren(
      h("label", {}, t("Collection"), select(chosen.which, there.map((which) => [which, words[which]]), (which) => ((chosen.which = which), (chosen.by = ""), paint(), show()))),
      h("label", {}, t("Groups"), select(chosen.by, [["", t("everybody")], ...groups.map((name) => [name, texts[name] ?? name])], (by) => ((chosen.by = by), show()))));
  }
  const write = (document, ending, label) => writer(label, said, () => ({ document, ending, ...chosen }));
  const files = h("section", { class: "panel", "aria-labelledby": "files" }, h("h2", { id: "files" }, t("Files")),
    h("p", { class: "hint" }, t("A report for readers needs a closed collection. Raw reports are for your eyes only.")),
    h("div", { class: "row" }, write("report", ".html", t("Report (HTML)")), write("report", ".docx", t("Report (Word)")), write("report", ".pdf", t("Report (PDF)")),
      write("codebook", ".html", t("Codebook"))),
    h("div", { class: "row" }, write("export", ".csv", t("Raw reports (CSV)")), write("export", ".sav", t("Raw reports (SPSS)")), write("export", ".dta", t("Raw reports (Stata)"))), said);
  main.append(choices, body, files, same("results"));
  paint();
  await show();
}
