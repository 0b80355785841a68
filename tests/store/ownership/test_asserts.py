"""Nobody owns a root where asserts are left out: they state our invariants."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

OWNER = """\
import sys
from pathlib import Path
from crashworthy.machines.facts.codes import CrashworthyError
from tests.store.tale import open_here

try:
    open_here(Path(sys.argv[1])).close()
except CrashworthyError as error:
    print(error.code.value)
"""


@pytest.mark.parametrize(
    ("flags", "told"), [((), ""), (("-O",), "asserts_disabled")], ids=["plain", "-O"]
)
def test_program_with_asserts_left_out_owns_nothing(
    tmp_path: Path, flags: tuple[str, ...], told: str
) -> None:
    here = Path(__file__).parents[3]
    done = subprocess.run(
        [sys.executable, *flags, "-c", OWNER, str(tmp_path / "root")],
        capture_output=True,
        check=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(here / ".src"), str(here)))},
    )
    assert done.stdout.strip() == told
    assert (tmp_path / "root").exists() == (not told)
