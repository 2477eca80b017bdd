// The screen "Preview": the views of respondents and readers in each language. The phone's page runs in a frame without origin and network access.
import { api, button, h, notice, same, save, select, state, t, writer } from "./core.js";
import { LANGUAGE_WORDS, languagesOf, textIn } from "./kinds.js";

const VIEWS = { phone: "Phone", paper: "Paper", consent: "Consent", assessment: "Assessment" };
const textOf = (name) => `“${textIn(state.survey.data.questions.find((one) => one.name === name)?.text, chosen.language, chosen.language) || name}”`;
const chosen = { view: "phone", language: null };

export async function preview(main) {
  await save();
  const codes = languagesOf(state.survey.data);
  if (!codes.includes(chosen.language)) chosen.language = codes.includes(state.speak) ? state.speak : codes[0];
  const shown = h("div", { class: "shown" });
  const tabs = h("div", { class: "row tabs", role: "group", "aria-label": t("What to look at") }, ...Object.entries(VIEWS).map(([view, title]) => button(t(title), () => {
    chosen.view = view;
    show();
  }, "tab", { "data-view": view })));
  async function show() {
    tabs.querySelectorAll("button").forEach((one) => one.setAttribute("aria-pressed", `${one.dataset.view === chosen.view}`));
    const { file } = state.survey, { view, language } = chosen;
    try {
      if (view === "consent") {
        const { text } = await api("consent", { file, language });
        shown.replaceChildren(h("article", { class: "paper", lang: language, dir: language === "ar" ? "rtl" : "ltr" }, ...text.split("\n\n").map((part) => h("p", {}, part))));
      } else {
        const { path, omitted } = await api("preview", { file, view, language });
        const frame = h("iframe", { src: path, title: t(VIEWS[view]), sandbox: view === "phone" ? "allow-scripts" : "", class: view });
        const less = omitted.length ? [notice(t("Not on paper, because no coin, die or slips can draw the report: {names}.", { names: omitted.map(textOf).join(", ") }))] : [];
        shown.replaceChildren(...less, view === "phone" ? h("div", { class: "phone-frame" }, frame) : frame);
      }
    } catch (problem) {
      shown.replaceChildren(notice(problem.message, "wrong"));
    }
  }
  const said = h("div", {});
  const keep = (document, label) => writer(label, said, () => ({ document }));
  main.append(h("p", { class: "lead" }, t("Try it as a respondent would. Nothing that you tap here is sent.")), tabs,
    codes.length > 1 ? h("label", { class: "row" }, t("Language"), select(chosen.language, codes.map((code) => [code, LANGUAGE_WORDS[code] ?? code]), (code) => ((chosen.language = code), show()))) : "",
    shown, h("div", { class: "row" }, keep("paper", t("Write sheets for paper")), keep("assessment", t("Write the assessment")), keep("xlsform", t("Write a form for ODK and Kobo")),
      keep("jspsych", t("Write a form for jsPsych")), keep("surveyjs", t("Write a form for SurveyJS")),
      keep("qualtrics", t("Write a form for Qualtrics")), keep("limesurvey", t("Write a form for LimeSurvey"))), said, same("preview"));
  await show();
}
