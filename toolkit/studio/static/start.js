// The screen "Start": a new survey from an example, an existing survey, or a table from which statistics are released.
import { api, button, field, h, input, notice, select, state, t } from "./core.js";

const EXAMPLES = [
  ["empty", "Empty", "A title and a consent text, nothing else."],
  ["exam", "Exams", "Six questions on how students take exams, one of each kind."],
  ["workplace", "Workplace", "Bullying, speaking up and unpaid hours, by department."],
  ["health", "Health", "Medicine, alcohol and worries, with an option not to answer."],
  ["class", "Class", "Two questions for a lesson; the wheel on the phone says what to tap."],
];

export async function start(main, go) {
  const files = await api("files");
  let chosen = "empty";
  const known = new Set(files.surveys.map((one) => one.file));
  const free = (stem) => [`${stem}.toml`, ...Array.from({ length: 99 }, (_, i) => `${stem}-${i + 2}.toml`)].find((name) => !known.has(name));
  const name = input(free("survey"), () => {}, { spellcheck: "false" });
  const said = h("div", {});
  const make = async (event) => {
    event.preventDefault();
    try {
      const file = name.value.trim().endsWith(".toml") ? name.value.trim() : `${name.value.trim()}.toml`;
      await api("new", { file, example: chosen, language: state.speak });
      go("survey", file, "questions");
    } catch (problem) {
      said.replaceChildren(notice(problem.message, "wrong"));
    }
  };
  const cards = EXAMPLES.map(([key, title, about]) => {
    const radio = h("input", { type: "radio", name: "example", value: key, onchange: () => (chosen = key) });
    radio.checked = key === chosen;
    return h("label", { class: "card choice" }, radio, h("span", {}, h("strong", {}, t(title)), h("span", { class: "hint" }, t(about))));
  });
  main.append(
    h("h1", { tabindex: -1 }, t("What would you like to do?")),
    h("p", { class: "lead" }, t("Everything you do here is kept in the folder {folder}, as files that you, Python and the shell can read.", { folder: files.path })),
    h("div", { class: "columns" },
      h("section", { "aria-labelledby": "s-new" }, h("h2", { id: "s-new" }, t("Ask people")),
        h("form", { onsubmit: make }, h("fieldset", {}, h("legend", {}, t("A new survey, from")), h("div", { class: "cards" }, ...cards)),
          field(t("Name of its file"), name, { required: true }), h("button", { class: "main" }, t("Create the survey")), said)),
      h("div", {},
        h("section", { "aria-labelledby": "s-old" }, h("h2", { id: "s-old" }, t("Surveys in this folder")),
          files.surveys.length ? h("ul", { class: "files" }, ...files.surveys.map((one) => h("li", {}, h("a", { href: `#/survey/${encodeURIComponent(one.file)}/questions` },
            h("strong", {}, one.title || one.file), h("span", { class: "hint" }, one.file))))) : h("p", { class: "hint" }, t("There are none yet."))),
        h("section", { "aria-labelledby": "s-table" }, h("h2", { id: "s-table" }, t("Publish statistics of a table")),
          h("p", { class: "hint" }, t("A CSV or Parquet file in this folder. It stays here, and nothing from its rows is shown before a release is charged.")),
          files.tables.length ? h("ul", { class: "files" }, ...files.tables.map((one) => h("li", {}, h("a", { href: `#/table/${encodeURIComponent(one)}` }, one))))
            : h("p", { class: "hint" }, t("There is none yet. Copy one into the folder."))))));
}
