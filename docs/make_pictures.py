"""The pictures of the HTML report in docs/images, from sample_logs/verl in a headless Chromium, in light.

    python docs/make_pictures.py

Run it where the report has changed; the pictures are looked at, not compared.
"""

from __future__ import annotations

import base64
import importlib.util
import sys
import tempfile
from pathlib import Path
from typing import Any

import rollprof

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
WIDTH = 1300
TOP = 1400
"""Pixels of the report's beginning that are shown."""

GALLERY = ("in-flight", "lengths", "length-bands", "waiting", "phases", "difficulty", "sampling", "whatif")
"""Sections whose first plots are shown alone."""

PLACE = """(() => {{
    const boxes = [...document.querySelectorAll('#{section} figure')].slice(0, {count});
    const all = boxes.map((box) => box.getBoundingClientRect());
    const x = Math.min(...all.map((b) => b.left)), y = Math.min(...all.map((b) => b.top));
    return {{x: x + scrollX, y: y + scrollY, width: Math.max(...all.map((b) => b.right)) - x,
             height: Math.max(...all.map((b) => b.bottom)) - y}};
}})()"""


def chromium() -> Any:
    """The browser that the tests use."""
    path = ROOT / "tests" / "tools" / "chromium.py"
    spec = importlib.util.spec_from_file_location("chromium_tool", path)
    assert spec is not None
    assert spec.loader is not None
    tool = sys.modules["chromium_tool"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    found = tool.executable()
    if found is None:
        sys.exit("no Chromium (Debian: apt-get install chromium)")
    return tool.Page(found)


def picture(page: Any, clip: dict[str, float]) -> bytes:
    """A part of the page, also of what is not on the screen."""
    shot = page.call(
        "Page.captureScreenshot", format="png", captureBeyondViewport=True, clip={**clip, "scale": 1}
    )
    return base64.b64decode(shot["data"])


def main() -> None:
    """Writes the pictures."""
    with tempfile.TemporaryDirectory() as folder:
        run = rollprof.open_run(str(ROOT / "sample_logs" / "verl"), output=f"{folder}/dataset")
        html = Path(folder) / "report.html"
        html.write_text(rollprof.report(run, whatif=rollprof.whatif(run)).html, encoding="utf-8")
        page = chromium()
        try:
            page.open(html, width=WIDTH)
            images = {"report": picture(page, {"x": 0, "y": 0, "width": WIDTH, "height": TOP})}
            for section in GALLERY:
                place = page.run(PLACE.format(section=section, count=2 if section == "in-flight" else 1))
                images[f"plot-{section}"] = picture(page, place)
        finally:
            page.close()
    for name, data in images.items():
        (DOCS / "images" / f"{name}.png").write_bytes(data)
        sys.stdout.write(f"docs/images/{name}.png: {len(data):,} bytes\n")


if __name__ == "__main__":
    main()
