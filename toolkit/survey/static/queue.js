// Sending: one report per phone, the same bytes until it is stored. With two reports the noise could be averaged out, so a report
// that may have been sent is never made again: not after a reload, in a second tab, or after a rejection.

import { below, secret, words } from "./randomizer.js";

export const FINAL = [201, 400, 403, 409, 410, 413, 415]; // final; after any other status, try again
const OVER = [201, 403, 410]; // the report is deleted from the phone
const PATIENCE = 20000; // milliseconds
const LONGEST = 120; // seconds
const LINGER = 19800; // the longest random delay, which hides the time of a blind report

// What pages store on the phone: the report until it is sent, and never a link, only its hash `who`. Without storage everything
// still works.
export function shelf(pages, who, store) {
  const on = (act) => (item, value) => {
    try {
      return act(window[store], pages.map((one) => `toolkit:${one}:${item}${who ? ":" + who : ""}`), value);
    } catch (error) {
      return null;
    }
  };
  const read = on((place, names) => names.map((name) => JSON.parse(place.getItem(name))).find(Boolean));
  const write = on((place, [name], value) => [place.setItem(name, JSON.stringify(value))]);
  const drop = on((place, names) => names.map((name) => place.removeItem(name)));
  return { read, write, drop, keeps: () => write("probe", "0".repeat(131072)) && drop("probe") }; // whether there is room
}

// Random words for the life of a tab: on the shelf, encrypted with a pad in the tab's name. Browsers may leave the shelf on the
// disk, and show the name to the next site; each alone reveals nothing.
export function draws(shelf) {
  const masked = (lists, pad) => lists.map((list, i) => list && list.map((word, j) => (word ^ pad[i][j]) >>> 0));
  const name = (pads) => (window.name = JSON.stringify(pads));
  const pads = () => {
    try {
      return Object(JSON.parse(window.name));
    } catch (error) {
      return {}; // another site's name
    }
  };
  const read = () => {
    const [id, hidden] = shelf.read("words") || [];
    return pads()[id] ? masked(hidden, pads()[id]) : null;
  };
  const drop = () => {
    if (read()) name({ ...pads(), [shelf.read("words")[0]]: undefined });
    shelf.drop("words");
  };
  const write = (lists) => {
    const pad = lists.map((list) => list && list.map(() => parseInt(secret(4), 16)));
    const id = secret(16);
    if (shelf.write("words", [id, masked(lists, pad)])) name({ ...pads(), [id]: pad });
  };
  return { read, write, drop };
}

// Send the stored record {key, body}, or else `mine`, until the outcome is final; return no record if another tab was faster.
// `complete` completes the body, and `tell` receives "lingering", "sending" and "waiting".
export async function send(kept, mine, blind, complete, tell) {
  if (!kept.read("report") && kept.read("done")) return {};
  if (blind) tell("lingering");
  if (!kept.read("report")) {
    kept.write("report", mine); // of two tabs that write at once, both send the last record
    await pause(200, blind ? LINGER : 100);
  }
  const record = kept.read("report") || mine;
  let asked = true; // by a person or the network; other tries are not shown
  for (let wait = 2; ; wait = Math.min(2 * wait, LONGEST)) {
    if (asked) tell("sending");
    const { status, after } = await stored(record.key, complete(record.body));
    if (OVER.includes(status)) drop(kept, status);
    if (FINAL.includes(status)) return { record, status };
    tell("waiting");
    const time = 1000 * (after || wait);
    asked = await pause(time, time / 2, "online", "trynow");
  }
}

// Delete the report but keep its outcome (1 if stored), so that no other report is made.
export function drop(kept, how) {
  kept.write("done", how === 201 ? 1 : how);
  kept.drop("report");
}

// Spaces make all reports equally long, so that their size reveals nothing.
export const encode = (text) => new TextEncoder().encode(text);
export const filled = (body, length) => body + " ".repeat(Math.max(0, length - encode(body).length));

// Post a body, or get a resource.
export function ask(path, body) {
  const headers = { "Content-Type": "application/json" };
  const stop = window.AbortController ? new AbortController() : { abort() {} };
  setTimeout(() => stop.abort(), PATIENCE);
  return fetch(path, { method: body ? "POST" : "GET", headers, body, credentials: "omit", signal: stop.signal });
}

// The status, if it is from the survey's server: a hotel's login also returns 200.
async function stored(key, body) {
  try {
    const answer = await ask("report", body);
    const told = await answer.json();
    const own = answer.status === 201 ? told.stored === key : typeof told.error === "string";
    return own ? { status: answer.status, after: Math.min(Number(answer.headers.get("Retry-After")), LONGEST) } : {};
  } catch (error) {
    return {};
  }
}

// Wait `time` milliseconds and up to `more` at random, or until an event.
const pause = (time, more, ...events) =>
  new Promise((resolve) => {
    setTimeout(resolve, time + below(more, words()));
    events.forEach((event) => addEventListener(event, resolve, { once: true }));
  });
