// The screens "Open" and "Collect": rehearse with simulated people, open, invite, watch and close. They never show single reports.
import { api, ask, button, copier, field, h, input, notice, number, numberIn, same, save, select, state, svg, t, toggle, work } from "./core.js";
import { fillResults } from "./results.js";

const BATCH = 250, MAX_PEOPLE = 5000; // a rehearsal is requested in batches, so that the page can show its progress
const STATES = { draft: "not open yet", open: "open", paused: "paused", closed: "closed" };

/** A link with its QR code. */
export function linkOf(one) {
  if (!one?.url) return null;
  const code = svg("svg", { viewBox: `0 0 ${one.qr.size} ${one.qr.size}`, class: "qr", role: "img", "aria-label": t("QR code of the link") },
    svg("rect", { width: one.qr.size, height: one.qr.size, fill: "#fff" }), svg("path", { d: one.qr.path, fill: "#000" }));
  const local = one.beyond ? null : h("p", { class: "hint" }, t("This address works only on this machine, so a QR code would be of no use to a phone."));
  return h("div", { class: "link" }, one.beyond && code, h("div", {}, h("p", {}, h("a", { href: one.url, target: "_blank", rel: "noopener noreferrer" }, one.url), " ", copier(one.url)), local));
}

export async function opening(main) {
  await save();
  let now = await api("field", { file: state.survey.file });
  const body = h("div", {});
  const paint = () => body.replaceChildren(...(state.survey.valid ? [rehearsal(), real(), invitations(), stations()].filter(Boolean) : [notice(t("The survey has errors. Correct them first: the steps with a red number show where."), "wrong")]));
  const open = (pressed, place, given) => work(pressed, place, async () => {
    now = await api("open", { file: state.survey.file, hash: now.hash, ...given });
    paint();
  });
  function rehearsal() {
    const said = h("div", {}), found = h("div", {}), count = input("200", () => {}, { inputmode: "numeric" });
    const run = (event) => work(event.target, said, async () => {
      const people = numberIn(count.value), batch = people <= MAX_PEOPLE ? BATCH : people; // the server rejects what is not a number of people, or too many
      let stored = 0;
      for (let sent = 0; sent < people || !sent; sent += batch) {
        now = await api("rehearse", { file: state.survey.file, people: people > batch ? Math.min(batch, people - sent) : people, hash: now.hash });
        stored += now.stored;
        said.replaceChildren(notice(t("{n} of {people} have answered …", { n: number(stored, 0), people: number(people, 0) })));
      }
      await fillResults(found, "rehearsal", "");
      return t("{n} simulated people have answered. This is what you would see:", { n: number(stored, 0) });
    });
    const old = now.rehearsal && !now.rehearsal.current ? notice(t("There is a rehearsal of an earlier version. It is deleted when you rehearse again."), "note") : null;
    return h("section", { class: "panel", "aria-labelledby": "o1" }, h("h2", { id: "o1" }, t("1. Rehearse")),
      h("p", {}, t("Simulated people answer over the network, as phones do. Their reports cannot be mixed with real ones.")), old,
      h("div", { class: "row" }, field(t("Simulated people"), count), button(t("Rehearse"), run, "main")), said, found, same("rehearse"));
  }
  function real() {
    const said = h("div", {}), one = now.real;
    const head = h("h2", { id: "o2" }, t("2. Open"));
    if (one && one.state !== "closed" && one.serving) {
      const amend = (event) => open(event.target, said, { amend: true });
      return h("section", { class: "panel good", "aria-labelledby": "o2" }, head, h("p", {}, t("The survey is {state}. Its address:", { state: t(STATES[one.state]) })), linkOf(one),
        one.current ? null : h("div", {}, notice(t("The file differs from what people see."), "note"), button(t("Show people the corrected page"), amend)), said, same("open"));
    }
    if (one?.state === "closed") return h("section", { class: "panel", "aria-labelledby": "o2" }, head, h("p", {}, t("The collection is closed. Closing is final; a new one needs another file.")), same("open"));
    const network = { host: "", public_url: "", certificate: "", private_key: "", plain_http_beyond_this_machine: false };
    const give = (name) => (value) => (network[name] = value);
    const far = h("details", {}, h("summary", {}, t("For phones: beyond this machine")),
      h("p", { class: "hint" }, t("Phones need an address that they can reach, and TLS: otherwise anybody on the network path could change the page.")),
      field(t("Listen on"), select("", [["", t("This machine alone")], ["0.0.0.0", t("All networks of this machine")]], give("host"))),
      field(t("Address that people open, if there is a proxy"), input("", give("public_url"), { inputmode: "url", placeholder: "https://survey.example/" })),
      field(t("Certificate (a PEM file in this folder)"), input("", give("certificate"), { placeholder: "cert.pem" })),
      field(t("Its key (a PEM file in this folder)"), input("", give("private_key"), { placeholder: "key.pem" })),
      toggle(t("Without TLS, on a network that I trust"), false, give("plain_http_beyond_this_machine")));
    const unfinished = !one && (state.survey.problems ?? []).some((problem) => problem.unfinished);
    const run = async (event) => {
      const pressed = event.target;
      if (await ask(t("Open the survey?"), t("From now on questions, answers and designs cannot change. Title and consent can still be corrected."), t("Open"), "main")) await open(pressed, said, { network });
    };
    return h("section", { class: "panel", "aria-labelledby": "o2" }, head, h("p", {}, t("A separate server starts in the background. It keeps running when the studio stops.")), far,
      unfinished && notice(t("Some texts are still examples: the steps with a number show where. Write your own before you open the survey.")),
      button(one ? t("Start the server again") : t("Open the survey"), run, "main", { disabled: unfinished }), said, same("open"));
  }
  /** A section that makes links for a given number of people. */
  function links(id, title, about, label, press, make) {
    const said = h("div", {}), count = input("50", () => {}, { inputmode: "numeric" });
    const run = (event) => work(event.target, said, async () => make(await api(id, { file: state.survey.file, count: numberIn(count.value), hash: now.hash })));
    return h("section", { class: "panel", "aria-labelledby": id }, h("h2", { id }, title), about && h("p", {}, about),
      h("div", { class: "row" }, field(label, count), button(press, run, "main")), said, same(id));
  }
  function invitations() {
    if (!now.real?.serving || now.real.access === "open") return null;
    return links("invite", t("3. Invite"), null, t("How many links"), t("Make links"), (made) => {
      const text = made.links.join("\n");
      return h("div", {}, notice(t("{n} links. Each works once, and they are not stored: save them now.", { n: number(made.links.length, 0) }), "good"), copier(text, t("Copy all")), h("pre", { tabindex: 0, class: "links" }, text));
    });
  }
  function stations() {
    if (!now.real?.serving || !now.real.station) return null;
    return links("station", t("4. Stations"), t("One of your devices, on which many people answer one after the other, even without a network."), t("How many people can answer on it"), t("Make a link for a station"),
      (made) => h("div", {}, notice(t("One link for one device. It is not stored: open it once on the device, with a network, and choose a PIN."), "good"), linkOf(made)));
  }
  main.append(h("p", { class: "lead" }, t("First a rehearsal, then the real thing.")), body);
  paint();
}

