"""The report as JSON, as JUnit XML and as one HTML page that needs nothing else."""

import html
import json
from collections import defaultdict
from typing import Final
from xml.sax.saxutils import escape, quoteattr

import attrs

from .report import Report, at_command


def as_json(report: Report) -> str:
    """Return the report for machines: all fields, and the two derived ones."""
    fields: dict[str, object] = attrs.asdict(report)
    return json.dumps({**fields, "clean": report.clean, "rate": round(report.rate, 1)}, indent=2)


def as_junit(report: Report) -> str:
    """Return one test case for the rehearsal and one for each boundary of the script."""
    troubles = _troubles(report)
    cases = ["rehearsal", *report.rehearsed]
    failed = sum(bool(troubles[case]) for case in cases)
    suite = quoteattr(f"crashlab.{report.workload}")
    counts = f'tests="{len(cases)}" failures="{failed}" time="{report.seconds:.3f}"'
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        f"<testsuite name={suite} {counts}>",
    ]
    for case in cases:
        lines.append(f"<testcase classname={suite} name={quoteattr(_printable(case))}>")
        lines.extend(
            f"<failure message={quoteattr(_printable(title))}>{escape(_printable(text))}</failure>"
            for title, text in troubles[case]
        )
        lines.append("</testcase>")
    return "\n".join([*lines, "</testsuite>"]) + "\n"


def as_html(report: Report) -> str:
    """Return a page with the counts, a cell for each boundary, and all troubles."""
    troubles = _troubles(report)
    cells = "".join(
        f'<i class="{"bad" if troubles[key] else "good"}" title="{html.escape(key)}"></i>'
        for key in report.rehearsed
    )
    rows = "".join(
        f"<tr><td>{t.kind}<td>{t.role}<td>{html.escape(t.writer)}<td>{t.boundaries}<td>{t.deaths}"
        for t in report.boundaries
    )
    promises = "".join(
        f'<tr class="{"bad" if broken else "good"}"><td>{html.escape(p.id)}'
        f"<td>{html.escape(p.claim)}<td>{broken or 'held'}"
        for p in report.promises
        for broken in [sum(v.promise == p.id for v in report.violations)]
    )
    details = "".join(
        f"<details><summary>{html.escape(key)}</summary>"
        + "".join(f"<h4>{html.escape(t)}</h4><pre>{html.escape(x)}</pre>" for t, x in found)
        + "</details>"
        for key, found in troubles.items()
        if found
    )
    verdict = "clean" if report.clean else "not clean"
    name = html.escape(report.workload)
    return f"""<!doctype html>
<html lang="en"><meta charset="utf-8"><title>crash matrix of {name}: {verdict}</title>
<style>{_STYLE}</style>
<h1>Crash matrix of {name}: <b class="{"good" if report.clean else "bad"}">{verdict}</b></h1>
<p>{len(report.rehearsed)} boundaries, {report.deaths} deaths, {report.deaths_in_recovery} of them
also during recovery, {report.deaths_spawned} in new interpreters; {len(report.unreached)} points
unreached, {len(report.violations)} violations; {report.not_sampled} deaths not sampled;
{report.rate:.1f} deaths/s; profile {html.escape(report.profile)}, seed {report.seed},
shard {report.shard}.</p>
<h2>The course of the script</h2><p class="course">{cells}</p>
<h2>Promises</h2><table>{promises}</table>
<h2>Boundaries by kind and writer</h2>
<table><tr><th>kind<th>role<th>writer<th>boundaries<th>deaths{rows}</table>
<h2>What is wrong</h2>{details or "<p>Nothing.</p>"}
</html>
"""


_STYLE: Final = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;"
    "color:#222;background:#fff}table{border-collapse:collapse}td,th{padding:.15rem .8rem .15rem 0;"
    "text-align:left;border-bottom:1px solid #ddd}.course i{display:inline-block;width:.55rem;"
    "height:1.1rem;margin:1px}i.good{background:#4a8}i.bad{background:#c33}b.good{color:#286}"
    "b.bad,tr.bad td{color:#b22}pre{white-space:pre-wrap;background:#f5f5f5;padding:.6rem}"
    "summary{cursor:pointer;font-family:monospace}"
)


def _troubles(report: Report) -> dict[str, list[tuple[str, str]]]:
    """Return title and text of everything that went wrong, by rehearsed boundary."""
    found: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    for missed in report.unreached:
        text = f"nobody died there ({missed.mode}): {at_command(report, missed.death)}"
        found[_boundary(missed.death)].append((f"unreached {missed.death}", text))
    for breach in report.violations:
        title = f"{breach.promise} in step {breach.step} ({breach.mode}) {breach.death}"
        repeat = f"\n{at_command(report, breach.death)}" if breach.death else ""
        found[_boundary(breach.death)].append((title, breach.detail + repeat))
    return found


def _boundary(death: str) -> str:
    return death.partition(" => ")[0].rpartition(":")[0] or "rehearsal"


def _printable(text: str) -> str:
    """Return `text` without the control characters that XML 1.0 cannot hold."""
    return "".join(
        c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in text
    )
