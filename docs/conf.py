"""Configure Sphinx, with which `make docs` builds the site from the pages, the saved notebooks and the docstrings.

The source folder is the repository, so that the links of a page work both in a checkout and on the site. Neither the
build nor the finished site loads anything from the network: MathJax comes from a package and is copied to the site.
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
copyright = author  # noqa: A001  (the name that Sphinx requires)
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

# The site shows the saved outputs of the notebooks and runs none of them.
myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "deflist", "html_image"]
myst_heading_anchors = 4
nb_execution_mode = "off"
# Only checks and their like are folded.
nb_code_prompt_show, nb_code_prompt_hide = "Show the check", "Hide the check"
nb_ipywidgets_js = {}  # A widget needs a running Python, so the site shows its saved picture.
nb_mime_priority_overrides = [
    ("html", "application/vnd.jupyter.widget-view+json", None),
    ("html", "application/javascript", None),
]
mathjax_path = "tex-svg.js"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# The docstrings list each parameter with its type, so the signatures leave the types out and stay short.
add_module_names = False
autodoc_typehints = "none"
autodoc_preserve_defaults = True  # Defaults are shown as the source code has them.
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True}
default_role = "code"  # Backquotes in a docstring mark code.
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_param = False  # Types of parameters are plain text without links.

html_theme = "pydata_sphinx_theme"
html_title = f"{project} {version}"
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
    "secondary_sidebar_items": {
        "**": ["page-toc"],
        "docs/understand/mathematics": [],
        "docs/understand/threats": [],
        "docs/understand/evaluation": [],
    },
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}

# Types of other packages link to the documentation of these packages. The inventories of intersphinx would have to be
# loaded from the network.
TYPES = {
    "matplotlib.axes.Axes": "https://matplotlib.org/stable/api/_as_gen/matplotlib.axes.Axes.html",
    "numpy.random.Generator": "https://numpy.org/doc/stable/reference/random/generator.html",
    "pandas.DataFrame": "https://pandas.pydata.org/docs/reference/api/pandas.DataFrame.html",
    "pandas.Index": "https://pandas.pydata.org/docs/reference/api/pandas.Index.html",
}
TYPE_LINE = re.compile(rf"^(\s*(?:\w+ : )?.*?)\b({'|'.join(map(re.escape, TYPES))})(?=$|,| or )")

NODE = re.compile(r'^ +(?:subgraph )?(\w+)\["(.+)"\]$', re.MULTILINE)
ARROW = re.compile(r'^  (\w+) -->\|"(\d+) (\w+)"\| (\w+)$', re.MULTILINE)


def rewrite_source(_: Any, page: str, source: list[str]) -> None:
    """Expand the docstrings of the reference, and replace each Mermaid diagram with a numbered list of its arrows."""

    def list_arrows(picture: re.Match[str]) -> str:
        folder, files = "", {}
        for node, label in NODE.findall(picture[1]):
            folder = label if label[-1] == "/" else folder
            files[node] = folder + label
        return "\n".join(f"{n}. `{files[end]}`: `{name}`" for _, n, name, end in ARROW.findall(picture[1]))

    if page.startswith("docs/reference/"):
        source[0] = expand(source[0])
    if page in ("docs/understand/threats", "docs/understand/evaluation"):
        source[0] = re.sub(r"(tests/\S+)::(test_\w+) \|", r'<span class="held" title="\1">\2</span> |', source[0])
    if page == "docs/project/guarantees":
        source[0] = re.sub(r"<!-- tests/(\S+)::(\S+) -->", r'<span class="held" title="tests/\1">\2</span>', source[0])
    if page.startswith("notebooks/"):  # Jupyter keeps the capitals of a heading in its anchor; the site does not.
        source[0] = re.sub(r"\]\(#([\w?-]+)\)", lambda link: f"](#{link[1].strip('?').lower()})", source[0])
        # Checks and solved exercises are folded, as in Jupyter.
        source[0] = re.sub(r'("source_hidden": true\s*\},\s*"tags": \[)', r'\1"hide-input", ', source[0])
    source[0] = re.sub(r"```mermaid\n(.*?)```", list_arrows, source[0], flags=re.DOTALL)
    source[0] = re.sub(r"\n\n```$", "\n```", source[0], flags=re.MULTILINE)  # Drop the blank line that ends a doctest.


def register_anchors(app: Any, _: Any) -> None:
    """Let pages link to the HTML anchors of the glossary as they link to headings."""
    slugs = app.env.metadata[app.env.docname].setdefault("myst_slugs", {})
    if app.env.docname == "notebooks/GLOSSARY":
        text = Path(app.env.doc2path(app.env.docname)).read_text(encoding="utf-8")
        slugs.update({name: (0, name, name) for name in re.findall(r'<a id="([\w-]+)">', text)})


def skip_inherited(_: Any, __: str, name: str, *___: Any) -> bool | None:
    """Skip the metadata methods that scikit-learn adds to every estimator and documents itself."""
    return True if name.endswith("_request") or name == "get_metadata_routing" else None


def edit_signature(
    _: Any, __: str, ___: str, documented: Any, ____: Any, arguments: str | None, returned: Any
) -> tuple[str, Any] | None:
    """Show a widget's own signature, and replace a constant with its value, or with dots if the value is long."""

    def constant_value(name: re.Match[str]) -> str:
        text = repr(getattr(sys.modules[documented.__module__], name[0]))
        return text if len(text) < 60 else "..."

    if arguments is None:  # A property has no arguments.
        return None
    if arguments == "(*args, **kwargs)":
        arguments = stringify_signature(signature(documented.__init__, bound_method=True), show_annotation=False)
    arguments = arguments.replace("(*args, **kwargs)", "")  # Nobody calls a protocol.
    return re.sub(r"(?<==)_?[A-Z_]{2,}\b", constant_value, arguments), returned


