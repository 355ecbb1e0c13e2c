"""The HTML file: complete, escaped, small, the same every time."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import jsonschema
import pytest

from rollprof.analyzers.registry import REGISTRY
from rollprof.analyzers.results import Analysis, StepFigure, StepResult
from rollprof.render.as_json import document
from rollprof.render.html import embed, page
from rollprof.render.html.plotly_js import plotly_js, policy_source
from rollprof.render.json_schema import SCHEMA

Make = Callable[..., Analysis]
KINDS = ("calibrated", "difficulty", "logged", "bracket", "straggler_512", "nothing_known", "asynchronous")


class Reader(HTMLParser):
    """Elements with their attributes, and the text of scripts, as a browser's parser sees them."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.words: list[str] = []
        self._inside: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag in ("script", "style"):
            self._inside = tag
            if tag == "script":
                self.scripts.append((dict(attrs), ""))

    def handle_endtag(self, tag: str) -> None:
        if tag == self._inside:
            self._inside = None

    def handle_data(self, data: str) -> None:
        if self._inside == "script":
            attributes, text = self.scripts[-1]
            self.scripts[-1] = (attributes, text + data)
        elif self._inside is None:
            self.words.append(data)


def read(text: str) -> Reader:
    reader = Reader()
    reader.feed(text)
    reader.close()
    return reader


def data_of(reader: Reader, name: str) -> str:
    return next(text for attributes, text in reader.scripts if attributes.get("id") == name)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_run_makes_a_page(make: Make, kind: str) -> None:
    analysis = make(kind)
    reader = read(page.render(analysis))
    ids = [a["id"] for _, a in reader.elements if a.get("id")]
    assert len(ids) == len(set(ids)), "anchors are unique"
    targets = {a["href"] for t, a in reader.elements if t == "a"}
    assert targets <= {f"#{i}" for i in ids}, "every link leads somewhere"
    sections = [a["id"] for t, a in reader.elements if t == "section"]
    assert sections[0] == "headline"
    assert sections[-4:-1] == ["findings", "missing", "quality"] or sections[-3:-1] == ["findings", "quality"]
    assert sections[-1] == "definitions"


def test_the_embedded_json_is_what_report_json_prints(make: Make) -> None:
    analysis = make("difficulty")
    reader = read(page.render(analysis))
    found = json.loads(data_of(reader, "rollprof"))
    assert found == json.loads(json.dumps(document(analysis)))
    jsonschema.validate(found, SCHEMA)


def test_the_same_run_gives_the_same_bytes(make: Make) -> None:
    assert page.render(make("difficulty")) == page.render(make("difficulty"))


def test_nothing_from_a_log_becomes_markup(attacked: Analysis, texts: dict[int, tuple[str, str]]) -> None:
    plain = read(page.render(replace(attacked, in_flight=[])))
    text = page.render(attacked, texts=texts)
    reader = read(text)
    tags = {tag for tag, _ in reader.elements}
    assert not tags & {"img", "iframe", "svg", "link", "object", "embed", "base", "form", "textarea"}
    assert [len(r.scripts) for r in (plain, reader)] == [4, 4]
    handlers = [n for _, a in reader.elements for n in a if n.startswith("on") or n in ("src", "autofocus")]
    assert handlers == []
    links = [a.get("href") for tag, a in reader.elements if tag == "a"]
    assert all(link and link.startswith("#") for link in links)
    words = "".join(reader.words)
    assert "document.title='owned'" in words, "the attack is shown, as text"
    assert "{{ 7 * 191 }}" in words
    assert "1337" not in words
    assert text.count("<script") == 4
    assert "<!--" not in text


def test_no_control_or_direction_changing_character_is_left(
    attacked: Analysis, texts: dict[int, tuple[str, str]]
) -> None:
    text = page.render(attacked, texts=texts)
    assert (
        re.findall("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]", text) == []
    )
    # in the data they stand as escapes, for whoever reads it as data
    assert "\\u202e" in text


def test_plots_hold_no_text_from_the_log(attacked: Analysis) -> None:
    reader = read(page.render(attacked))
    plots = data_of(reader, "rollprof-plots")
    assert json.loads(plots)["plots"].keys() >= {"in-flight-worst", "lengths", "waiting", "phases"}
    for word in ("owned", "attacker", "onerror", "javascript", "7 * 191"):
        assert word not in plots


def test_nothing_is_asked_of_the_network(make: Make) -> None:
    text = page.render(make("difficulty"))
    library = plotly_js().payload
    own = text.replace(library, "")
    assert re.findall(r"(?:https?:)?//[a-z]", own) == []
    assert not re.search(
        r"url\(|@import|fetch\(|XMLHttpRequest|WebSocket|sendBeacon|eval\(|new Function", own
    )


def test_the_policy_admits_two_scripts_and_nothing_else(make: Make) -> None:
    reader = read(page.render(make("difficulty")))
    first = [a for t, a in reader.elements if t == "meta"][:2]
    assert first[1]["http-equiv"] == "Content-Security-Policy", "before anything that it governs"
    policy = dict(part.strip().split(" ", 1) for part in (first[1]["content"] or "").split(";"))
    own = next(text for attributes, text in reader.scripts if "type" not in attributes)
    assert policy["default-src"] == "'none'"
    assert policy["script-src"].split() == [policy_source(own.encode()), plotly_js().digest]
    assert (policy["base-uri"], policy["form-action"]) == ("'none'", "'none'")


