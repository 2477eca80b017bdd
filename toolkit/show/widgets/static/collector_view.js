// A view of a running collection: the number of reports and the estimates so far. It updates while it is on the screen.
import { html, set, svg, write } from "./elements.js";
import { explorer, figure, panel, said } from "./kit.js";
import { picture, scale } from "./pictures.js";

const EVERY = 2000; // milliseconds

/** A QR code, dark on white in every theme, because cameras need this contrast. */
function code() {
  const ground = svg("rect", { x: 0, y: 0, class: "paper" });
  const modules = svg("path", { class: "print" });
  const element = svg("svg", { role: "img", class: "qr" }, ground, modules);
  return {
    element,
    draw({ numbers: { url, qr } }) {
      element.style.display = qr.size ? "" : "none"; // without a code, a sentence states the reason
      set(element, { viewBox: `0 0 ${qr.size} ${qr.size}`, "aria-label": `QR code of ${url}` });
      set(ground, { width: qr.size, height: qr.size });
      set(modules, { d: qr.path });
    },
  };
}

/** The link and its QR code. */
function invitation() {
  const link = html("a", { target: "_blank", rel: "noreferrer" });
  const scanned = code();
  return {
    element: html("div", { class: "invitation" }, link, scanned.element),
    draw(reading) {
      link.textContent = reading.numbers.url;
      set(link, { href: reading.numbers.url });
      scanned.draw(reading);
    },
  };
}

/** The same for a projector, in full screen: the question, the QR code, the link, the count, the history of the estimate, and the result. */
function projector() {
  const [scanned, count, history] = [code(), counter(), growth()];
  const asked = html("p", { class: "asked" });
  const link = html("p", { class: "link" });
  const reach = html("p", { class: "reach" });
  const result = html("p", { class: "result" });
  const close = html("button", { type: "button" }, "Close");
  const room = html("dialog", { class: "projector", "aria-label": "Answer here" },
    scanned.element, html("div", {}, asked, link, reach, count.element, result, history.element, close));
  const open = html("button", { type: "button" }, "Show large");
  open.addEventListener("click", () => {
    room.showModal();
    document.documentElement.requestFullscreen?.().catch(() => {}); // without full screen, the window is filled
  });
  close.addEventListener("click", () => room.close());
  room.addEventListener("close", () => document.fullscreenElement && document.exitFullscreen());
  return {
    element: html("div", { class: "player" }, open, room),
    draw(reading) {
      const { numbers: { url, state, count: answers, heading: text = "" }, sentences } = reading;
      open.disabled = state === "closed" ? !answers : !url; // a closed collection shows its result
      asked.textContent = text;
      link.textContent = url;
      reach.textContent = sentences.network;
      result.textContent = sentences.result ?? "";
      [scanned, count, history].forEach((part) => part.draw(reading));
    },
    stop: () => room.close(),
  };
}

/** The number of reports, in large digits. */
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

const [BAR, TALL] = [140, 16];

/** The estimate and interval of a row on a scale of all possible values; a ring marks an estimate beyond its ends. */
function bar([low, middle, high]) {
  const at = scale({ from: 0, to: 1, start: 6, end: BAR - 6 });
  const inside = (value) => Math.min(Math.max(value, 0), 1);
  const axis = svg("path", { d: `M6,${TALL / 2} H${BAR - 6}`, class: "axis" });
  const drawn = svg("svg", { viewBox: `0 0 ${BAR} ${TALL}`, width: BAR, height: TALL, "aria-hidden": "true" }, axis);
  if (typeof low === "number" && typeof high === "number")
    drawn.append(svg("rect", { x: at(inside(low)), width: Math.max(at(inside(high)) - at(inside(low)), 1), y: 4, height: 8, class: "yes pale" }));
  if (typeof middle === "number") {
    const beyond = inside(middle) === middle ? "" : "beyond";
    drawn.append(svg("circle", { cx: at(inside(middle)), cy: TALL / 2, r: 4, class: "outcome", "data-beyond": beyond }));
  }
  return drawn;
}

/** The estimates so far, if there are any, as the results table with a picture of each interval. */
function estimates() {
  const element = html("table", { class: "estimates" });
  const line = (tag, cells) => html("tr", {}, ...cells.map((cell) => html(tag, tag === "th" ? { scope: "col" } : {}, cell)));
  return {
    element,
    draw({ numbers: { head, rows, spans = [] } }) {
      const body = rows.map((cells, i) => line("td", spans[i] ? [...cells, bar(spans[i])] : cells));
      const heads = spans.length ? [...head, "on its scale"] : head;
      element.replaceChildren(...(rows.length ? [html("thead", {}, line("th", heads)), html("tbody", {}, ...body)] : []));
    },
  };
}

const FRAME = { left: 34, right: 336, top: 22, bottom: 114 };
const TITLE = "estimate in %, with its 95 % interval, by reports";
const RINGED = "estimate in %, its 95 % interval; ring: off the scale";

/** The history of the estimate and its interval, from 0 to 100 %: as many of the latest steps as fit. */
function growth() {
  const up = scale({ from: 0, to: 100, start: FRAME.bottom, end: FRAME.top });
  const word = (x, y, anchor, text) => svg("text", { x, y, "text-anchor": anchor, class: "tick" }, text);
  const axis = svg("path", { d: `M${FRAME.left},${FRAME.top} V${FRAME.bottom} H${FRAME.right}`, class: "axis" });
  const ticks = [0, 50, 100].map((at) => word(FRAME.left - 5, up(at) + 4, "end", `${at}`));
  const title = word(FRAME.left + 6, 11, "start", TITLE);
  const steps = svg("g", {});
  const element = picture(132, axis, title, ...ticks, steps);
  element.classList.add("growth");
  const off = ([, , middle]) => middle < 0 || middle > 100;
  function step(one, place, { length }) {
    const [count, low, middle, high] = one;
    const x = FRAME.left + ((place + 0.5) * (FRAME.right - FRAME.left)) / length;
    const beyond = off(one) ? "beyond" : "";
    const bar = svg("rect", { x: x - 5, width: 10, y: up(high), height: Math.max(up(low) - up(high), 1), class: "yes pale" });
    const dot = svg("circle", { cx: x, cy: up(middle), r: 4, class: "outcome", "data-beyond": beyond });
    return [bar, dot, word(x, FRAME.bottom + 14, "middle", `${count}`)];
  }
  return {
    element,
    draw({ numbers: { history = [] } }) {
      element.style.display = history.length ? "" : "none";
      if (!history.length) return;
      const shown = history.slice(-12);
      steps.replaceChildren(...shown.flatMap(step));
      write(title, shown.some(off) ? RINGED : TITLE);
      const [count, low, middle, high] = history[history.length - 1].map((value) => figure(Math.max(value, 0), 0));
      set(element, { "aria-label": `After ${count} reports: ${middle} %, between ${low} and ${high} %` });
    },
  };
}

/** Update every two seconds while the view is visible and more reports can arrive. */
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

/** A panel as wide as the view, because a table needs the space. */
function wide(made) {
  made.element.classList.add("wide");
  return made;
}

function panels() {
  return [
    panel("Answer here", invitation(), said("network"), said("access"), projector()),
    panel("Who has answered?", counter(), said("state"), said("private"), growth()),
    wide(panel("What do they say?", said("so_far"), estimates())),
  ];
}

export function reading(table) {
  return { numbers: table, sentences: table.sentences };
}

const question = "Collection: how many have answered, and what do they say so far?";
export default explorer({ question, controls: () => [watcher()], panels, read: (model) => reading(model.get("table")) });
