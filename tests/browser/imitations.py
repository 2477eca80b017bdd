"""Pages that imitate Qualtrics and LimeSurvey, which cannot be run here.

Qualtrics: the markup of a form, the calls that are documented for a question's JavaScript, and the text format that it
imports. A response stores what the events of the fields told the page, and piped text is removed from scripts.
LimeSurvey: the markup of its templates and the columns that its import function reads, both from its repository; text
in braces without spaces is taken for an expression.
"""

import csv
import io
import json
import re
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from tests.browser.hosts import SITE, Visit

QUALTRICS = """<!doctype html><html lang="en"><meta name="viewport" content="width=device-width, initial-scale=1">
<style>body { margin: 1rem; font-family: sans-serif } .QuestionOuter { margin-bottom: 1rem }</style>
<body><form id="Page"><div id="Questions" role="main"></div>
<div id="Buttons"><input id="PreviousButton" class="PreviousButton Button" type="button" value="Back">
<input id="NextButton" class="NextButton Button" type="button" value="Next"></div></form>
<script>
const pages = PAGES, values = {}, embedded = {};
let current = 0;
const button = (name) => document.getElementById(name + "Button");
const show = (name, is) => { button(name).style.display = is ? "" : "none"; };
class Question {
  constructor(id) { this.questionId = id; }
  getQuestionContainer() { return document.getElementById(this.questionId); }
  hideNextButton() { show("Next", false); }
  showNextButton() { show("Next", true); }
  hidePreviousButton() { show("Previous", false); }
  clickNextButton() { button("Next").click(); }
}
const asked = ({ conditions }) => conditions.every(([name, options]) => options.includes(values[name]));
function go(index) {
  while (index < pages.length && !asked(pages[index])) index += 1;
  current = index;
  if (index === pages.length) {
    document.getElementById("Page").textContent = "Thank you.";
    window.saved = JSON.stringify({ ...values, ...embedded });
    return;
  }
  const { name, html, script } = pages[index], id = "QID" + (index + 1), ready = [];
  document.getElementById("Questions").innerHTML = '<div class="QuestionOuter" id="' + id + '"></div>';
  document.getElementById(id).innerHTML = html.replaceAll("QIDX", id);
  ["Next", "Previous"].forEach((one) => show(one, true));
  for (const field of document.getElementById(id).querySelectorAll("input, textarea")) {
    if (field.type === "radio") field.addEventListener("change", () => { values[name] = field.value; });
    else {
      field.value = values[name] || "";
      field.addEventListener("change", () => { values[name] = field.value; });
    }
  }
  window.Qualtrics = { SurveyEngine: {
    addOnload: (act) => act.call(new Question(id)),
    addOnReady: (act) => ready.push(act),
    setEmbeddedData: (key, value) => { embedded[key] = value; },
  } };
  new Function(script)();
  ready.forEach((act) => act.call(new Question(id)));
}
button("Next").addEventListener("click", async () => {
  await fetch("/next", { method: "POST", body: JSON.stringify(values) });
  go(values.consent === "I do not take part" ? pages.length : current + 1);
});
button("Previous").addEventListener("click", () => go(current - 1));
go(0);
</script></body></html>"""

FIELDS = {
    "TE:SingleLine": '<input type="TEXT" autocomplete="off" id="QR~QIDX" class="InputText" name="QR~QIDX~TEXT">',
    "TE:Essay": '<textarea class="InputText" id="QR~QIDX" name="QR~QIDX~TEXT"></textarea>',
}


def qualtrics_page(folder: Path) -> str:
    """The page of a survey: its text format is read, and its README.md is followed."""
    readme = (folder / "README.md").read_text(encoding="utf-8")
    logic = re.findall(r"   - `(.*)`: if `(.*)`, \*Text response\*, \*Is equal to\* (.*)", readme)
    head, *blocks = re.split(r"\n\n", (folder / "survey.txt").read_text(encoding="utf-8").strip())
    assert head == "[[AdvancedFormat]]"
    pages = []
    for block in blocks:
        if block == "[[PageBreak]]":
            continue
        kind, name, text, *rest = block.split("\n")
        found, name = re.fullmatch(r"\[\[Question:(.*)\]\]", kind)[1], re.fullmatch(r"\[\[ID:(.*)\]\]", name)[1]
        if found.startswith("MC"):
            assert rest.pop(0) == "[[Choices]]"
            field = "".join(
                f'<label class="SingleAnswer"><input type="radio" name="QR~QIDX" value="{choice}">{choice}</label>'
                for choice in rest
            )
        else:
            assert rest == []
            field = FIELDS[found]
        html = (
            '<div id="QR~QIDX~VALIDATION" class="ValidationError" role="alert" style="display: none;"></div>'
            '<div class="Inner BorderColor"><div class="InnerInner BorderColor"><fieldset><legend>'
            f'<label for="QR~QIDX" class="QuestionText BorderColor">{text}</label></legend>'
            f'<div class="QuestionBody"><div class="ChoiceStructure">{field}</div></div></fieldset></div></div>'
        )
        script = folder / f"{name}.js"
        code = script.read_text(encoding="utf-8") if script.exists() else ""
        code = re.sub(r"\$\{.*?\}", "", code)  # piped text
        conditions = [(other, options.split(" or ")) for asked, other, options in logic if asked == name]
        pages.append({"name": name, "html": html, "script": code, "conditions": conditions})
    return QUALTRICS.replace("PAGES", json.dumps(pages).replace("</", "<\\/"))


