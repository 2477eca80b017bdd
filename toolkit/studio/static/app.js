// The frame of all screens: the session, the choice of the screen, and the state of saving.
import { adopt, api, button, h, listen, look, notice, openSurvey, save, screenOf, select, showProblems, slot, speak, state, step, t } from "./core.js";
import { analyse } from "./analyse.js";
import { collect, opening } from "./fieldwork.js";
import { preview } from "./preview.js";
import { protection } from "./protection.js";
import { questions } from "./questions.js";
import { results } from "./results.js";
import { start } from "./start.js";
import { table } from "./table.js";
import { who } from "./who.js";

const SCREENS = {
  questions: ["Questions", questions],
  protection: ["Protection", protection],
  who: ["Who asks", who],
  preview: ["Preview", preview],
  open: ["Open", opening],
  collect: ["Collect", collect],
  results: ["Results", results],
  analyse: ["Analyse", analyse],
};
const root = document.getElementById("app");
let shown = {}, turn = 0;

const place = () => location.hash.replace(/^#\/?/, "").split("/").map(decodeURIComponent);
export const go = (...parts) => (location.hash = `/${parts.map(encodeURIComponent).join("/")}`);

async function enter() {
  const key = /^#key=([\w-]+)/.exec(location.hash);
  if (key) {
    history.replaceState(null, "", "#/");
    try {
      sessionStorage.setItem("studio:session", (await api("session", { key: key[1] })).session);
    } catch (problem) {
      if (!sessionStorage.getItem("studio:session")) throw problem;
    }
  }
  if (!sessionStorage.getItem("studio:session")) throw new Error(t("Open the studio by the link that the terminal shows. It works once."));
}

function badge(name) {
  const here = (state.survey.problems ?? []).filter((one) => !one.warning && screenOf(one) === name);
  const refused = here.filter((one) => !one.unfinished).length, count = refused || here.length;
  return count ? h("span", { class: refused ? "badge" : "badge soft" }, `${count}`, h("span", { class: "unseen" }, ` ${t("to settle")}`)) : null;
}

function steps(file, current) {
  const items = Object.entries(SCREENS).map(([name, [title]], i) => h("li", {}, h("a", {
    href: `#/survey/${encodeURIComponent(file)}/${name}`, "aria-current": name === current ? "page" : null,
  }, h("span", { class: "place" }, `${i + 1}`), h("span", {}, t(title)), badge(name))));
  const list = h("ol", {}, ...items);
  requestAnimationFrame(() => list.scrollTo({ left: (list.querySelector("[aria-current]")?.offsetLeft ?? 0) - list.clientWidth / 3 }));
  return h("nav", { "aria-label": t("Steps") }, list);
}

function header(title) {
  const status = h("span", { role: "status", class: "saved" }, state.status);
  listen({
    repaint: () => paint(true),
    update,
    status: () => (status.textContent = state.status),
    wrong: (text) => {
      root.querySelector(".toast")?.remove();
      if (text) root.append(h("div", { class: "toast" }, notice(text, "wrong"), button(t("Close"), () => root.querySelector(".toast")?.remove(), "small")));
    },
  });
  const own = state.survey && title !== null;
  return h("header", {}, h("a", { class: "brand", href: "#/" }, "Studio"), h("span", { class: "title" }, title ?? ""), status,
    own && button(t("Undo"), () => step("undo"), "small", { disabled: !state.survey.undo, id: "undo", "aria-keyshortcuts": "Control+Z" }),
    own && button(t("Redo"), () => step("redo"), "small", { disabled: !state.survey.redo, id: "redo" }),
    select(state.speak, [["en", "English"], ["de", "Deutsch"]], (code) => (speak(code), reload()), { "aria-label": t("Language of the studio"), class: "small" }));
}

/** Update badges, buttons and problems after a save. Fields are not changed, because somebody may be typing in them. */
function update() {
  const [, , name] = place();
  const nav = root.querySelector("nav");
  if (nav) nav.replaceWith(steps(state.survey.file, name ?? "questions"));
  for (const id of ["undo", "redo"]) {
    const pressed = root.querySelector(`#${id}`);
    if (pressed) pressed.disabled = !state.survey[id];
  }
  const main = root.querySelector("main");
  if (main) showProblems(main, name ?? "questions");
  shown.update?.();
}

/** Paint the screen in the address. With `again` it is the same screen and the focus is kept. A later call supersedes an earlier one. */
async function paint(again = false, mine = ++turn) {
  const [kind, file, name = "questions"] = place();
  const focused = again ? document.activeElement?.dataset?.key ?? document.activeElement?.id : null, scroll = window.scrollY;
  shown.stop?.();
  shown = {};
  const main = h("main", { id: "main", tabindex: -1 });
  const skip = h("a", { class: "skip", href: "#main", onclick: (event) => (event.preventDefault(), main.focus()) }, t("To the content"));
  if (kind === "survey" && state.survey?.broken) {
    root.replaceChildren(skip, header(file), main);
    main.append(h("h1", {}, file), notice(t("This file cannot be read: {problem} Correct it by hand; this page then reads it again.", { problem: state.survey.broken }), "wrong"),
      h("pre", { tabindex: 0 }, state.survey.text));
  } else if (kind === "survey") {
    const title = SCREENS[name] ? t(SCREENS[name][0]) : "";
    root.replaceChildren(skip, header(titleOf(state.survey)), steps(file, name), main);
    document.title = `${title} · ${titleOf(state.survey)} · Studio`;
    const warned = state.survey.readonly ? notice(t("This survey contains numbers that a browser would round: you can view it here, but not edit it."), "note") : null;
    main.append(slot(""), h("h1", { tabindex: -1 }, title), ...(warned ? [warned] : []));
    if (!(await fill(() => SCREENS[name]?.[1](main), mine))) return;
    showProblems(main, name);
  } else {
    state.survey = null;
    root.replaceChildren(skip, header(kind === "table" ? file : null), main);
    document.title = "Studio";
    if (!(await fill(() => (kind === "table" ? table(main, file) : start(main, go)), mine))) return;
  }
  if (again) {
    const old = focused ? root.querySelector(`[data-key="${CSS.escape(focused)}"]`) ?? document.getElementById(focused) : null;
    old?.focus({ preventScroll: true });
    window.scrollTo(0, scroll);
  } else {
    window.scrollTo(0, 0);
    main.querySelector("h1")?.focus({ preventScroll: true });
  }
}

/** Fill a screen; return whether it is still the current screen when it is complete. */
async function fill(make, mine) {
  try {
    const made = (await make()) ?? {};
    if (mine === turn) shown = made;
    else made.stop?.();
  } catch (problem) {
    if (mine !== turn) return false;
    throw problem;
  }
  return mine === turn;
}

function titleOf(survey) {
  const title = survey.data?.title;
  return (typeof title === "string" ? title : Object.values(title ?? {})[0]) || survey.file;
}

async function reload() {
  const [kind, file] = place(), mine = ++turn;
  try {
    if (state.survey) await save();
    if (kind === "survey" && (state.survey?.file !== file || state.survey?.broken)) await openSurvey(file);
    else if (kind === "survey") adopt(await api("survey", { file, page_language: state.speak }));
    if (mine === turn) await paint(false, mine);
  } catch (problem) {
    if (mine === turn) failed(problem);
  }
}

function failed(problem) {
  const back = problem.status === 401 ? null : h("a", { href: "#/" }, t("Back to the start"));
  root.replaceChildren(h("main", {}, h("h1", {}, "Studio"), notice(problem.message, "wrong"), ...(back ? [back] : [])));
}

addEventListener("hashchange", reload);
addEventListener("focus", look);
setInterval(look, 10000);
addEventListener("keydown", (event) => {
  const typing = event.target.matches?.("input[type=text], textarea");
  if ((event.ctrlKey || event.metaKey) && event.key === "z" && state.survey && !typing) {
    event.preventDefault();
    step(event.shiftKey ? "redo" : "undo");
  }
});
speak(state.speak);
try {
  await enter();
  await reload();
} catch (problem) {
  failed(problem);
}
