// A question of LimeSurvey. Its text field gets the report; the buttons of LimeSurvey appear once the report is there.

import { fill } from "./fill.js";

function begin() {
  const container = document.getElementById("toolkit-" + form.question.name).closest("[id^=question]");
  const buttons = document.querySelectorAll(".ls-move-btn");
  buttons.forEach((button) => button.style.setProperty("display", "none", "important"));
  fill(container, container.querySelector("input[id^=answer], textarea[id^=answer]"), form).then((isNew) => {
    buttons.forEach((button) => button.style.removeProperty("display"));
    if (isNew) document.getElementById("ls-button-submit").click();
  });
}

// The field comes after this script. LimeSurvey may also insert the question into a page that is there already.
if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", begin);
else begin();