class QualtricsVisit(Visit):
    """A respondent of the imitation of Qualtrics."""

    def __init__(self, context: Any, folder: Path) -> None:
        super().__init__(context, folder, folder)
        (folder / "index.html").write_text(qualtrics_page(folder), encoding="utf-8")

    def begin(self, words: list[int], label: str = "I take part") -> "QualtricsVisit":
        super().begin(words, label)
        self.page.get_by_role("button", name="Next").click()
        return self

    def _serve(self, route: Any) -> None:
        if route.request.method != "POST":
            return super()._serve(route)
        self.requests.append((route.request.method, route.request.url, route.request.post_data))
        return route.fulfill(status=204)


LIMESURVEY = """<!doctype html><html lang="{language}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>body {{ margin: 1rem; font-family: sans-serif }}</style>
<body><form id="limesurvey" method="post" action="/index">
<div id="question{qid}" class="row question-container {kind}"><div class="question-title-container col-12">
<div id="ls-question-text-1X1X{qid}" class="ls-label-question">{text}</div></div>
<div class="answer-container col-12">{field}</div></div>
<input type="hidden" name="thisstep" value="{step}">
<button id="ls-button-previous" class="ls-move-btn" type="submit" value="moveprev" name="move">Previous</button>
<button id="ls-button-submit" class="ls-move-btn" type="submit" value="movenext" name="move">Next</button></form>
<script>
if ({ajax}) document.getElementById("limesurvey").addEventListener("submit", async (event) => {{
  event.preventDefault(); // insert the next page, and run its scripts
  const data = new URLSearchParams(new FormData(event.target, event.submitter));
  const text = await (await fetch("/index", {{ method: "POST", body: data }})).text();
  document.body.innerHTML = new DOMParser().parseFromString(text, "text/html").body.innerHTML;
  for (const old of document.querySelectorAll("script")) {{
    old.replaceWith(Object.assign(document.createElement("script"), {{ textContent: old.textContent }}));
  }}
}});
</script></body></html>"""
TEXT_FIELDS = {
    "S": '<input class="form-control" type="text" name="{name}" id="answer{name}" value="{value}">',
    "T": '<textarea class="form-control textarea" name="{name}" id="answer{name}" rows="5">{value}</textarea>',
}
EXPRESSION = re.compile(r"(?<!\\)\{(?!\s).*?(?<!\\)(?<!\s)\}")


class LimeSurveyVisit(Visit):
    """A respondent of the imitation of LimeSurvey; with `ajax`, pages are inserted into the first one."""

    ajax = True

    def __init__(self, context: Any, folder: Path) -> None:
        super().__init__(context, folder, folder)
        text = (folder / "survey.txt").read_text(encoding="utf-8")
        assert '\\"' not in text, "PHP reads this as a quotation mark inside the field"
        rows = list(csv.DictReader(io.StringIO(text), delimiter="\t"))
        self.settings = {row["name"]: row["text"] for row in rows if row["class"] == "S"}
        self.choices = [row for row in rows if row["class"] == "A"]
        self.questions = [row for row in rows if row["class"] == "Q"]
        self.answers = dict[str, str]()

    def begin(self, words: list[int], label: str = "I take part") -> "LimeSurveyVisit":
        self.answers = {}
        super().begin(words, label)
        self.page.get_by_role("button", name="Next").click()
        return self

    def _serve(self, route: Any) -> None:
        request = route.request
        self.requests.append((request.method, request.url, request.post_data))
        step = 0
        if request.method == "POST":
            data = dict(parse_qsl(request.post_data, keep_blank_values=True))
            back, step = data.pop("move") == "moveprev", int(data.pop("thisstep"))
            self.answers |= data
            steps = [index for index in range(len(self.questions)) if self._is_relevant(index)]
            later = [index for index in steps if (index < step if back else index > step)]
            step = later[-1 if back else 0] if later else len(self.questions)
        elif request.url != SITE + "index.html":
            return route.fulfill(status=404, body="")
        return route.fulfill(body=self._page(step), content_type="text/html; charset=utf-8")

    def _is_relevant(self, index: int) -> bool:
        """Evaluate an expression of LimeSurvey; questions that are not asked have no answer."""
        answers = {f"{row['name']}NAOK": self.answers.get(row["name"], "") for row in self.questions}
        return bool(eval(self.questions[index]["relevance"].replace(".NAOK", "NAOK"), {}, answers))  # noqa: S307

    def _page(self, step: int) -> str:
        if step == len(self.questions):
            saved = json.dumps(json.dumps(self.answers))
            return f"<!doctype html><body>Thank you.<script>window.saved = {saved};</script></body>"
        row = self.questions[step]
        slots = {"name": row["name"], "value": escape(self.answers.get(row["name"], ""))}
        field = TEXT_FIELDS.get(row["type/scale"], "").format(**slots) or "".join(
            f'<label><input type="radio" name="{row["name"]}" value="{choice["name"]}">{choice["text"]}</label>'
            for choice in self.choices
        )
        return LIMESURVEY.format(
            language=self.settings["language"],
            qid=step + 11,
            kind=row["type/scale"],
            text=EXPRESSION.sub("", row["text"]),
            field=field,
            step=step,
            ajax="true" if self.ajax else "false",
        )
