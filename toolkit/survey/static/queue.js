// Sending: one report a phone, the same bytes until it is stored. Two would let somebody average the noise away: what may have
// left the phone is never made anew, not after a reload, in a second tab, or when it is refused.

import { below, secret, words } from "./randomizer.js";

export const FINAL = [201, 400, 403, 409, 410, 413, 415]; // for good; all else is tried again
const OVER = [201, 403, 410]; // nothing is left to send: it leaves the phone
const PATIENCE = 20000; // milliseconds
const LONGEST = 120; // seconds
const LINGER = 19800; // at most, by chance: the time of a blind report tells less

// What pages keep on the phone; never a link but its hash, `who`; of answers what is to be sent, until that is over. Where nothing
// is kept, all still works.
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
  return { read, write, drop, keeps: () => write("probe", "0".repeat(131072)) && drop("probe") }; // all fits
}

// Random words that outlive the page, not the tab: on the shelf under a pad, which is in the tab's name. Browsers leave on their
// disk what was on a shelf, and show a name to the next site: each alone tells nothing.
export function draws(shelf) {
  const masked = (lists, pad) => lists.map((list, i) => list && list.map((word, j) => (word ^ pad[i][j]) >>> 0));
  const name = (pads) => (window.name = JSON.stringify(pads));
  const pads = () => {
    try {
      return Object(JSON.parse(window.name));
    } catch (error) {
      return {}; // somebody else's name
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

// Send the record {key, body} on the shelf, or else this one, `complete`, until that is settled; none is returned if another
// tab was faster. `tell` hears "lingering", "sending" and "waiting".
export async function send(kept, mine, blind, complete, tell) {
  if (!kept.read("report") && kept.read("done")) return {};
  if (blind) tell("lingering");
  if (!kept.read("report")) {
    kept.write("report", mine); // two tabs may write at one moment: both send what was written last
    await pause(200, blind ? LINGER : 100);
  }
  const record = kept.read("report") || mine;
  let asked = true; // by a person or the network: not every try is told
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

// What was to be sent leaves the phone; how it ended stays: 1 if it is stored. So none is made anew.
export function drop(kept, how) {
  kept.write("done", how === 201 ? 1 : how);
  kept.drop("report");
}

// As long, by spaces, as every other report of the survey: the size of a request tells nothing.
export const encode = (text) => new TextEncoder().encode(text);
export const filled = (body, length) => body + " ".repeat(Math.max(0, length - encode(body).length));

// Send a body, or get what is there.
export function ask(path, body) {
  const headers = { "Content-Type": "application/json" };
  const stop = window.AbortController ? new AbortController() : { abort() {} };
  setTimeout(() => stop.abort(), PATIENCE);
  return fetch(path, { method: body ? "POST" : "GET", headers, body, credentials: "omit", signal: stop.signal });
}

// The status, if the survey's own server speaks: a hotel's login says "200 OK" too.
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

// Wait so many milliseconds and, by chance, up to so many more; or until an event.
const pause = (time, more, ...events) =>
  new Promise((resolve) => {
    setTimeout(resolve, time + below(more, words()));
    events.forEach((event) => addEventListener(event, resolve, { once: true }));
  });
