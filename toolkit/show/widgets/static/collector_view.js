// A running collection: how many have answered, and what do they say so far? Asks the kernel again while it is on the screen.
import { html, set, svg } from "./elements.js";
import { explorer, figure, panel, said } from "./kit.js";

const EVERY = 2000; // milliseconds

/** A QR code: dark on white in every theme, because cameras want it so. */
function code() {
  const ground = svg("rect", { x: 0, y: 0, class: "paper" });
  const modules = svg("path", { class: "print" });
  const element = svg("svg", { role: "img", class: "qr" }, ground, modules);
  return {
    element,
    draw({ numbers: { url, qr } }) {
      element.style.display = qr.size ? "" : "none"; // a sentence says why there is none
      set(element, { viewBox: `0 0 ${qr.size} ${qr.size}`, "aria-label": `QR code of ${url}` });
      set(ground, { width: qr.size, height: qr.size });
      set(modules, { d: qr.path });
    },
  };
}

/** The link and its QR code. */
function invitation() {
  const link = html("a", { target: "_blank", rel: "noreferrer" });
  const picture = code();
  return {
    element: html("div", { class: "invitation" }, link, picture.element),
    draw(reading) {
      link.textContent = reading.numbers.url;
      set(link, { href: reading.numbers.url });
      picture.draw(reading);
    },
  };
}

/** The same for a room: the code, the link and the count, as large as the screen is, and nothing else. */
function projector() {
  const [picture, count] = [code(), counter()];
  const link = html("p", { class: "link" });
  const reach = html("p", { class: "reach" });
  const close = html("button", { type: "button" }, "Close");
  const room = html("dialog", { class: "projector", "aria-label": "Answer here" },
    picture.element, html("div", {}, link, reach, count.element, close));
  const open = html("button", { type: "button" }, "Show large");
  open.addEventListener("click", () => {
    room.showModal();
    document.documentElement.requestFullscreen?.().catch(() => {}); // without it the window is filled
  });
  close.addEventListener("click", () => room.close());
  room.addEventListener("close", () => document.fullscreenElement && document.exitFullscreen());
  return {
    element: html("div", { class: "player" }, open, room),
    draw(reading) {
      const { numbers: { url, state }, sentences } = reading;
      open.disabled = !url || state === "closed";
      link.textContent = url;
      reach.textContent = sentences.reach;
      [picture, count].forEach((part) => part.draw(reading));
    },
    stop: () => room.close(),
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
    panel("Answer here", invitation(), said("reach"), said("access"), projector()),
    panel("Who has answered?", counter(), said("state"), said("private"), said("so_far"), estimates()),
  ];
}

export function reading(table) {
  return { numbers: table, sentences: table.sentences };
}

const question = "Collection: how many have answered, and what do they say so far?";
export default explorer({ question, controls: () => [watcher()], panels, read: (model) => reading(model.get("table")) });
