// A running collection: how many have answered, and what do they say so far? Asks the kernel again while it is on the screen.
import { html, set, svg } from "./elements.js";
import { explorer, figure, panel, said } from "./kit.js";

const EVERY = 2000; // milliseconds

/** The link, and its QR code: dark on white in every theme, because cameras want it so. */
function invitation() {
  const link = html("a", { target: "_blank", rel: "noreferrer" });
  const ground = svg("rect", { x: 0, y: 0, class: "paper" });
  const code = svg("path", { class: "print" });
  const element = svg("svg", { role: "img", class: "qr" }, ground, code);
  return {
    element: html("div", { class: "invitation" }, link, element),
    draw({ numbers: { url, qr } }) {
      link.textContent = url;
      set(link, { href: url });
      element.style.display = url ? "" : "none"; // a sentence says why there is none
      set(element, { viewBox: `0 0 ${qr.size} ${qr.size}`, "aria-label": `QR code of ${url}` });
      set(ground, { width: qr.size, height: qr.size });
      set(code, { d: qr.path });
    },
  };
}

/** The number of reports, large. */
function counter() {
  const number = html("span", { class: "count", "data-name": "count" });
  const words = html("span", {}, " reports");
  return {
    element: html("p", { role: "status" }, number, words),
    draw({ numbers: { count } }) {
      number.textContent = figure(count, 0);
      words.textContent = count === 1 ? " report" : " reports";
    },
  };
}

/** The estimates so far, if there are any. */
function estimates() {
  const element = html("table", { class: "estimates" });
  const line = (tag, cells) => html("tr", {}, ...cells.map((cell) => html(tag, tag === "th" ? { scope: "col" } : {}, cell)));
  return {
    element,
    draw({ numbers: { head, rows } }) {
      const parts = [html("thead", {}, line("th", head)), html("tbody", {}, ...rows.map((cells) => line("td", cells)))];
      element.replaceChildren(...(rows.length ? parts : []));
    },
  };
}

/** Asks again every two seconds, as long as somebody can see it and there is something to come. */
function watcher() {
  const button = html("button", { type: "button" }, "⟳ Look again");
  const element = html("div", { class: "player" }, button);
  let clock = null;
  return {
    element,
    draw() {},
    listen(_, model) {
      const ask = () => model.send({ kind: "refresh" });
      button.addEventListener("click", ask);
      clock = setInterval(() => {
        if (element.isConnected && !document.hidden && model.get("table").state !== "closed") ask();
      }, EVERY);
    },
    stop: () => clearInterval(clock),
  };
}

function panels() {
  return [
    panel("Answer here", invitation(), said("reach"), said("access")),
    panel("Who has answered?", counter(), said("state"), said("private"), said("so_far"), estimates()),
  ];
}

export function reading(table) {
  return { numbers: table, sentences: table.sentences };
}

const question = "Collection: how many have answered, and what do they say so far?";
export default explorer({ question, controls: () => [watcher()], panels, read: (model) => reading(model.get("table")) });
