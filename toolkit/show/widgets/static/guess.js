// Predictions: an explorer asks for a guess before it shows the answer, and then shows both next to each other.
import { html, set, write } from "./elements.js";

/** Format a number as typed, with thousands separators, at most three decimals, and no trailing zeros. */
export function plain(value) {
  const rounded = Math.floor(value * 1000 + 0.5) / 1000;
  return rounded.toLocaleString("en-US", { maximumFractionDigits: 3 });
}

/** Two bars, the guess and the truth; the longer bar fills the width that its number leaves. */
function beside() {
  const lines = ["your guess", "truth"].map((name, i) => {
    const [bar, end] = [html("span", { class: `bar ${i ? "yes" : "prior"}` }), html("span", { class: "value" })];
    return { bar, end, element: html("div", { class: "guessed" }, html("span", { class: "name" }, name), bar, end) };
  });
  const element = html("div", { role: "img" }, ...lines.map((line) => line.element));
  function show(values, texts) {
    const most = Math.max(...values, 1e-12);
    lines.forEach(({ bar, end }, i) => {
      bar.style.width = `${(60 * Math.max(values[i], 0)) / most}%`;
      write(end, texts[i]);
    });
    set(element, { "aria-label": `Your guess ${texts[0]}, the truth ${texts[1]}` });
  }
  return { element, show };
}

/**
 * The part that asks for a guess. `value(reading)` is the true number, and `text(value)` formats it as in the widget's
 * sentences. `hide(hidden)` is called with whether the answer must stay hidden.
 */
export function guessing({ value, text }, prompt, hide) {
  const box = html("input", { type: "number", step: "any", "aria-label": `Your guess, ${prompt.unit}`, "data-name": "guess-box" });
  const show = html("button", { type: "button", "data-name": "guess" }, "Show me");
  const again = html("button", { type: "button", "data-name": "guess-again" }, "Guess again");
  const form = html("div", { class: "player" }, html("span", {}, "I guess"), box, html("span", {}, prompt.unit), show);
  const [bars, words] = [beside(), html("div", { class: "verdict", role: "status" })];
  const reply = html("div", {}, words, bars.element, html("div", { class: "player" }, again));
  return {
    name: "prediction",
    element: html("div", { class: "guessing" }, html("h4", {}, prompt.question), form, reply),
    draw(reading, { prediction }) {
      const open = prediction === null || prediction === undefined;
      [form.hidden, reply.hidden] = [!open, open];
      hide(open);
      if (open) return;
      const truth = value(reading);
      bars.show([prediction, truth], [plain(prediction), text(truth)]);
      const values = { guess: plain(prediction), unit: prompt.unit, truth: text(truth) };
      write(words, prompt.verdict.replace(/\{(\w+)\}/g, (_, key) => values[key]));
    },
    listen(choose) {
      const made = () => {
        if (Number.isFinite(box.valueAsNumber)) choose({ prediction: box.valueAsNumber }, true);
        else box.focus();
      };
      show.addEventListener("click", made);
      box.addEventListener("keydown", (event) => event.key === "Enter" && made());
      again.addEventListener("click", () => {
        box.value = "";
        choose({ prediction: null }, true);
        box.focus();
      });
    },
  };
}
