"""An environment with only the required dependencies, and the packages that an extra adds."""

import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path

from packaging.markers import Marker
from packaging.requirements import Requirement


def core_packages(folder: Path) -> None:
    """Link the required dependencies into a folder, with the shared libraries that are stored next to them in
    wheels.
    """
    for name in ("lazy_loader", "numpy", "scipy"):
        spec = find_spec(name)
        assert spec is not None
        assert spec.origin is not None
        home = Path(spec.origin).parent
        for part in (home, home.with_name(f"{name}.libs")):
            if part.exists():
                (folder / part.name).symlink_to(part)


def extra_packages(folder: Path, extra: str) -> None:
    """Return links to all packages of an extra of the toolkit, including their dependencies."""
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    waiting, seen = list(project["optional-dependencies"][extra]), set()
    while waiting:
        wanted = Requirement(waiting.pop())
        if wanted.name in seen or (wanted.marker and not _applies(wanted.marker)):
            continue
        seen.add(wanted.name)
        try:
            found = distribution(wanted.name)
        except PackageNotFoundError:  # for another system or an older Python
            continue
        waiting += found.requires or []
        for part in {file.parts[0] for file in found.files or ()} - {"..", "__pycache__"}:
            source, link = Path(str(found.locate_file(part))), folder / part
            if not link.exists():
                link.symlink_to(source)


def _applies(marker: Marker) -> bool:
    """Return whether a requirement applies to this system; those of extras do, such as the binary package of
    psycopg.
    """
    return marker.evaluate({"extra": "binary"}) if "extra" in str(marker) else marker.evaluate()
