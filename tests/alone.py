"""Where there is nothing but numpy and scipy."""

from importlib.util import find_spec
from pathlib import Path


def core_packages(folder: Path) -> None:
    """Links to numpy and scipy in a folder, with the shared libraries that wheels keep beside them."""
    for name in ("numpy", "scipy"):
        spec = find_spec(name)
        assert spec is not None
        assert spec.origin is not None
        home = Path(spec.origin).parent
        for part in (home, home.with_name(f"{name}.libs")):
            if part.exists():
                (folder / part.name).symlink_to(part)
