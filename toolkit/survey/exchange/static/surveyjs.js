// A question of type "toolkit" for SurveyJS 2. Its value is the report: the answer is in the
// fields of the page only until "Next" is pressed, and is never a value, a comment or a variable of the survey.

import { ask } from "./ask.js";
import { survey } from "./survey.js";

// Call it once, before `new Survey.Model(model)`.
export function register(Survey) {
  class Question extends Survey.Question {
    getType() { return "toolkit"; }
    get isNewA11yStructure() { return true; } // the fields inside have roles and names; the frame around them has none
  }
  Survey.Serializer.addClass("toolkit", [], () => new Question(""), "question");
  Survey.CustomWidgetCollection.Instance.add({
    name: "toolkit",
    widgetIsLoaded: () => true,
    isFit: (question) => question.getType() === "toolkit",
    htmlTemplate: "<div></div>",
    afterRender: (question, place) => show(question, place.firstElementChild || place),
  }, "customtype");
}

// Draw once: a question that has its report is not asked again. The page moves on, and the form has no button to go back.
async function show(question, place) {
  if (place.firstChild) return; // SurveyJS renders again while a question is shown
  if (!question.isEmpty()) return (place.textContent = survey.words.erased);
  const report = await ask(place, survey.questions.find(({ name }) => name === question.name), survey.words);
  place.textContent = survey.words.erased;
  question.value = Array.isArray(report) ? JSON.stringify(report) : report; // SurveyJS would drop an empty list
  if (question.survey.isLastPage) question.survey.completeLastPage();
  else question.survey.nextPage();
}
