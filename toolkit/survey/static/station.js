// A device of the researchers on which many people answer, one after the other, even without a network. Reports wait here,
// encrypted for the collection, of equal length, under random names, and are sent in random order. Nothing else about a person is
// stored: no answer, no draw, no path through the questions. The page is reloaded after each person.

import { sheet } from "./answers.js";
import { ask, encode, filled, shelf } from "./queue.js";
import { below, hex, secret, words } from "./randomizer.js";
import { button, fact, fill, heading, lead, make, note, p, say, tongues } from "./screens.js";

const QUIET = [180000, 30000]; // milliseconds without a touch until a question, and then until a reload
const LEAST = 4; // characters of a PIN
const DAY = 86400000; // milliseconds
const PATIENCE = 14; // days without contact to the server, after which nobody can begin because the survey may be over
const RETURNED = 1000; // uses per request when they are returned
const bytes = (digits) => Uint8Array.from(digits.match(/../g), (pair) => parseInt(pair, 16));
const base64 = (list) => btoa(Array.from(list, (byte) => String.fromCharCode(byte)).join(""));
const join = (...parts) => new Uint8Array([].concat(...parts.map((part) => Array.from(new Uint8Array(part)))));
const sha256 = (text) => crypto.subtle.digest("SHA-256", encode(text));

// Encrypt a body with the collection's key, padded with spaces.
export async function seal(body, { key, length }) {
  const { subtle } = crypto;
  const curve = { name: "ECDH", namedCurve: "P-256" };
  const text = encode(filled(body, length));
  if (text.length > length) throw new Error("too long");
  const own = await subtle.generateKey(curve, false, ["deriveBits"]);
  const point = await subtle.exportKey("raw", own.publicKey);
  const whose = await subtle.importKey("raw", bytes(key), curve, false, []);
  const shared = await subtle.deriveBits({ name: "ECDH", public: whose }, own.privateKey, 256);
  const rule = { name: "HKDF", hash: "SHA-256", salt: new Uint8Array(0), info: join(point, bytes(key)) };
  const source = await subtle.importKey("raw", shared, "HKDF", false, ["deriveKey"]);
  const once = await subtle.deriveKey(rule, source, { name: "AES-GCM", length: 256 }, false, ["encrypt"]);
  return base64(join(point, await subtle.encrypt({ name: "AES-GCM", iv: new Uint8Array(12) }, once, text)));
}

// The database: "own" has the links, the PIN, the language, and the time of the last contact to the server; "waiting" has the
// encrypted reports. Promises resolve when data are on the disk.
const opened = (name) =>
  new Promise((resolve, reject) => {
    const asked = indexedDB.open(name, 1);
    asked.onupgradeneeded = () => ["own", "waiting"].forEach((one) => asked.result.createObjectStore(one));
    asked.onsuccess = () => resolve(asked.result);
    asked.onerror = reject;
  });
const deleted = (name) =>
  new Promise((resolve, reject) => Object.assign(indexedDB.deleteDatabase(name), { onsuccess: resolve, onerror: reject }));
const within = (database, name, act) =>
  new Promise((resolve, reject) => {
    const work = database.transaction(name, "readwrite", { durability: "strict" });
    const asked = act(work.objectStore(name));
    work.oncomplete = () => resolve(asked.result);
    work.onabort = reject;
  });

// Store the page's files for use without a network; return whether all are stored.
async function pinned({ code, hash, station }) {
  const address = "worker.js?" + new URLSearchParams({ code, page: hash, files: station.files });
  const trusted = window.trustedTypes && trustedTypes.createPolicy("station", { createScriptURL: (url) => url });
  const made = await navigator.serviceWorker.register(trusted ? trusted.createScriptURL(address) : address, { scope: "station" });
  const fresh = made.installing || made.waiting;
  if (!fresh) return Boolean(made.active);
  return new Promise((resolve) => {
    const look = () => /activated|redundant/.test(fresh.state) && resolve(fresh.state === "activated");
    fresh.onstatechange = look;
    look();
  });
}

const stretched = async (pin, salt) => {
  const base = await crypto.subtle.importKey("raw", encode(pin), "PBKDF2", false, ["deriveBits"]);
  const rule = { name: "PBKDF2", hash: "SHA-256", salt: bytes(salt), iterations: 100000 };
  return hex(new Uint8Array(await crypto.subtle.deriveBits(rule, base, 256)));
};

