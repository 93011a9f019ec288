"""A sample of `faults/each_call.py` and `faults/races.py`, which `make faults` runs in full."""

import pytest
from faults import Commands
from faults.each_call import *  # noqa: F403 # its tests and fixtures
from faults.races import (  # noqa: F401
    test_a_file_that_appears_is_not_replaced,
    test_an_index_that_changes_is_not_replaced,
    theirs,
)
from faults.scenes import SCENES, Scene, Stage

SAMPLE = [scene for scene in SCENES if scene.name.startswith(("pack", "extract into"))]


@pytest.fixture(scope="module", params=SAMPLE, ids=str)
def stage(request: pytest.FixtureRequest, running: Commands, tmp_path_factory) -> Stage:
    scene: Scene = request.param
    return Stage(tmp_path_factory.mktemp("stage"), running, scene)
