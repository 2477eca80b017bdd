// One question, answered inside a notebook. The true answer stays in this tab, until "Next person" at the latest. Only the
// report is sent to the kernel: { kind: "report", q: question, r: report, id: random number }. The same message is sent again
// until the kernel confirms it. Phones use the same randomizer.js.
import { html } from "./elements.js";
import { readings, written } from "../../../survey/static/numbers.js";
import { below, cell, gridIndex, report, secret, words } from "../../../survey/static/randomizer.js";

const PATIENCE = 4000; // milliseconds until a report is sent again; doubled each time, up to a minute
const FEW = 8; // the largest number of options that are shown as buttons; more become a list

// For each guided question that is not answered yet: its draw, and the cards that show it. They are in the memory of the
// browser's tab only. If the cell is run again or the card is shown twice, the draw stays the same until it is answered.
const OPEN_DRAWS = (globalThis.toolkitOpenDraws = globalThis.toolkitOpenDraws || new Map());

function pressed(label, action, kind) {
  const button = html("button", { type: "button", class: kind || "choice" }, label);
  button.addEventListener("click", (event) => event.detail > 1 || action()); // ignore the second half of a double click
  return button;
}

/** The reports that the kernel has not confirmed yet. Each is sent again unchanged. */
function outbox(model, changed) {
  const waiting = new Map();
  const transmit = (message, patience) => {
    waiting.set(message.id, setTimeout(() => transmit(message, Math.min(2 * patience, 60000)), patience));
    model.send(message);
    changed(patience > PATIENCE);
  };
  const heard = () => {
    const id = model.get("receipt").id;
    clearTimeout(waiting.get(id));
    if (waiting.delete(id)) changed(false);
  };
  model.on("change:receipt", heard);
  return {
    put: (message) => transmit(message, PATIENCE),
    holds: (id) => waiting.has(id),
    size: () => waiting.size,
    close() {
      waiting.forEach((timer) => clearTimeout(timer));
      model.off("change:receipt", heard);
    },
  };
}

const figure = (value, decimals = 12) => written(value, decimals, { decimal: ".", thousands: ",", grouped_from: 5 });

/** Describe a report: the label for a matrix design, the members of a set, or a number on the scale of the question. */
function inWords(card, sent) {
  const kind = card.randomizer.kind;
  if (kind === undefined) return card.reports[sent];
  if (kind === "random_box") return card.options[sent[0]] + ": " + (sent[1] ? card.words.yes : card.words.no);
  if (kind === "subset" || kind === "unary" || kind === "capped_boxes") return listed(card, sent);
  if (kind === "local_hash") return card.words.group.replace("{n}", sent[0] + 1).replace("{of}", card.randomizer.values);
  const { bits, zero, step, decimals } = card.scale;
  return bits && sent < 2 ? card.words[sent ? "yes" : "no"] : figure(zero + step * sent, decimals);
}

function listed(card, codes) {
  return codes.map((one) => card.options[one]).join(", ") || card.words.none;
}

/** Describe in sentences what to tap for a draw of a guided question. */
function orders(card, drawn) {
  const { says } = card.wheel[cell(card.wheel.map(({ size }) => size), drawn)]; // the report for each true answer
  const fill = (text, truth, sent) => text.replace("{truth}", card.options[truth]).replace("{report}", card.reports[sent]);
  if (says.every((sent, truth) => card.reports[sent] === card.options[truth])) return [card.words.tap_truth];
  if (says.every((sent) => sent === says[0])) return [fill(card.words.tap_this, 0, says[0])];
  return says.map((sent, truth) => fill(card.words.tap_if, truth, sent));
}

/** The input for an answer. `done(answer, answer in words)` is called once, with an answer that the randomizer accepts. */
function fields(card, labels, done) {
  const problem = html("p", { class: "problem", role: "alert" });
  const row = (...parts) => [html("div", { class: "row" }, ...parts), problem];
  if (card.kind === "number") {
    const attributes = { type: "text", inputmode: card.bounds[0] < 0 ? "text" : "decimal", maxlength: 40, autocomplete: "off" };
    const box = html("input", { ...attributes, "aria-label": card.words.number });
    const read = () => {
      const [low, high] = card.bounds;
      const found = readings(box.value).filter((one) => one >= low && one <= high);
      if (found.length === 1) return done(found[0], figure(found[0]));
      const typed = box.value.trim() ? card.words.you_wrote.replace("{typed}", () => box.value.trim()) + " " : "";
      problem.textContent = typed + card.words[found.length ? "two_ways" : "number"];
    };
    box.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault(); // otherwise the same key would press the button that gets the focus next
      read();
    });
    return [html("p", { class: "faint" }, card.words.number), ...row(box, pressed(card.words.answer, read))];
  }
  if (card.kind === "ticks") {
    const said = [...labels, card.words.none_of_these];
    const boxes = said.map(() => html("input", { type: "checkbox", autocomplete: "off" }));
    const none = boxes[labels.length];
    const read = () => {
      const codes = labels.map((_, i) => i).filter((i) => boxes[i].checked);
      if (!codes.length && !none.checked) problem.textContent = card.words.tick; // an empty form is not an answer
      else if (card.most && codes.length > card.most) problem.textContent = card.words.most;
      else done(codes, listed(card, codes));
    };
    boxes.forEach((box) =>
      box.addEventListener("change", () => {
        if (box.checked) boxes.forEach((one) => (one.checked = one.checked && (one === none) === (box === none)));
      }));
    const lines = boxes.map((box, i) => html("label", { class: "tick" }, box, said[i]));
    const hint = card.most ? [html("p", { class: "faint" }, card.words.most)] : [];
    return [...hint, ...lines, ...row(pressed(card.words.answer, read))];
  }
  if (labels.length <= FEW) return row(...labels.map((label, i) => pressed(label, () => done(i, label))));
  const list = html("select", { "aria-label": card.words.choose, autocomplete: "off" });
  list.append(html("option", { value: "" }, card.words.choose), ...labels.map((label, i) => html("option", { value: i }, label)));
  const read = () => {
    if (list.value === "") problem.textContent = card.words.choose;
    else done(Number(list.value), labels[Number(list.value)]);
  };
  return row(list, pressed(card.words.answer, read));
}