def edit_docstring(_: Any, kind: str, __: str, ___: Any, ____: Any, lines: list[str]) -> None:
    """Keep an author's "S. L. Warner" from starting a list, and a property's words before a colon from being a type.

    Types of other packages become links.
    """
    lines[:] = [re.sub(r"^(\s*)([A-Z])\. (?=[A-Z])", r"\1\2\\. ", line) for line in lines]
    lines[:] = [TYPE_LINE.sub(lambda line: f"{line[1]}`{line[2]} <{TYPES[line[2]]}>`__", line) for line in lines]
    # Napoleon looks for the type in the first line only, so an empty comment hides the real first line.
    lines[:0] = ["..", ""] if kind == "property" else []


def improve_html(_: Any, __: str, ___: str, context: dict[str, Any], ____: Any) -> None:
    """Name wide tables and linked letters for screen readers, and let long names break across lines.

    The empty corner of a pandas table also stops being a heading.
    """
    frame = '<div class="pst-scrollable-table-container"'
    body = context.get("body", "").replace(frame, f'{frame} role="group" aria-label="Table"')
    body = body.replace("<th></th>", "<td></td>")
    body = body.replace('<span class="pre">--', '<span class="pre" style="white-space: nowrap">--')
    letter = r'(<a [^>]*href="[^"]*#(\w+)")(>(?:<span[^>]*>)+\\\(\\\w+\\\)(?:</span>)+</a>)'
    body = re.sub(letter, r'\1 aria-label="\2"\3', body)
    context["body"] = re.sub(r'(?<=<span class="pre">)[^<]{12,}(?=</span>)', add_break_points, body)


def add_break_points(name: re.Match[str]) -> str:
    """Let a name break after a dot or a slash, and a very long name also after an underscore."""
    return re.sub(r"(?<=\w)[./_](?=\w)" if len(name[0]) > 24 else r"(?<=\w)[./](?=\w)", r"\g<0><wbr>", name[0])


def complete_site(app: Any, problem: Exception | None) -> None:
    """Copy MathJax, write an index page that leads to the first page, and name the buttons that unfold the sidebar."""
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
    """Connect the functions above to Sphinx's events."""
    app.connect("source-read", rewrite_source)
    app.connect("doctree-read", register_anchors)
    app.connect("autodoc-process-docstring", edit_docstring, priority=400)
    app.connect("autodoc-process-signature", edit_signature)
    app.connect("autodoc-skip-member", skip_inherited)
    app.connect("html-page-context", improve_html)
    app.connect("build-finished", complete_site)
