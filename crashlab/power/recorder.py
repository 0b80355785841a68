"""The recorder is a small C file, built with the system's compiler when it is needed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import ClassVar, Final

import attrs

from ...machines.facts.codes import Code, CrashworthyError

_SOURCE: Final = Path(__file__).with_name("recorder.c")
_COMPILERS: Final = ("cc", "gcc", "clang")


@attrs.define(eq=False, kw_only=True)
class RecorderUnavailableError(CrashworthyError):
    """No power loss can be tried here, which is no verdict: nothing was checked."""

    code: ClassVar[Code] = Code.RECORDER_UNAVAILABLE
    reason: str


def build_recorder(place: Path, *, platform: str = sys.platform) -> Path:
    """Compile the recorder into the private directory `place` and return the library.

    Raises:
        RecorderUnavailableError: `recorder_unavailable`; elsewhere than on Linux, without a C
            compiler, where the compiler refuses, or where no code may be loaded from `place`.
    """
    if platform != "linux":
        raise RecorderUnavailableError(reason=f"the recorder is for Linux, this is {platform}")
    named = os.environ.get("CC")
    compiler = next(filter(None, map(shutil.which, [named] if named else _COMPILERS)), None)
    if compiler is None:
        raise RecorderUnavailableError(reason=f"no C compiler: none of {named or _COMPILERS}")
    library = place / "recorder.so"
    command = [compiler, "-shared", "-fPIC", "-O2", "-o", str(library), str(_SOURCE), "-lpthread"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0 or not library.exists():
        raise RecorderUnavailableError(reason=f"{compiler} made nothing: {done.stderr[-500:]}")
    loads = [sys.executable, "-P", "-c", "import ctypes, sys; ctypes.CDLL(sys.argv[1])"]
    tried = subprocess.run([*loads, str(library)], capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        raise RecorderUnavailableError(reason=f"it cannot be loaded: {tried.stderr[-500:]}")
    return library
