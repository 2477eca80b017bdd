"""What pyproject.toml cannot say: a wheel carries the notebooks and their data, which in a checkout stand
beside the package, without the key and the solutions; and its description, which the package index shows, has no
link to a file beside it.
"""

import importlib.util
import json
import re
import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.egg_info import egg_info

NOTEBOOKS = ("*.ipynb", "README.md", "GLOSSARY.md", "images/*.png", "teaching/*.md", "teaching/languages/*.toml")
DATA = ("campus.toml", "*.csv", "*.md", "attacks/*.csv")


_spec = importlib.util.spec_from_file_location("student_cells", "toolkit/teaching/student_cells.py")
student_cells = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(student_cells)


def write_sealed(path: Path, target: Path) -> None:
    """Copies a file of the course, without the solutions of a notebook and the answer key of a page."""
    if path.suffix == ".ipynb":
        notebook = json.loads(path.read_text(encoding="utf-8"))
        notebook["cells"] = student_cells.seal_cells(notebook["cells"])
        text = json.dumps(notebook, indent=1, sort_keys=True, ensure_ascii=False)
        target.write_text(f"{text}\n", encoding="utf-8")
    elif path.suffix == ".md":
        target.write_text(student_cells.seal_page(path.read_text(encoding="utf-8")), encoding="utf-8")
    elif path.parent.name == "languages":
        target.write_text(student_cells.seal_translations(path.read_text(encoding="utf-8")), encoding="utf-8")
    else:
        shutil.copyfile(path, target)


class WithNotebooks(build_py):
    """Copies them into the package, where `toolkit notebooks` finds them."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:  # a checkout has them at hand
            return
        for folder, patterns in (("notebooks", NOTEBOOKS), ("data", DATA)):
            for pattern in patterns:
                found = sorted(Path(folder).glob(pattern))
                if not found:
                    raise FileNotFoundError(
                        f"{folder}/{pattern} must be there, found none: the wheel would be incomplete."
                    )
                for path in found:
                    target = Path(self.build_lib, "toolkit", "teaching", "starter", path)
                    target.parent.mkdir(parents=True, exist_ok=True)
                    write_sealed(path, target)


class WithoutDeadLinks(egg_info):
    """Of a link that leads to a file of the repository the words stay, of such a picture nothing."""

    def run(self) -> None:
        about = self.distribution.metadata
        about.long_description = re.sub(r"<img src=\"(?!https:)[^>]+>\n", "", about.long_description)
        about.long_description = re.sub(r"\[([^\]]+)\]\((?!https:)[^)]+\)", r"\1", about.long_description)
        super().run()


setup(cmdclass={"build_py": WithNotebooks, "egg_info": WithoutDeadLinks})
