// A question of Qualtrics. Its text field gets the report; no other field, no embedded data and no log gets anything.

import { fill } from "./fill.js";

Qualtrics.SurveyEngine.addOnReady(function () {
  const container = this.getQuestionContainer();
  this.hidePreviousButton();
  this.hideNextButton();
  fill(container, container.querySelector("input[type=text], textarea"), form).then((isNew) => {
    this.showNextButton();
    if (isNew) this.clickNextButton();
  });
});
