"""The page: content, styles, scripts and data put together, everything escaped."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from rollprof import __version__
from rollprof.analyzers.results import BASES, Analysis
from rollprof.render.html.embed import embedded, script_json
from rollprof.render.html.plotly_js import plotly_js, policy_source
from rollprof.render.report.content import content
from rollprof.render.report.model import Extras
from rollprof.render.report.palette import PALETTES
from rollprof.render.report.waiting import Texts
from rollprof.render.summary.page import GLOSSES, NBSP
from rollprof.render.text import clean

if TYPE_CHECKING:
    from jinja2 import Environment, Template

GENERATOR = "rollprof"
"""The meta element by which a report is known as one of ours."""
_UNIT = re.compile(r"(?<=\d) (?=(?:%|ms|s|min|h|d)(?!\w))")


def render(analysis: Analysis, *, texts: Texts | None = None, extras: Extras | None = None) -> str:
    """The report as one HTML document: UTF-8, works from a file, asks nothing of the network.

    The same analysis gives the same bytes. `texts`: prompt and response of the last rollout by step, only
    where the user asked for private text.
    `extras`: replays and a comparison, where they were asked for.
    """
    replayed = extras.replayed if extras is not None else None
    made, library, data = content(analysis, texts, extras), plotly_js(), embedded(analysis, replayed)
    script = _asset("report.js")
    plots = {plot.name: dict(plot.specs) for plot in made.plots()}
    drawn = bool(plots)
    return _template("report.html.j2").render(
        version=__version__,
        generator=f"{GENERATOR} {__version__}",
        policy=_policy(script, library.digest if drawn else ""),
        css=_markup(_palette_css() + _asset("report.css")),
        script=_markup(script),
        plotly=_markup(library.payload) if drawn else "",
        plots=_markup(script_json({"palettes": PALETTES, "plots": plots})),
        data=_markup(data.text),
        embedded=data,
        report=made,
        tips={d.name: f"{d.formula}" for d in made.definitions},
    )


def fragment(analysis: Analysis) -> str:
    """The headline alone, for a notebook's cell: no script, styles of its own."""
    css = _palette_css(".rollprof-cell") + _asset("cell.css")
    return _template("cell.html.j2").render(css=_markup(css), report=content(analysis), tips={})


def _policy(script: str, library: str) -> str:
    """Nothing may be loaded from anywhere; two scripts may run, known by their hashes."""
    scripts = " ".join(s for s in (policy_source(script.encode()), library) if s)
    return (
        f"default-src 'none'; script-src {scripts}; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


def _palette_css(root: str = ":root") -> str:
    """The palettes as custom properties, so that page and plots share them."""
    light, dark = ("".join(f"--{n}:{c};" for n, c in PALETTES[s].items()) for s in ("light", "dark"))
    scheme = "(prefers-color-scheme: dark)"
    return f"{root}{{{light}}}@media screen and {scheme}{{{root}{{{dark}}}}}\n"


@lru_cache(maxsize=1)
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("rollprof.render.html", "assets"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_finalize,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.globals["glosses"] = GLOSSES
    environment.globals["strength"] = {basis: len(BASES) - i for i, basis in enumerate(BASES)}
    environment.filters["percentage"] = lambda share: f"{min(max(share, 0.0), 1.0) * 100:.2f}%"
    environment.filters["lines"] = _lines
    return environment


def _finalize(value: Any) -> Any:
    """Text loses what could steer a terminal or turn the direction of reading; jinja escapes the rest.
    A number and its unit stay on one line."""
    return _UNIT.sub(NBSP, clean(value).replace(NBSP, " ")) if type(value) is str else value


def _lines(text: str) -> Any:
    """Escaped text with its line breaks kept, each line cleaned."""
    from markupsafe import Markup, escape

    return Markup("\n").join(escape(clean(line)) for line in text.splitlines())


def _markup(text: str) -> Any:
    from markupsafe import Markup

    return Markup(text)  # our own files, or JSON without a single angle bracket


def _template(name: str) -> Template:
    return _environment().get_template(name)


@lru_cache(maxsize=8)
def _asset(name: str) -> str:
    from importlib import resources

    text = resources.files("rollprof.render.html").joinpath("assets", name).read_text(encoding="utf-8")
    return text.replace("\r\n", "\n")
