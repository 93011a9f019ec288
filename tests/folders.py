"""The files in the folder in which a test runs."""

from pathlib import Path


def put(**files: bytes) -> None:
    """Write files; `__` in a name is a slash and `_` a dot: a__b_rec is a/b.rec."""
    for name, content in files.items():
        path = Path(name.replace("__", "/").replace("_", "."))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def tree() -> dict[str, bytes]:
    """All files in the folder and below, links left out."""
    paths = (path for path in Path().rglob("*") if path.is_file() and not path.is_symlink())
    return {str(path): path.read_bytes() for path in paths}


def all_but_records() -> dict[str, bytes]:
    return {name: content for name, content in tree().items() if not name.endswith(".rec")}
