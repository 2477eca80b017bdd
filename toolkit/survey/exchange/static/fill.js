// One question in a page of another program, which has a text field for the report. The answer is in the fields of `ask` only. The
// field of the program gets the report, after those fields are gone.

import { ask, make } from "./ask.js";

// Ask in place of what the program shows in `container`, and write the report into `field`. Return a promise of whether the
// question was asked: it is asked once, so a field that has its report is left as it is.
export async function fill(container, field, { question, words, language, direction, style }) {
  const isNew = field.value === "";
  const place = make("div", { lang: language, dir: direction });
  for (const child of container.children) child.style.display = "none"; // the text and the field of the program
  container.append(make("style", {}, style), place);
  if (isNew) write(field, await ask(place, question, words));
  place.replaceChildren(make("div", { className: "toolkit" }, words.erased));
  return isNew;
}

// Write a value as `read_reports` reads it, and tell the program, which may watch the field or replace its property.
function write(field, value) {
  const text = Array.isArray(value) ? JSON.stringify(value) : value === undefined ? "" : String(value);
  Object.getOwnPropertyDescriptor(Object.getPrototypeOf(field), "value").set.call(field, text);
  for (const type of ["input", "change"]) field.dispatchEvent(new Event(type, { bubbles: true }));
}
