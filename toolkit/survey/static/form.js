// Navigation: the screen that is shown, the next screen, and the end.

import { sheet } from "./answers.js";
import { drop, encode, filled, send, shelf } from "./queue.js";
import { hex, secret } from "./randomizer.js";
import { appear, fill, footer, make, say, screens, speech } from "./screens.js";

const survey = JSON.parse(document.getElementById("survey").textContent);
const tab = shelf(survey.pages, "", "sessionStorage");
const fragment = location.hash;
const link = invitation();
const app = { survey, next, go, takePart, decline, submit };
app.body = () => app.sheet.body(token);
app.speak = (code) => [speak(code), show(current)];
let who, kept; // the hash of the link, and the storage under it
let consented, reviewed;
let token; // the report's token with access by token or blind
let current = "consent"; // the screen, with its question after a colon

const items = () => app.sheet.intro().concat(app.sheet.asked());

const first = (item) => app.sheet.page(item)[0];
const steps = () => ["consent"].concat(...items().map((item) => (first(item) === item ? item.screens : [])), "review");
const place = (screen) => steps().indexOf(screen);

function next() {
  const screen = steps()[place(current) + 1];
  go(reviewed && /^ask/.test(screen) ? "review" : screen);
}

function go(screen) {
  if (app.left) app.left(current);
  else history.pushState(screen, "");
  show(screen);
}

// Show a screen, or the screen that must precede it.
function show(screen) {
  const open = items().find((item) => app.sheet.answer(item) === undefined);
  const due = open ? "ask:" + first(open).name : "review";
  const meant = items().find(({ name }) => screen === "ask:" + name); // it may be asked on the page of another
  if (meant) screen = "ask:" + first(meant).name;
  if (/^(sending|end)$/.test(current)) screen = current; // nobody can go back: the answers are deleted
  else if (!consented || place(screen) < 0) screen = "consent";
  else if (place(screen) > place(due)) screen = due;
  current = screen;
  reviewed = reviewed || screen === "review";
  const [name, about] = screen.split(":");
  const [n, of] = [place(screen) + 1, steps().length];
  const item = items().find((one) => one.name === about);
  if (survey.questions.includes(item)) app.sheet.practised();
  app.step = say("step", { n, of });
  const step = n > 0 && make("progress", { max: of, value: n, "aria-label": app.step });
  const offline = consented || survey.access !== "blind"; // a blind token needs the network
  display(screens[name](app, item), step, footer(survey, name, offline && !survey.intro.includes(item)));
}

function display(screen, head, foot = []) {
  part("screen", ...screen);
  part("head", head);
  part("foot", ...foot);
  part("status");
  scrollTo(0, 0);
  appear();
  document.querySelector("h1").focus();
}

const part = (id, ...children) => fill(document.getElementById(id), children);

function speak(code) {
  Object.assign(speech, { code, words: survey.words[code], title: survey.title });
  Object.assign(document.documentElement, { lang: code, dir: speech.words.direction });
}

// Remove the token from the address bar at once, so that no history or screenshot shows it.
function invitation() {
  const found = /^#t=([\w-]+)$/.exec(fragment);
  if (found) tab.write("link", found[1]); // a reload must not lose it
  history.replaceState((survey.station && history.state) || "consent", "", location.pathname + location.search);
  return survey.access !== "open" && (tab.read("link") || (found && found[1]));
}

async function takePart() {
  app.sheet.begin();
  app.anew = false;
  try {
    if (survey.access === "token") token = link;
    if (survey.access === "blind") {
      const { signed } = await import("./signing.js").catch(({ name }) => Promise.reject({ message: name }));
      token = await signed(survey, link, kept);
    }
    consented = true;
    next();
  } catch (error) {
    if (error.how) return end({ how: error.how, early: true, again: error.how === 409 && reload });
    const why = { insecure: "insecure", SyntaxError: "too_old" };
    tell(why[error.message] || "not_begun", { button: say("take_part") });
  }
}

function decline() {
  end({ how: "declined", back: reload });
}

// For the next person on this phone: only the fact that somebody answered remains.
app.another = () => [kept.drop("done"), reload()];

function reload() {
  location.reload();
}

// A message is not repeated.
function tell(state, values) {
  const [place, text] = [document.getElementById("status"), say(state, values)];
  if (place.textContent !== text) place.textContent = text;
}

function begin() {
  app.anew = app.sheet.begun();
  show("consent");
}

async function start() {
  if (survey.station) return (await import("./station.js")).station(app, { begin, display, end, fragment, reload, show, speak, tell });
  const plain = link && !crypto.subtle; // without https there is no hash, and nothing is stored
  who = plain ? secret(16) : link && (await hash(link));
  const own = (store, pages) => shelf(pages, who, plain || store);
  kept = own("localStorage", survey.pages);
  app.sheet = sheet(survey, own("sessionStorage", survey.pages), own("localStorage", [survey.panel]));
  app.keeps = kept.keeps();
  const { person, seen } = app.sheet.memory();
  app.lacks = app.keeps ? survey.wave > 1 && !person && "new_draws" : "keeps_nothing";
  if (kept.read("report")) return deliver();
  if (kept.read("done") || seen[survey.wave] || Object.keys(seen).length >= survey.waves) return end({ how: ended() });
  if (link === null) return end({ how: "link" });
  begin();
}

// The earlier outcome: stored, permanently rejected, or deleted.
function ended() {
  const done = kept.read("done") || 1;
  return done === 1 ? "already" : done;
}

// Make the report and delete the answers.
function submit() {
  const mine = { key: app.sheet.key, body: app.sheet.body(token === link ? who : token) };
  const first = app.sheet.seal();
  app.sheet.end();
  if (app.keep) return app.keep(mine.body);
  return first ? deliver(mine) : end({ how: ended() });
}

async function deliver(mine) {
  current = "sending";
  show(current);
  const heard = (state) => tell(state === "waiting" && !app.keeps ? "waiting_here" : state);
  const complete = (body) => filled(body.replace(who || "", link || ""), survey.length);
  const { record, status } = await send(kept, mine, survey.access === "blind", complete, heard);
  if (status === 201) {
    tab.drop("link");
    kept.drop("blind");
    shelf(survey.pages, "", "localStorage").write("done", 1); // for a return without the link
  }
  const own = record && (!mine || record.key === mine.key); // otherwise another tab was faster
  const open = own && !kept.read("done") && ![201, 403, 410].includes(status); // it can still be sent or deleted
  const again = () => (status === 409 ? reload() : deliver(record));
  const remove = () => [drop(kept, "deleted"), end({ how: "deleted", again: 0, remove: 0 })];
  end({ how: own ? status : ended(), record, again: open && again, remove: open && remove });
}

const hash = async (text) => hex(new Uint8Array(await crypto.subtle.digest("SHA-256", encode(text))));

function end(outcome) {
  app.sheet.end();
  Object.assign(app, outcome, { code: survey.completion === "link" ? link && link.slice(-8) : survey.completion });
  current = "end";
  show(current);
}

// Browsers cache pages, so answers are removed from a page that is left.
addEventListener("pagehide", () => {
  if (app.sheet) app.sheet.forget();
  part("screen");
});
addEventListener("pageshow", (event) => event.persisted && (survey.station ? reload : begin)());
addEventListener("popstate", (event) => (app.returned || show)(event.state || "consent"));
addEventListener("hashchange", reload);

const liked = navigator.languages.map((code) => survey.languages.find((one) => one.slice(0, 2) === code.slice(0, 2)));
speak(liked.find(Boolean) || survey.languages[0]);
start();