export async function station(app, { begin, display, end, fragment, reload, show, speak, tell }) {
  const { survey } = app;
  const alone = (word) => display([heading(survey.title), lead(word)]);
  if (!crypto.subtle || !navigator.serviceWorker) return alone("insecure");
  const name = "toolkit:" + (survey.pages[1] || survey.hash); // that of the first edition
  const database = await opened(name);
  database.onversionchange = () => [database.close(), reload()]; // another tab removes the station
  const on = (act) => within(database, "own", act);
  const waiting = (act) => within(database, "waiting", act);
  let own;
  // Read, change and write in one transaction, because another tab may have written in the meantime.
  const change = (act) =>
    on((store) => {
      const asked = store.get("station");
      asked.onsuccess = () => {
        own = asked.result || { links: [], contact: Date.now() }; // a new page came from the server
        act(own);
        store.put(own, "station");
      };
      return asked;
    });
  const save = (changes) => change((current) => Object.assign(current, changes));
  const [, link, uses] = /^#s=([\w-]{22})\.(\d{1,5})$/.exec(fragment) || [];
  await change((current) => {
    if (!link || current.links.some((one) => one.link === link)) return;
    current.links.push({ link, uses: Number(uses), used: [] });
    current.open = false;
  });
  if (history.state !== "guard") history.pushState("guard", ""); // going back stays within the survey
  if (own.language) speak(own.language);
  if (!own.links.length) return alone("station_link");
  if (navigator.storage && navigator.storage.persist) navigator.storage.persist(); // not awaited, as some browsers ask the user
  const offline = pinned(survey).catch(() => false);

  // A person's screens leave no trace in the browser's history.
  let trail = null; // the previous screens while a person answers
  app.left = (screen) => trail.push(screen);
  app.returned = () => {
    history.pushState("guard", "");
    if (trail) show(trail.pop() || "consent");
  };

  // Clear the screen of a person who has left.
  let rest;
  const stay = () => {
    clearTimeout(rest);
    const clear = () => (rest = setTimeout(reload, QUIET[1]));
    if (trail) rest = setTimeout(() => [tell("station_still"), clear()], QUIET[0]);
  };
  ["pointerdown", "keydown"].forEach((event) => addEventListener(event, stay));

  // The remaining uses: the index of a link, and the number of the use.
  const free = () => {
    const each = own.links.map(({ used, uses: all }, i) => Array.from({ length: all }, (_, use) => !used.includes(use) && [i, use]));
    return [].concat(...each).filter(Boolean);
  };

  // The number of waiting reports, and of people who can still answer.
  async function places() {
    await save({}); // reads changes by other tabs
    const count = await waiting((place) => place.count());
    return [count, free().length - count];
  }

  const isSilent = (days) => !(Date.now() - own.contact < days * DAY);
  const isLost = () => own.closed || isSilent(PATIENCE);

  // Ask the server whether the survey is still open; return whether this changes if people can begin. While they can, ask only
  // once a day and after sending, so that the server does not learn when people answer.
  async function refresh(now) {
    const before = isLost();
    if (!now && !before && !isSilent(1)) return false;
    try {
      const { health } = await (await ask("health")).json();
      if (/^(good|closed)$/.test(health)) await save({ contact: Date.now(), closed: health === "closed" });
    } catch (error) {
      return false; // no network, or a response from another server
    }
    return isLost() !== before;
  }

  function person() {
    trail = [];
    stay();
    app.sheet = sheet(survey, shelf([], "", ""), shelf([], "", "")); // shelves that store nothing
    begin();
  }

  app.keep = async (body) => {
    alone("moment");
    const kept = seal(body, survey.station).then((sealed) => waiting((place) => place.add({ sealed }, secret(16))));
    const how = await kept.then(() => 201, () => "unkept");
    end({ how, record: how === 201, back: reload });
  };

  // The screen for the next person.
  async function welcome() {
    const [, left] = await places();
    const speaking = (code) => [speak(code), welcome()];
    const kiosk = survey.station.kind === "kiosk";
    const open = left > 0 && !isLost();
    const message = lead(open ? (kiosk ? "station_welcome" : "station_hand") : left > 0 ? "station_lost" : "station_none");
    display([
      heading(survey.title),
      tongues(survey, speaking),
      message,
      open && button("station_begin", person),
      kiosk && button("station_staff", locked, ""),
    ]);
    if ((await refresh()) && message.isConnected) welcome();
  }

  function locked() {
    const hidden = { webkitTextSecurity: "disc" };
    const box = make("input", { type: "text", inputmode: "numeric", autocomplete: "off", maxlength: 20, style: hidden });
    const problem = make("p", { class: "error", role: "alert" });
    const enter = button(own.pin ? "station_unlock" : "station_set", async () => {
      const salt = own.salt || secret(16);
      const pin = await stretched(box.value, salt);
      if (own.pin ? pin !== own.pin : box.value.length < LEAST) return fill(problem, [say(own.pin ? "pin_wrong" : "pin_short")]);
      await save({ salt, pin, open: false });
      return desk();
    });
    const keydown = (event) => event.key === "Enter" && enter.click();
    display([
      heading(survey.title),
      lead(own.pin ? "station_locked" : "station_new"),
      make("label", { keydown }, say("pin"), box),
      problem,
      enter,
    ]);
  }

  // The screen for the researchers, behind the PIN.
  async function desk(told) {
    const [count, left] = await places();
    const ready = note("moment");
    const hand = () => save({ open: survey.station.kind === "kiosk" }).then(welcome);
    const speaking = (code) => [speak(code), save({ language: code }), desk(told)];
    display([
      heading(survey.title),
      told && lead(told),
      tongues(survey, speaking),
      make("dl", {}, fact("station_waiting", String(count)), fact("station_left", String(left))),
      make("div", { role: "status" }, ready),
      left > 0 && !isLost() ? button("station_over", hand) : lead(left > 0 ? "station_lost" : "station_none"),
      count > 0 && button("station_send", deliver, ""),
      (!count || /closed|refused/.test(told)) && button(count ? "station_delete" : "station_remove", remove, ""),
    ]);
    fill(ready, [say((await offline) ? "station_offline" : "station_online")]);
    if ((await refresh(told)) && ready.isConnected) desk(told);
  }

  // Send the reports in random order, each with a random use, which it keeps until the outcome is final.
  async function deliver() {
    alone("sending");
    const names = await waiting((place) => place.getAllKeys());
    let how = 201;
    while (names.length && how === 201) how = await sent(names.splice(below(names.length, words()), 1)[0]);
    const told = { 201: "sent_all", 410: "sent_closed", 400: "sent_refused", 409: "sent_refused", 413: "sent_refused" };
    desk(how === 403 ? "sent_used_up" : told[how] || "sent_not");
  }

  async function sent(one) {
    const report = await waiting((place) => place.get(one));
    if (!report) return 201; // another window has sent it
    const uses = free();
    if (!report.use && !uses.length) return 403;
    report.use = report.use || uses[below(uses.length, words())];
    await waiting((place) => place.put(report, one));
    const [place, use] = report.use;
    const status = await settled({ sealed: report.sealed, token: await token(report.use) });
    if (status === 201 || status === 403)
      await change(({ links }) => links[place].used.includes(use) || links[place].used.push(use));
    if (status === 201) await waiting((place) => place.delete(one));
    if (status !== 403) return status;
    await waiting((place) => place.put({ sealed: report.sealed }, one)); // the use was spent elsewhere
    return sent(one);
  }

  async function token([place, use]) {
    const digest = join(await sha256(own.links[place].link + ":" + use)).slice(0, 16);
    return base64(digest).replace(/\+/g, "-").replace(/\//g, "_").slice(0, 22);
  }

  async function settled(report) {
    try {
      const answer = await ask("sealed", JSON.stringify(report));
      const told = await answer.json();
      const name = hex(new Uint8Array(await sha256(report.sealed))).slice(0, 32);
      return answer.status === 201 ? told.stored === name && 201 : typeof told.error === "string" && answer.status;
    } catch (error) {
      return 0;
    }
  }

  // Return the remaining uses, so that the collection can be closed; return whether this succeeded.
  async function giveBack() {
    const tokens = await Promise.all(free().map(token));
    try {
      for (let i = 0; i < tokens.length; i += RETURNED) {
        const answer = await ask("returned", JSON.stringify({ tokens: tokens.slice(i, i + RETURNED) }));
        if (answer.status !== 200 || (await answer.json()).returned === undefined) return false;
      }
    } catch (error) {
      return false;
    }
    return true;
  }

  async function remove() {
    alone("moment");
    const isBack = await giveBack();
    database.close();
    await deleted(name);
    const made = await navigator.serviceWorker.getRegistration("station");
    const files = (await caches.keys()).filter((one) => made && one.startsWith(made.scope + " "));
    await Promise.all(files.map((one) => caches.delete(one)));
    if (made) await made.unregister();
    display([heading(survey.title), lead("station_removed"), !isBack && lead("station_unreturned")]);
  }

  (own.open ? welcome : locked)();
}
