"use strict";
(() => {
  const root = document.documentElement;
  const { palettes, plots } = JSON.parse(document.getElementById("rollprof-plots").textContent);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const holders = [...document.querySelectorAll("[data-plot]")];
  const label = (name) => document.querySelector(`.switch[data-for="${name}"] input:checked`)?.value;
  const chosen = (name) => plots[name][label(name) ?? Object.keys(plots[name])[0]];
  const config = {
    displaylogo: false,
    displayModeBar: "hover",
    modeBarButtons: [["toImage"], ["zoom2d", "pan2d"], ["zoomIn2d", "zoomOut2d", "resetScale2d"]],
  };

  // Roles ("@accent") become the colours of the reader's scheme.
  const painted = (value, colours) => {
    if (typeof value === "string") return value[0] === "@" ? colours[value.slice(1)] ?? value : value;
    if (Array.isArray(value)) return value.map((item) => painted(item, colours));
    if (value === null || typeof value !== "object") return value;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, painted(item, colours)]));
  };

  // Where the names of a legend do not fit into one line, it stands above the plot, below the buttons, in the
  // room that it needs.
  const BUTTONS = 26;
  const fitted = (layout, data, width) => {
    if (!width || !layout.showlegend) return layout;
    const names = data.filter((t) => t.showlegend !== false && t.name).map((t) => t.name);
    const sizes = names.map((name) => 50 + 6.5 * name.length);
    if (sizes.reduce((a, b) => a + b, 0) < width - 170) return layout;
    const columns = Math.max(1, Math.floor(width / Math.max(...sizes)));
    const room = 19 * Math.ceil(names.length / columns);
    const above = BUTTONS + room + 8 - layout.margin.t;
    layout.legend = { ...layout.legend, xref: "container", yref: "container", yanchor: "top", font: { size: 11 } };
    layout.margin.t += above;
    layout.height += above;
    layout.legend.y = 1 - BUTTONS / layout.height;
    return layout;
  };

  const draw = (holder, scheme, width) => {
    const spec = painted(chosen(holder.dataset.plot), palettes[scheme]);
    const wide = width ?? holder.clientWidth;
    const layout = { ...fitted(spec.layout, spec.data, wide), width: wide, autosize: false };
    holder.style.minHeight = `${layout.height}px`;
    const same = holder.dataset.wide === String(wide);
    holder.dataset.wide = wide;
    // At another width react() would leave the legend where the old margins had it.
    return (same ? Plotly.react : Plotly.newPlot)(holder, spec.data, layout, config);
  };
  const scheme = () => (dark.matches ? "dark" : "light");
  const drawAll = () => holders.map((holder) => draw(holder, scheme()));

  const load = async () => {
    const packed = atob(document.getElementById("rollprof-plotly").textContent.trim());
    const bytes = Uint8Array.from(packed, (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const script = document.createElement("script");
    script.textContent = await new Response(stream).text();
    document.head.append(script);
    if (!window.Plotly) throw new Error("plotly.js did not start");
  };

  const start = async () => {
    if (!holders.length) return;
    await load();
    // One after another, so that the page answers while it draws.
    for (const holder of holders) {
      await draw(holder, scheme());
      await new Promise((done) => setTimeout(done));
    }
    dark.addEventListener("change", () => drawAll());
    // Plots are fitted anew to another width; plotly's own way keeps the margins of the old one.
    let width = innerWidth;
    let later;
    addEventListener("resize", () => {
      if (innerWidth === width) return;
      width = innerWidth;
      clearTimeout(later);
      later = setTimeout(drawAll, 150);
    });
    addEventListener("beforeprint", () => {
      holders.forEach((h) => draw(h, "light", h.closest(".half") ? 325 : 680));
    });
    addEventListener("afterprint", () => drawAll());
    document.querySelectorAll(".switch").forEach((field) => {
      field.addEventListener("change", () => {
        draw(holders.find((h) => h.dataset.plot === field.dataset.for), scheme());
      });
    });
  };

  const say = (problem) => {
    const notice = document.getElementById("notice");
    notice.textContent = "The plots could not be drawn in this browser; every number is in the tables.";
    notice.hidden = false;
    document.querySelectorAll("figure details").forEach((d) => (d.open = true));
    root.dataset.plots = "failed";
    console.error(problem);
  };

  const spy = () => {
    const links = new Map([...document.querySelectorAll("nav a")].map((a) => [a.hash.slice(1), a]));
    const watch = new IntersectionObserver(
      (seen) => {
        for (const entry of seen.filter((e) => e.isIntersecting)) {
          links.forEach((a) => a.removeAttribute("aria-current"));
          links.get(entry.target.id)?.setAttribute("aria-current", "true");
        }
      },
      { rootMargin: "-10% 0px -80% 0px" },
    );
    document.querySelectorAll("main > section").forEach((section) => watch.observe(section));
  };

  spy();
  start().then(() => (root.dataset.plots ??= "drawn"), say);
})();