export async function collect(main) {
  let timer, stopped = false;
  const body = h("div", {});
  async function look() {
    clearTimeout(timer);
    try {
      paint(await api("field", { file: state.survey.file }));
    } catch (problem) {
      body.replaceChildren(notice(problem.message, "wrong"));
    }
    if (!stopped) timer = setTimeout(look, 3000);
  }
  let before = "", known = "";
  function paint({ real, hash }) {
    known = hash;
    if (JSON.stringify(real) === before) return;
    before = JSON.stringify(real);
    if (!real) return body.replaceChildren(notice(t("Nothing is collected yet. Open the survey first."), "note"));
    const said = h("div", {});
    const move = (pressed, name, given) => work(pressed, said, async () => paint(await api("change", { file: state.survey.file, which: "real", verb: name, hash: known, ...given })));
    const verb = (name, label, kind = "") => button(label, (event) => move(event.target, name), kind);
    const close = button(t("Close for good"), async (event) => {
      const pressed = event.target, shown = known;
      const lost = real.uses_out ? ` ${t("Unused answers of stations: {n}. Reports that still wait on tablets can never be read after closing: let every tablet send, and remove its station, before you close.", { n: number(real.uses_out, 0) })}` : "";
      if (await ask(t("Close the collection for good?"), t("No more reports are taken, and it cannot be opened again.") + lost, t("Close for good"))) await move(pressed, "close", { hash: shown, anyway: real.uses_out > 0 });
    }, "danger");
    const closed = real.state === "closed";
    const seen = closed ? t("All reports can be read now.") : real.first ? t("Results change in steps of {step}, from {first} reports at the earliest, so that nobody's report can be seen as it arrives.", real) : t("Results can be read when it is closed.");
    body.replaceChildren(h("section", { class: "panel" }, h("p", { class: "state" }, h("span", { class: `chip ${real.state}` }, t(STATES[real.state]))),
      h("p", { class: "big" }, h("strong", {}, number(real.stored, 0)), ` ${t("reports")}${real.cap ? ` / ${number(real.cap, 0)}` : ""}`), h("p", { class: "hint" }, seen), !closed && linkOf(real),
      real.serving || closed ? null : notice(t("No server is running. Start it again on the screen Open."), "wrong"), ...real.log.map((line) => notice(line, "wrong")),
      !closed && h("div", { class: "row" }, real.state === "paused" ? verb("resume", t("Go on"), "main") : verb("pause", t("Pause")), close), said));
    return undefined;
  }
  main.append(body, same("collect"));
  await look();
  return { stop: () => ((stopped = true), clearTimeout(timer)) };
}
