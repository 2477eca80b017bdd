// Sending: one report a phone, kept until the server says that it is stored, and sent byte for byte the same until then.
//
// Two different reports of one answer would let somebody average the noise away. So a report that may have left the phone
// is never made anew: not after a reload, not in a second tab, not when the server refuses it.

import { below, words } from "./randomizer.js";

const FINAL = [400, 403, 409, 410, 413, 415]; // the server will not take it; anything else is tried again
const PATIENCE = 20000; // milliseconds for an answer
const LONGEST = 120; // seconds between two tries

/** What the page keeps on the phone for one survey; never an answer. Where a browser keeps nothing, the page still works. */
export function shelf(hash, store) {
  const on = (item, act) => {
    try {
      return act(window[store], "toolkit:" + hash + ":" + item);
    } catch (error) {
      return null;
    }
  };
  return {
    read: (item) => on(item, (place, name) => JSON.parse(place.getItem(name))),
    write: (item, value) => on(item, (place, name) => place.setItem(name, JSON.stringify(value))),
    drop: (item) => on(item, (place, name) => place.removeItem(name)),
  };
}

/** The links that were used on this phone; without links, null. */
export const answered = (kept) => kept.read("done") || [];

/**
 * Send the record {key, body, link} that waits on the shelf, or else this one, until it is stored or refused for good.
 * `tell` hears "sending" and "waiting". Gives {record, status}; no record if another tab was done before.
 */
export async function send(kept, mine, tell) {
  if (!kept.read("report") && answered(kept).indexOf(mine.link) >= 0) return { status: 201 };
  const record = kept.read("report") || (await claim(kept, mine));
  for (let wait = 2; ; wait = Math.min(2 * wait, LONGEST)) {
    tell("sending");
    const { status, after } = await post(record);
    if (status === 201) {
      kept.write("done", answered(kept).concat(record.link));
      kept.drop("report");
    }
    if (status === 201 || FINAL.indexOf(status) >= 0) return { record, status };
    tell("waiting");
    await pause(1000 * (after || wait));
  }
}

/** Two tabs may write at the same moment: what was written last is what both send. */
async function claim(kept, mine) {
  kept.write("report", mine);
  await pause(200);
  return kept.read("report") || mine;
}

/** The status, if it is the survey's own server that speaks: the login page of a hotel says "200 OK" too. */
async function post(record) {
  const stop = new AbortController();
  const timer = setTimeout(() => stop.abort(), PATIENCE);
  try {
    const headers = { "Content-Type": "application/json" };
    const answer = await fetch("report", { method: "POST", headers, body: record.body, credentials: "omit", signal: stop.signal });
    const told = await answer.json();
    const own = answer.status === 201 ? told.stored === record.key : typeof told.error === "string";
    return own ? { status: answer.status, after: Math.min(Number(answer.headers.get("Retry-After")), LONGEST) } : {};
  } catch (error) {
    return {};
  } finally {
    clearTimeout(timer);
  }
}

/** Wait so long and up to half as long again; shorter if the network comes back or the person asks. */
function pause(milliseconds) {
  return new Promise((resolve) => {
    setTimeout(resolve, milliseconds + below(milliseconds / 2, words()));
    ["online", "trynow"].forEach((event) => window.addEventListener(event, resolve, { once: true }));
  });
}
