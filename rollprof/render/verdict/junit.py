"""The verdict as JUnit XML, which GitLab, Jenkins and others show: one suite, one case a rule."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from rollprof.gate.verdict import Outcome, Verdict
from rollprof.render.text import clean
from rollprof.render.verdict import words

SUITE = "rollprof"


def render(verdict: Verdict, *, root: str = "") -> str:
    """Failure where a rule makes the run fail, error where it cannot be computed, output for others."""
    cases = [_case(outcome, verdict, root) for outcome in verdict.outcomes]
    counts = {
        "tests": len(cases),
        "failures": sum(case.find("failure") is not None for case in cases),
        "errors": sum(case.find("error") is not None for case in cases),
        "skipped": sum(case.find("skipped") is not None for case in cases),
    }
    attributes = {name: str(count) for name, count in counts.items()}
    suites = ET.Element("testsuites", {"name": SUITE, **attributes})
    suite = ET.SubElement(suites, "testsuite", {"name": SUITE, "time": "0", **attributes})
    suite.extend(cases)
    ET.indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(suites, encoding="unicode") + "\n"


def _case(outcome: Outcome, verdict: Verdict, root: str) -> ET.Element:
    attributes = {"classname": f"{SUITE}.check", "name": _clean(words.label(outcome)), "time": "0"}
    written = outcome.rule.place
    if written.file is not None:
        attributes |= {"file": words.relative(written.file, root), "line": str(written.line)}
    case = ET.Element("testcase", attributes)
    message, text = words.comparison(outcome), words.sentence(outcome)
    text = f"{text}\n{words.place(outcome, root)}"
    if outcome.status == "unknown":
        _child(case, "error", "not computable", message, text)
    elif outcome.status == "skipped":
        _child(case, "skipped", None, message, None)
    elif verdict.fails(outcome):
        _child(case, "failure", words.status(outcome), message, text)
    else:
        ET.SubElement(case, "system-out").text = f"{words.status(outcome)}: {_lines(text)}"
    return case


def _child(case: ET.Element, tag: str, kind: str | None, message: str, text: str | None) -> None:
    attributes = {"message": _clean(message), **({"type": kind} if kind else {})}
    child = ET.SubElement(case, tag, attributes)
    child.text = None if text is None else _lines(text)


def _lines(text: str) -> str:
    return "\n".join(_clean(line) for line in text.splitlines())


def _clean(text: str) -> str:
    """Without what XML 1.0 cannot hold: control characters went already, two non-characters are left."""
    return clean(text).replace("\ufffe", "").replace("\uffff", "")
