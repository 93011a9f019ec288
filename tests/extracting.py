"""What extract() should write, in plain Python, written apart from it."""

import json
import math
import struct
from pathlib import Path

from reference import read

SUFFIXES = {
    b"\xff\xd8\xff": "jpg",
    b"\x89PNG\r\n\x1a\n": "png",
    b"GIF89a": "gif",
}
HEADER, IDENTITY = "file header", "identity record"
NO_IMAGE = "record without an image"
CUT = "record cut off inside its labels"
SHORT = "record without an IRHeader"
NOT_NAMED = "record that the index does not name"


def few_labels(payloads: list[bytes]) -> bool:
    """Whether the first image that has not two labels has fewer, or there is none."""
    flags = [
        struct.unpack_from("<I", payload)[0]
        for payload in payloads
        if len(payload) >= 24 and len(payload) > 24 + 4 * struct.unpack_from("<I", payload)[0]
    ]
    return next((flag < 2 for flag in flags if flag != 2), True)


class Expected:
    """The images of a file, and what is left out of it.

    Args:
        data: a well-formed file.
        named: offsets of the records that an index names; None for all.
    """

    def __init__(self, data: bytes, named: set[int] | None = None) -> None:
        self.images: list[dict] = []
        self.left_out: dict[str, int] = {}
        self.records = 0
        seen: set[int] = set()
        face = False
        records = read(data)[0]
        face_labels = few_labels([payload for _, payload in records[:8]])
        for number, (offset, payload) in enumerate(records):
            self.records += 1
            head = struct.unpack("<IfQQ", payload[:24]) if len(payload) >= 24 else None
            start = 24 + 4 * head[0] if head else 0
            if number == 0:
                face = head is not None and head[0] == 2 and len(payload) == 32 and face_labels
            if named is not None and offset not in named:
                what = NOT_NAMED
            elif head is None:
                what = SHORT
            elif len(payload) < start:
                what = CUT
            elif len(payload) == start:
                what = (IDENTITY if number else HEADER) if face else NO_IMAGE
            else:
                flag, label, identity, id2 = head
                labels = struct.unpack(f"<{flag}f", payload[24:start]) if flag else (label,)
                image = payload[start:]
                suffix = next(
                    (end for begin, end in SUFFIXES.items() if image.startswith(begin)), "bin"
                )
                again = f"-{offset}" if identity in seen else ""
                seen.add(identity)
                self.images.append(
                    {
                        "name": f"{identity:010d}{again}.{suffix}",
                        "id": identity,
                        "id2": id2,
                        "flag": flag,
                        "labels": labels,
                        "label": label,
                        "offset": offset,
                        "key": number,
                        "image": image,
                    }
                )
                continue
            self.left_out[what] = self.left_out.get(what, 0) + 1

    def flat(self) -> dict[str, bytes]:
        """The images by name, without the list."""
        return {image["name"]: image["image"] for image in self.images}

    def by_label(self) -> dict[str, bytes]:
        """The images by path, in a folder for each first label."""
        return {
            f"{int(image['labels'][0]):08d}/{image['name']}": image["image"]
            for image in self.images
        }

    def inexact(self) -> int:
        """Images that a list does not say all of."""
        return sum(
            image["flag"] == 1
            or image["id2"] != 0
            or (image["flag"] > 1 and struct.pack("<f", image["label"]) != bytes(4))
            or any(map(is_odd_nan, image["labels"]))
            for image in self.images
        )


def is_odd_nan(label: float) -> bool:
    return math.isnan(label) and struct.pack("<f", label) != b"\0\0\xc0\x7f"


def bits(labels) -> bytes:
    """Labels as float32; all NaN are one."""
    return b"".join(b"NaN!" if math.isnan(label) else struct.pack("<f", label) for label in labels)


def tree(folder: Path) -> dict[str, bytes]:
    """All files below a folder, by path; all else there is fails the test."""
    found = {}
    for path in folder.rglob("*"):
        assert not path.is_symlink()
        if not path.is_dir():
            found[str(path.relative_to(folder))] = path.read_bytes()
    return found


def labels_of(text: str | float | int | list) -> list[float]:
    """The labels in the JSON of a sample."""
    return [float(label) for label in (text if isinstance(text, list) else [text])]


def facts(data: bytes) -> dict:
    """A JSON, which has no NaN: that is none."""

    def refuse(name: str) -> float:
        raise AssertionError(name)

    return json.loads(data, parse_constant=refuse)
