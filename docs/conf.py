"""How `make docs` builds the site: pages of this folder, the notebooks as they are saved, the docstrings by room.

The source folder is the repository, so that links of a page work in a checkout and on the site. Nothing is fetched,
neither here nor by who reads: MathJax comes from a package and is copied beside the pages.
"""

import re
import shutil
import sys
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

from sphinx.util.inspect import signature, stringify_signature

import toolkit

sys.path.insert(0, str(Path(__file__).parents[1] / ".make"))
from reference import expand

project = "Privacy survey toolkit"
author = "The privacy-survey-toolkit developers"
copyright = author  # noqa: A001  Sphinx calls it so
version = release = toolkit.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.mathjax",
    "sphinx_copybutton",
    "sphinx_design",
]
root_doc = "docs/index"
include_patterns = [
    "docs/*.md",
    "docs/**/*.md",
    "notebooks/*.ipynb",
    "notebooks/*.md",
    "notebooks/teaching/*.md",
    "benchmarks/RESULTS.md",
    "data/*.md",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
]
exclude_patterns = [".*", "build", "tests", "toolkit", "data/attacks", "**/.ipynb_checkpoints", "*.egg-info"]

# Formulas, headings with the names that links use, and outputs that were saved: no notebook is run here.
myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "deflist", "html_image"]
myst_heading_anchors = 4
nb_execution_mode = "off"
nb_code_prompt_show, nb_code_prompt_hide = "Show the check", "Hide the check"  # all that is folded is one
nb_ipywidgets_js = {}  # widgets need a running Python; their saved picture is shown
nb_mime_priority_overrides = [
    ("html", "application/vnd.jupyter.widget-view+json", None),
    ("html", "application/javascript", None),
]
mathjax_path = "tex-svg.js"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# Parameters stand in the docstrings, one a line, with their types: signatures then are short enough to read.
add_module_names = False
autodoc_typehints = "none"
autodoc_preserve_defaults = True  # as they are written, not as they are printed
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True}
default_role = "code"  # a name in a docstring
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_param = False  # a list of parameters, whose types are words and no links

html_theme = "pydata_sphinx_theme"
html_title = project
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "navigation_depth": 3,
    "show_toc_level": 2,
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": {"**": ["page-toc"], "docs/understand/mathematics": [], "docs/understand/threats": []},
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}

NODE = re.compile(r'^ +(?:subgraph )?(\w+)\["(.+)"\]$', re.MULTILINE)
ARROW = re.compile(r'^  (\w+) -->\|"(\d+) (\w+)"\| (\w+)$', re.MULTILINE)


def prepare(_: Any, page: str, source: list[str]) -> None:
    """The reference is made from docstrings; a picture that a forge draws from its text is a list of its arrows."""

    def steps(picture: re.Match[str]) -> str:
        folder, files = "", {}
        for node, label in NODE.findall(picture[1]):
            folder = label if label[-1] == "/" else folder
            files[node] = folder + label
        return "\n".join(f"{n}. `{files[end]}`: `{name}`" for _, n, name, end in ARROW.findall(picture[1]))

    if page.startswith("docs/reference/"):
        source[0] = expand(source[0])
    if page == "docs/understand/threats":
        source[0] = re.sub(r"(tests/\S+)::(test_\w+) \|", r'<span class="held" title="\1">\2</span> |', source[0])
    if page == "docs/project/guarantees":
        source[0] = re.sub(r"<!-- tests/(\S+)::(\S+) -->", r'<span class="held" title="tests/\1">\2</span>', source[0])
    if page.startswith("notebooks/"):  # Jupyter's names of headings, as the site has them
        source[0] = re.sub(r"\]\(#([\w?-]+)\)", lambda link: f"](#{link[1].strip('?').lower()})", source[0])
        # Checks and solved exercises are folded, as in Jupyter.
        source[0] = re.sub(r'("source_hidden": true\s*\},\s*"tags": \[)', r'\1"hide-input", ', source[0])
    source[0] = re.sub(r"```mermaid\n(.*?)```", steps, source[0], flags=re.DOTALL)
    source[0] = re.sub(r"\n\n```$", "\n```", source[0], flags=re.MULTILINE)  # the line that ends a doctest