def test_a_run_without_plots_carries_no_library(make: Make) -> None:
    text = page.render(make("nothing_known"))
    assert len(text) < 200_000
    assert "rollprof-plotly" not in text.replace('getElementById("rollprof-plotly")', "")


def test_every_figure_shown_is_defined(make: Make) -> None:
    text = page.render(make("difficulty"))
    reader = read(text)
    shown = {a["href"] for t, a in reader.elements if t == "a" and a.get("class") == "fig"}
    defined = {f"#{a['id']}" for _, a in reader.elements if (a.get("id") or "").startswith("def-")}
    assert shown <= defined
    words = "".join(reader.words)
    for name in ("step_idle", "slot_idle", "difficulty_length_spearman"):
        assert f"#def-{name}" in defined
        assert REGISTRY[name].formula in words
        assert not REGISTRY[name].source or REGISTRY[name].source in words


def test_plots_have_text_alternatives_with_numbers(make: Make) -> None:
    reader = read(page.render(make("difficulty")))
    plots = [a for _, a in reader.elements if "data-plot" in a]
    ids = {a.get("id") for _, a in reader.elements}
    assert [a["data-plot"] for a in plots] == ["lengths", "waiting", "phases", "difficulty"]
    assert all(a["role"] == "img" and a["aria-labelledby"] in ids for a in plots)
    assert "The mean wait of a step lies between" in "".join(reader.words)


def test_private_text_only_when_it_was_asked_for(make: Make) -> None:
    analysis = make("difficulty")
    secret = {step.step: ("secret prompt", "secret\nresponse") for step in analysis.steps}
    assert "secret" not in page.render(analysis)
    shown = page.render(analysis, texts=secret)
    assert "secret prompt" in shown
    assert "secret\nresponse" in shown


@pytest.mark.parametrize("name", ["verl", "openrlhf", "trl", "straggler_512.jsonl"])
def test_a_normal_run_stays_small(sample: Callable[[str], Analysis], name: str) -> None:
    assert len(page.render(sample(name)).encode()) < 2_500_000


def long_run(analysis: Analysis, steps: int) -> Analysis:
    """As many steps, each with as many figures as a real one."""
    template = analysis.steps[0]
    columns = {f"column_{i}_s": 1.2345678901 * i for i in range(40)} | {"generate_s": 12.0, "step_s": 20.0}
    figures = dict(template.figures) | {
        f"response_tokens_{s}": StepFigure(123.456789, "logged", (123.456789, 123.456789))
        for s in ("mean", "p50", "p90", "p95", "p99", "max", "std", "min")
    }
    many = [StepResult(i, columns, figures) for i in range(steps)]
    problems = [
        {"file": f"{i}.jsonl", "offset": i, "reason": "half a line", "kind": "skipped"} for i in range(20_000)
    ]
    sources = [{"name": f"rollouts/{i}.jsonl", "size": 1} for i in range(steps)]
    return replace(
        analysis,
        steps=many,
        run=replace(analysis.run, sources=sources),
        ledger={"read": 1, "repaired": 0, "skipped": 20_000, "problems": problems},
        stragglers=[replace(analysis.stragglers[0], step=i) for i in range(steps)],
    )


def test_ten_thousand_steps_stay_under_ten_megabytes(make: Make) -> None:
    analysis = long_run(make("difficulty"), 10_000)
    text = page.render(analysis)
    assert len(text.encode()) < 10_000_000
    reader = read(text)
    found = json.loads(data_of(reader, "rollprof"))
    jsonschema.validate({**found, "steps": found["steps"][:2]}, SCHEMA)
    assert 200 < len(found["steps"]) < 10_000
    assert found["steps"][0]["step"] == 0
    assert found["ledger"]["unlisted"] == 20_000 - embed.MOST_PROBLEMS
    words = "".join(reader.words)
    assert f"holds {len(found['steps'])} of the 10000 steps" in words
    assert "Each point is the median of 25 steps." in words
    plots = data_of(reader, "rollprof-plots")
    assert len(plots) < 500_000


def test_json_for_a_script_element_holds_no_angle_bracket() -> None:
    value = {"</script>": "<!-- & \u2028 \u202e", "n": [1, None, 0.5]}
    text = embed.script_json(value)
    assert not set("<>&") & set(text)
    assert text.isascii()
    assert json.loads(text) == value


def test_a_notebook_cell_is_the_headline_without_scripts(make: Make, attacked: Analysis) -> None:
    for analysis in (make("difficulty"), make("nothing_known"), attacked):
        reader = read(page.fragment(analysis))
        tags = {t for t, _ in reader.elements}
        assert "script" not in tags
        assert not tags & {"img", "iframe", "svg"}
    assert "41" in "".join(read(page.fragment(make("difficulty"))).words)


def test_the_file_says_who_wrote_it(make: Make, tmp_path: Path) -> None:
    from rollprof.cli.report_file import is_ours

    (tmp_path / "own.html").write_text(page.render(make("calibrated")), encoding="utf-8")
    (tmp_path / "other.html").write_text("<!DOCTYPE html><title>rollprof</title>", encoding="utf-8")
    assert is_ours(tmp_path / "own.html")
    assert not is_ours(tmp_path / "other.html")
