"""Documentation is tested text: the examples in docstrings, in the README and in docs/ run."""

import dataclasses
import doctest
import importlib
import pkgutil
import re
import subprocess
from pathlib import Path

import pytest
from conftest import COMMAND, ROOT

import rec2idx

MODULES = [
    name
    for _, name, _ in pkgutil.walk_packages(rec2idx.__path__, "rec2idx.")
    if not name.endswith("__main__")
]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own for each page, where examples/ and the sample are at hand."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").mkdir()
    (tmp_path / "data").mkdir()
    for target in ("examples/sample.rec", "data/train.rec", "train.rec"):
        (tmp_path / target).write_bytes((ROOT / "examples/sample.rec").read_bytes())
    return tmp_path


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(folder, name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_public_functions_and_classes_have_an_example():
    """Those that people call; errors and results are shown where they come up."""
    for name in set(rec2idx.__all__) - {"__version__", "main"}:
        thing = getattr(rec2idx, name)
        is_result = dataclasses.is_dataclass(thing)
        is_error = isinstance(thing, type) and issubclass(thing, Exception)
        assert thing.__doc__
        assert ">>>" in thing.__doc__ or is_result or is_error, name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_examples_in_pages(folder, page):
    failed, tried = doctest.testfile(str(page), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert failed == 0
    assert tried > 0


def console_examples() -> list[tuple[str, str]]:
    """The commands in ```console blocks of the README, each with what it is said to print."""
    found = []
    for block in re.findall(r"```console\n(.*?)```", PAGES[0].read_text(), re.DOTALL):
        for example in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = example.partition("\n")
            found.append((command, output))
    return found


def test_console_examples_in_the_readme(folder):
    """One after the other; all is printed as the README says, but for numbers of seconds."""

    def without_times(text: str) -> str:
        return re.sub(r"[0-9.]+(e-\d+)? s;", "SECONDS s;", text)

    examples = console_examples()
    assert len(examples) >= 6
    for command, output in examples:
        done = subprocess.run(
            command,
            shell=True,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={"PATH": f"{COMMAND.parent}:/usr/bin:/bin"},
        )
        assert without_times(done.stdout) == without_times(output), command


@pytest.mark.parametrize(
    ("page", "kinds"),
    [
        ("info.md", ["Info", "Sizes", "Ids", "Picture", "InsightFace"]),
        ("check.md", ["Check", "Finding", "Place"]),
        ("ls.md", ["ListedRecord"]),
    ],
)
def test_pages_name_every_field_of_the_json(page, kinds):
    """They are the same in Python."""
    text = (ROOT / "docs" / page).read_text()
    named = set(re.findall(r"`(\w+)`", text))
    for kind in kinds:
        assert {field.name for field in dataclasses.fields(getattr(rec2idx, kind))} <= named


def test_the_readme_lists_every_exit_status():
    """As the command defines them."""
    from rec2idx.cli import run

    table = dict(re.findall(r"^\| (\d+) \| (.+?) \|$", PAGES[0].read_text(), re.MULTILINE))
    statuses = [run.DONE, run.FAILED, run.USAGE, run.SALVAGED, run.INTERRUPTED]
    assert sorted(table, key=int) == [str(status) for status in statuses]
