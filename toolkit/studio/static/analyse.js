// The screen "Analyse": a notebook for this survey, in which the analysis continues.
import { api, h, same, select, state, t, writer } from "./core.js";

export async function analyse(main) {
  const said = h("div", {}), now = await api("field", { file: state.survey.file });
  let which = now.real || !now.rehearsal ? "real" : "rehearsal";
  const words = "Written into the folder: {file}. Open it in JupyterLab and run it.";
  main.append(h("p", { class: "lead" }, t("The studio itself does not analyse data. It writes a notebook with the first steps for this survey: load, estimate, compare groups, fit a model, plot.")),
    h("div", { class: "row" }, h("label", {}, t("Collection"), select(which, [["real", t("Real reports")], ["rehearsal", t("Rehearsal")]], (value) => (which = value))), writer(t("Write the notebook"), said, () => ({ document: "notebook", which }), { words, kind: "main" })), said, same("analyse"));
}