function render({ model, el }) {
  const card = model.get("card");
  const place = html("div", { class: "place" });
  const status = html("p", { class: "status", role: "status" });
  const root = html("fieldset", { class: "toolkit-card" }, html("legend", {}, card.text), place, status);
  const post = outbox(model, tell);
  const asked = JSON.stringify([card.name, card.text, card.randomizer]);
  let mine = null; // the random number of this person's report, never the answer

  /** Show whether this person's report has arrived, and how many earlier reports have not. */
  function tell(late) {
    const sending = post.holds(mine);
    root.dataset.state = mine === null ? "ready" : sending ? "sending" : "done";
    const own = { ready: "", sending: late ? card.words.late : card.words.sending, done: card.words.stored }[root.dataset.state];
    const others = post.size() - (sending ? 1 : 0);
    status.textContent = [own, others ? card.words.waiting.replace("{n}", others) : ""].filter(Boolean).join(" ");
  }

  /** Show a new card. Nothing of the previous person remains, because only these elements contained the answer. */
  function ask() {
    mine = null;
    const before = [card.words[card.mode], card.help, card.instructions].filter(Boolean).map((part) => html("p", {}, part));
    const odds = html("details", { open: "" }, html("summary", {}, card.words.odds));
    odds.append(...card.odds.map((part) => html("p", {}, part)));
    place.replaceChildren(...before, odds, ...WAYS[card.mode]());
    tell(false);
  }

  const WAYS = {
    auto: () => fields(card, card.options, answered),
    guided: () => [html("div", { class: "row" }, pressed(card.words.turn, turn))],
    physical: tapping,
  };

  function tapping() {
    return fields(card, card.reports, (sent, said) => {
      used();
      send(sent, [[card.words.you_tapped, said]]);
    });
  }

  /** A draw is used by one person only, so other cards that show it start again. */
  function used() {
    const open = OPEN_DRAWS.get(asked);
    OPEN_DRAWS.delete(asked);
    if (open) open.shown.forEach((again) => again === ask || again());
  }

  /** A guided question: one draw, and what to tap for each true answer. The card never receives the true answer. */
  function turn() {
    const open = OPEN_DRAWS.get(asked) || { drawn: below(card.randomizer.denominator, words()), shown: new Set() };
    OPEN_DRAWS.set(asked, open);
    open.shown.add(ask);
    const { drawn } = open;
    const told = html("div", { class: "orders", tabindex: -1 }, ...orders(card, drawn).map((part) => html("p", {}, part)));
    place.replaceChildren(told, ...tapping());
    told.focus({ preventScroll: true }); // so that a screen reader reads it; the pressed button was removed
  }

  function answered(truth, said) {
    const place = card.kind === "number" ? gridIndex(card.randomizer, truth) : truth;
    const sent = report(card.randomizer, place, words());
    send(sent, [[card.words.you_answered, said], [card.words.chance, chance(said, sent)]]);
  }

  function chance(said, sent) {
    if (card.randomizer.kind !== undefined || !card.reports.includes(said)) return card.words.mixed;
    return card.reports[sent] === said ? card.words.kept : card.words.changed;
  }

  function send(sent, path) {
    const steps = [...path, [card.words.we_send, inWords(card, sent)]];
    const facts = steps.map(([name, value]) => html("div", {}, html("dt", {}, name), html("dd", {}, value)));
    place.replaceChildren(
      html("dl", {}, ...facts),
      html("p", {}, card.words.once),
      pressed(card.words.next, next, "next"),
    );
    mine = secret(16);
    post.put({ kind: "report", q: card.name, r: sent, id: mine });
    focusFirst(place);
  }

  function next() {
    ask();
    focusFirst(place);
  }

  ask();
  root.addEventListener("keydown", (event) => event.repeat && event.key === "Enter" && event.preventDefault()); // ignore a key that is held down
  el.append(root);
  return () => {
    post.close();
    OPEN_DRAWS.forEach((open) => open.shown.delete(ask));
  };
}

/** Move the keyboard focus to the next step of the card. */
function focusFirst(place) {
  const first = place.querySelector("button, input, select");
  if (first) first.focus({ preventScroll: true });
}

export default { render };
