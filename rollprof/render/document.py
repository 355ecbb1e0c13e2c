"""A report as an object: every form of it, and its plots as plotly figures, for notebooks and scripts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rollprof.analyzers.results import Analysis
from rollprof.render.report.model import Extras
from rollprof.render.report.palette import Scheme
from rollprof.render.report.waiting import Texts

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


@dataclass(frozen=True, slots=True)
class Report:
    """The report of an analysis. In a notebook it shows its headline; `figures` show themselves.

    `texts`: prompt and response of the last rollout by step, where private text was asked for.
    `extras`: replays and a comparison, where they were.
    """

    analysis: Analysis
    texts: Texts = field(default_factory=dict)
    extras: Extras = field(default_factory=Extras)

    @property
    def html(self) -> str:
        """One HTML document that needs no network."""
        from rollprof.render.html.page import render

        return render(self.analysis, texts=self.texts, extras=self.extras)

    @property
    def markdown(self) -> str:
        """GitHub-flavoured Markdown."""
        from rollprof.render.markdown import render

        return render(self.analysis, texts=self.texts, extras=self.extras)

    @property
    def json(self) -> str:
        """The JSON that `rollprof report --json` prints."""
        from rollprof.render.as_json import dumps

        return dumps(self.analysis, self.extras.replayed)

    @property
    def figures(self) -> Mapping[str, Figure]:
        """The plots by name (`in-flight-worst`, `lengths`, `waiting`, ...), in the light colours."""
        return self.plots("light")

    def plots(self, scheme: Scheme) -> Mapping[str, Figure]:
        """The plots by name; a second scale of one is called `lengths-linear`."""
        from plotly.graph_objects import Figure

        from rollprof.render.report.content import content
        from rollprof.render.report.palette import painted

        found = {}
        for plot in content(self.analysis, self.texts, self.extras).plots():
            for position, (label, spec) in enumerate(plot.specs.items()):
                name = f"{plot.name}-{label}" if position else plot.name
                figure = Figure(painted(spec, scheme))
                figure.update_layout(template="none", title={"text": plot.title})
                found[name] = figure
        return found

    def _repr_html_(self) -> str:
        from rollprof.render.html.page import fragment

        return fragment(self.analysis)
