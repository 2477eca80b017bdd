// A plugin for jsPsych 8. One trial asks for consent and then all questions; its data are one column per question, with the
// report in place of the answer to a hidden question. No reaction time and no key is recorded, as they could tell the answer.

import { askAll, consent } from "./ask.js";
import { version } from "./hide.js";
import { survey } from "./survey.js";

export class HiddenForm {
  static info = { name: "toolkit-form", version, parameters: {}, data: {} };

  constructor(jsPsych) {
    this.jsPsych = jsPsych;
  }

  trial(display, { extensions = [] }) {
    // Extensions record the mouse, the eyes or the screen.
    if (extensions.length) throw new Error("a trial with hidden questions must have no extensions: they can record the answer");
    consent(display, survey).then(async (takesPart) => {
      if (takesPart) return this.jsPsych.finishTrial(await askAll(display, survey));
      return this.jsPsych.abortExperiment(survey.words.end_declined, { declined: true });
    });
  }
}
