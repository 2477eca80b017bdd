import re
from pathlib import Path

import pytest

from toolkit.survey.questions.files import read, write

DATA = {"title": {"en": "Überblick 😀\nzweite Zeile"}, "n": 3, "big": 2**70, "list": [[1, 2], [3]], "flag": True}


@pytest.mark.parametrize("name", ["a.toml", "a.json", "A.TOML", "A.Json"])
def test_plain_data_are_read_back(tmp_path: Path, name: str) -> None:
    write(tmp_path / name, DATA)
    assert read(tmp_path / name) == DATA


def test_files_are_utf8_whatever_the_machine_prefers(tmp_path: Path) -> None:
    write(tmp_path / "a.json", DATA)
    assert "Überblick 😀" in (tmp_path / "a.json").read_bytes().decode("utf-8")


@pytest.mark.parametrize("name", ["a", "a.yaml", "a.py", "a.toml.exe"])
def test_other_suffixes_are_refused(tmp_path: Path, name: str) -> None:
    for act in (lambda path: read(path), lambda path: write(path, DATA)):
        with pytest.raises(ValueError, match=r"must end in \.toml or \.json"):
            act(tmp_path / name)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "raw"),
    [
        ("a.toml", b"title = "),
        ("a.toml", b"title = 1\ntitle = 2"),
        ("a.toml", b"\xff\xfe"),
        ("a.toml", b"a = " + b"[" * 100_000),
        ("a.json", b'{"a": 1, "a": 2}'),
        ("a.json", b"[" * 100_000),
        ("a.json", b'{"a": NaN}'),
        ("a.json", "{}".encode("utf-16")),
    ],
)
def test_broken_files_are_refused_by_one_kind_of_error(tmp_path: Path, name: str, raw: bytes) -> None:
    (tmp_path / name).write_bytes(raw)
    with pytest.raises(ValueError, match=r"."):
        read(tmp_path / name)


def test_a_missing_file_is_said_to_be_missing(tmp_path: Path) -> None:
    where = re.escape(f"a survey's file must exist, got no file 'none.toml' in {str(tmp_path)!r}: ")
    with pytest.raises(FileNotFoundError, match=f"^{where}`toolkit new survey.toml` writes one to start from"):
        read(tmp_path / "none.toml")
    for name in "fedcba":
        (tmp_path / f"{name}.toml").touch()
    with pytest.raises(FileNotFoundError, match=f"^{where}this folder has a.toml, b.toml, c.toml, d.toml, e.toml.$"):
        read(tmp_path / "none.toml")


def deep(parts: int) -> str:
    return ".".join(["a"] * parts)


@pytest.mark.parametrize(
    "hostile",
    [
        f"{deep(100_000)} = 1",
        f"{deep(100_000).replace('.', ' . ')} = 1",
        f"'x'.{deep(100_000)} = 1",
        f"[{deep(8_000)}]\n" + "\n".join(f"b{place} = 1" for place in range(8_000)),
        f" [[{deep(21)}]]",
    ],
)
def test_a_key_of_many_parts_is_refused_before_it_is_read(tmp_path: Path, hostile: str) -> None:
    """Reading 100,000 parts would take minutes, from a file of 200 kB."""
    file = tmp_path / "survey.toml"
    file.write_text(hostile)
    with pytest.raises(ValueError, match="a key must have at most 20 parts, got more"):
        read(file)


def test_prose_may_have_many_points_and_a_number_not_too_many_digits(tmp_path: Path) -> None:
    file = tmp_path / "survey.toml"
    prose = "No. " * 500
    file.write_text(f'text = """\n{prose}\n{prose}"""\nb = "{prose} = [{prose}]"\n[{deep(20)}]')
    assert read(file)["text"].count(".") == 1000
    file.write_text(f"minimum = {'9' * 5000}")
    with pytest.raises(ValueError, match="a number must have a few thousand digits at most, got more"):
        read(file)
    file.write_text(f'a = "{"x" * 2_000_000}"')
    with pytest.raises(ValueError, match="a survey's file must have at most 2,000,000 bytes, got more"):
        read(file)
