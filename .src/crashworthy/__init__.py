"""The public API of crashworthy; every name loads on first use, so importing it costs nothing (HOUSE-4)."""

import os.path as _path

_link = _path.join(_path.dirname(__file__), "machines")
if _path.islink(_link) or not _path.isdir(_link):
    # A working tree, not an installed package: load the visible folders themselves, so that
    # tracebacks, breakpoints and coverage name machines/..., not the link (HOUSE-1).
    __path__.insert(0, _path.dirname(_path.dirname(_path.dirname(__file__))))
