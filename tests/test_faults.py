"""A sample of `faults/each_call.py`, which `make faults` runs for all commands."""

import pytest
from faults import Commands
from faults.each_call import *  # noqa: F403 # its tests and fixtures
from faults.scenes import SCENES, Scene, Stage

SAMPLE = [scene for scene in SCENES if scene.name.startswith(("pack", "extract into"))]


@pytest.fixture(scope="module", params=SAMPLE, ids=str)
def stage(request: pytest.FixtureRequest, running: Commands, tmp_path_factory) -> Stage:
    scene: Scene = request.param
    return Stage(tmp_path_factory.mktemp("stage"), running, scene)
