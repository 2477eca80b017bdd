// The view of a ledger: the spent part of a privacy budget, the charges, and the remaining part.
import { html, set, svg, write } from "./elements.js";
import { explorer, figure, panel, said } from "./kit.js";
import { picture } from "./pictures.js";

const [LEFT, WIDTH] = [16, 320];

/** One bar for each measure of the ceiling, with a segment per charge, earliest first; the empty part remains. */
function budget(measures) {
  const frames = measures.map((_, i) => svg("rect", { x: LEFT, y: 18 + 46 * i, width: WIDTH, height: 18, class: "frame" }));
  const spent = measures.map(() => svg("g"));
  const captions = measures.map((_, i) => svg("text", { x: LEFT, y: 12 + 46 * i }));
  const names = measures.map(({ symbol }, i) => svg("text", { x: 0, y: 31 + 46 * i, class: "value" }, symbol));
  const element = picture(46 * measures.length, ...names, ...captions, ...spent, ...frames);
  function segments({ earlier, segments: shares }, y) {
    let x = LEFT;
    return [earlier, ...shares].map((share, i) => {
      const shape = svg("rect", { x, y, width: WIDTH * share, height: 18, class: i === 0 ? "prior" : i % 2 ? "yes" : "yes pale" });
      x += WIDTH * share;
      return shape;
    });
  }
  return {
    element,
    draw({ numbers }) {
      numbers.measures.forEach((measure, i) => {
        write(captions[i], measure.caption);
        spent[i].replaceChildren(...segments(measure, 18 + 46 * i));
      });
      set(element, { "aria-label": numbers.measures.map(({ symbol, caption }) => `${symbol}: ${caption}`).join("; ") });
    },
  };
}

/** The latest charges, newest first. */
function charges() {
  const element = html("table");
  const line = (tag, cells) => html("tr", {}, ...cells.map((cell) => html(tag, tag === "th" ? { scope: "col" } : {}, cell)));
  return {
    element,
    draw({ numbers: { head, rows, earlier } }) {
      const more = earlier ? [html("tr", {}, html("td"), html("td", { class: "end" }, `and ${figure(earlier, 0)} earlier`))] : [];
      const body = [...rows].reverse().map((cells) => line("td", cells));
      element.replaceChildren(html("thead", {}, line("th", head)), html("tbody", {}, ...body, ...more));
    },
  };
}

/** A button that reads charges by other processes; charges by this notebook appear without it. */
function refresh() {
  const button = html("button", { type: "button" }, "⟳ Look again");
  return {
    element: html("div", { class: "player" }, button),
    draw() {},
    listen: (_, model) => button.addEventListener("click", () => model.send({ kind: "refresh" })),
  };
}

function panels(model) {
  return [
    panel("What is left?", budget(model.get("table").measures), said("spent"), said("next"), said("state")),
    panel("What was it spent on?", charges()),
  ];
}

export function reading(table) {
  return { numbers: table, sentences: table.sentences };
}

const question = "Ledger: what has been spent of the privacy budget, and what remains?";
export default explorer({ question, controls: () => [refresh()], panels, read: (model) => reading(model.get("table")) });
