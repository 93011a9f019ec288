"""A data set in a fresh environment with nothing but this package (case C38)."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from items import written
from samples import FACE, SIX, SIX_INDEX, labelled, whole_file

import rec2idx

SCRIPT = """
import importlib.util, json, pickle, sys
import rec2idx
from rec2idx import RecordDataset

assert importlib.util.find_spec("numpy") is None
six, face, two, several = sys.argv[1:]
with RecordDataset(six, labels=range(1, 5), decode=len, mmap=True) as dataset:
    found = [list(dataset.keys), [header.label for header, _ in dataset], dataset[0][1]]
    found += [dataset.get(4)[0].id, dataset.left_out, len(dataset[1:])]
with pickle.loads(pickle.dumps(RecordDataset(face))) as dataset:
    found += [[header.label for header, _ in dataset.read_many([4, 0])], dataset.classes]
with RecordDataset([face, two]) as dataset:  # of whose labels the first one counts
    found += [[header.label for header, _ in dataset]]
with RecordDataset(several) as dataset:
    found += [dataset[0][0].label, list(dataset.keys), dataset[2][1].decode()]
    try:
        dataset[1]
    except rec2idx.MissingExtraError as error:
        found += [str(error)]
json.dump(found, sys.stdout)
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory) -> Path:
    """An interpreter that finds this package, as it is installed here, and no other."""
    folder = tmp_path_factory.mktemp("alone")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    [packages] = folder.glob("lib/python3*/site-packages")
    (packages / "rec2idx").symlink_to(Path(rec2idx.__file__).parent)
    return folder / "bin/python"


def test_all_works_but_arrays_of_labels(tmp_path, python):
    two = [labelled([3, 4], 0), labelled([0, 1], 1, b"i"), labelled([0, 1], 2, b"i"),
           labelled([1, 3], 3)]  # fmt: skip
    several = [labelled([], 7), labelled([1, 2], 8, b"i"), b"text"]
    paths = [
        written(tmp_path, SIX, SIX_INDEX, "six"),
        written(tmp_path, FACE, name="face"),
        written(tmp_path, whole_file(two), name="two"),
        written(tmp_path, whole_file(several), name="several"),
    ]
    done = subprocess.run(
        [python, "-I", "-c", SCRIPT, *paths], capture_output=True, text=True, timeout=60
    )
    assert done.stderr == ""
    *found, error = json.loads(done.stdout)
    assert found == [
        *([1, 2, 3, 4], [1, 2, 3, 4], 12, 4, 2, 3),
        *([1, 0], 2),
        [0, 0, 0, 1, 1, 2, 2],
        *(0, [0, 1, 2], "text"),
    ]
    assert "needs NumPy" in error
    assert "pip install numpy" in error