def anchors(app: Any, _: Any) -> None:
    """Places of a page that are marked in HTML, as those of the glossary, can be linked to like headings."""
    slugs = app.env.metadata[app.env.docname].setdefault("myst_slugs", {})
    if app.env.docname == "notebooks/GLOSSARY":
        text = Path(app.env.doc2path(app.env.docname)).read_text(encoding="utf-8")
        slugs.update({name: (0, name, name) for name in re.findall(r'<a id="([\w-]+)">', text)})


def skip(_: Any, __: str, name: str, *___: Any) -> bool | None:
    """What scikit-learn gives every estimator is described there."""
    return True if name.endswith("_request") or name == "get_metadata_routing" else None


def shown(_: Any, __: str, ___: str, thing: Any, ____: Any, given: str | None, back: Any) -> tuple[str, Any] | None:
    """A widget's signature is its own, and a constant is shown as its value, or as dots where that is long."""

    def value(name: re.Match[str]) -> str:
        text = repr(getattr(sys.modules[thing.__module__], name[0]))
        return text if len(text) < 60 else "..."

    if given is None:  # of a property
        return None
    if given == "(*args, **kwargs)":
        given = stringify_signature(signature(thing.__init__, bound_method=True), show_annotation=False)
    given = given.replace("(*args, **kwargs)", "")  # a protocol is not called
    return re.sub(r"(?<==)_?[A-Z_]{2,}\b", value, given), back


def initials(_: Any, what: str, __: str, ___: Any, ____: Any, lines: list[str]) -> None:
    """An author's "S. L. Warner" begins no list, and words of a property before a colon are no type."""
    lines[:] = [re.sub(r"^(\s*)([A-Z])\. (?=[A-Z])", r"\1\2\\. ", line) for line in lines]
    lines[:0] = ["..", ""] if what == "property" else []  # napoleon looks at the first line only: an empty comment


def said(_: Any, __: str, ___: str, context: dict[str, Any], ____: Any) -> None:
    """What a reader who hears the page is told: wide tables and letters that are links have names, and the empty
    corner of a table of pandas is no heading. And where names of options, files and functions break.
    """
    frame = '<div class="pst-scrollable-table-container"'
    body = context.get("body", "").replace(frame, f'{frame} role="group" aria-label="Table"')
    body = body.replace("<th></th>", "<td></td>")
    body = body.replace('<span class="pre">--', '<span class="pre" style="white-space: nowrap">--')
    letter = r'(<a [^>]*href="[^"]*#(\w+)")(>(?:<span[^>]*>)+\\\(\\\w+\\\)(?:</span>)+</a>)'
    body = re.sub(letter, r'\1 aria-label="\2"\3', body)
    context["body"] = re.sub(r'(?<=<span class="pre">)[^<]{12,}(?=</span>)', parts, body)


def parts(name: re.Match[str]) -> str:
    """A name of a file or a function may break after a dot or a slash, and a very long one after an underscore."""
    return re.sub(r"(?<=\w)[./_](?=\w)" if len(name[0]) > 24 else r"(?<=\w)[./](?=\w)", r"\g<0><wbr>", name[0])


def finish(app: Any, problem: Exception | None) -> None:
    """MathJax beside the pages, a first page where people look for one, names for what unfolds the list of pages."""
    if problem is None and app.builder.format == "html":
        package = distribution("sphinx-mathjax-offline")
        shutil.copy(
            str(package.locate_file("sphinx-mathjax-offline/static/mathjax/tex-svg.js")), app.outdir / "_static"
        )
        toggle = '<span class="toctree-toggle"'
        for page in Path(app.outdir).rglob("*.html"):
            text = page.read_text(encoding="utf-8")
            text = text.replace(f"<summary>{toggle}", f'<summary aria-label="Pages below">{toggle}')
            page.write_text(text, encoding="utf-8")
        first = '<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url=docs/index.html">'
        (Path(app.outdir) / "index.html").write_text(f'{first}<a href="docs/index.html">{project}</a>\n')


def setup(app: Any) -> None:
    """What the settings above cannot say."""
    app.connect("source-read", prepare)
    app.connect("doctree-read", anchors)
    app.connect("autodoc-process-docstring", initials, priority=400)
    app.connect("autodoc-process-signature", shown)
    app.connect("autodoc-skip-member", skip)
    app.connect("html-page-context", said)
    app.connect("build-finished", finish)
