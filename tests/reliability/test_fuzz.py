"""A few hundred cases of ``make fuzz``."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from attack.fuzz import fuzz
from attack.harness import MEMORY, Hang, Outcome, call_line, memory_limit, time_limit
from attack.mutation import damaged, damaged_value
from attack.world import World, make_world
from hardalign.config import SIZES

CASES = {"data": 120, "folders": 120, "plans": 30, "arguments": 20, "requests": 100}
CASES |= {"text": 60, "overwriting": 20, "surroundings": 40, "python": 100}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    sizes = dict(SIZES)
    yield make_world(tmp_path_factory.mktemp("fuzz") / "world", ("hard", "monotonic"))
    SIZES.update(sizes)


# A damaged grid may divide by nothing, of which a command's users are told in a line.
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("kind", CASES)
def test_nothing_breaks_it(kind: str, world: World) -> None:
    ends, troubles = fuzz(world, kind, range(CASES[kind]), seed=1, seconds=600, warm=4)
    assert not troubles, "\n".join(troubles.values())
    assert ends.total() == CASES[kind]
    # Some damage is noticed, some does no harm; else nothing was tried.
    assert len(ends) > 1


def test_the_harness_sees_what_it_is_for(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exceptions, hangs, greed and odd exits are trouble."""

    def run(action: str) -> Outcome:
        monkeypatch.setattr("hardalign.cli.main._dispatch", lambda _: exec(action))
        return call_line([], b"", world.folder)

    assert run("raise ZeroDivisionError").trouble is not None
    assert run("import sys; sys.exit(3)").trouble == "exit status 3: "
    assert run("import sys; sys.exit(2)").trouble is not None
    assert run("pass") == Outcome(0, b"", "", None)
    assert run("raise MemoryError").trouble is not None
    with pytest.raises(Hang), time_limit(0.1):  # noqa: PT012
        while True:
            pass
    with pytest.raises(MemoryError), memory_limit():
        bytearray(2 * MEMORY)


def test_damage_follows_from_the_seed() -> None:
    for seed in range(50):
        one, two = (damaged(b"some content", random.Random(seed)) for _ in range(2))
        assert one == two
    values = {str(damaged_value({"a": [1, {"b": 2}]}, random.Random(seed))) for seed in range(50)}
    assert len(values) > 25


def test_the_path_of_a_case_is_its_own(world: World) -> None:
    with world.copy("hard") as folder:
        (folder / "hard" / "config.json").write_text("changed")
    assert world.model("hard").joinpath("config.json").read_text() != "changed"
    assert not Path(folder).exists()
