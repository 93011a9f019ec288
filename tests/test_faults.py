"""A sample of `faults/each_call.py` and `faults/races.py`, which `make faults` runs in full."""

from collections.abc import Iterator

import pytest
from faults import Commands, quick_folder
from faults.each_call import *  # noqa: F403 # its tests and fixtures
from faults.races import (  # noqa: F401
    test_a_file_that_appears_is_not_replaced,
    test_an_index_that_changes_is_not_replaced,
    theirs,
)
from faults.scenes import SCENES, Stage

SAMPLE = [scene for scene in SCENES if scene.name.startswith(("pack", "extract into"))]


@pytest.fixture(scope="module", params=SAMPLE, ids=str)
def stage(request: pytest.FixtureRequest, running: Commands) -> Iterator[Stage]:
    with quick_folder() as folder:
        yield Stage(folder, running, request.param)
