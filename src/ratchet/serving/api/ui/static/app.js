// Charts, and pages that renew themselves when something happens. Without it every page still reads and works.
"use strict";
(() => {
  const NOUNS = ["outcome", "pattern", "lesson", "trial", "proposal", "episode", "attempt", "checkpoint", "task",
    "evolution", "candidate", "benchrun", "settings", "version", "log", "metric"];
  const PAGED = {  // where a record of these has its page (`overview.py`)
    pattern: "patterns", lesson: "lessons", trial: "trials", episode: "episodes", evolution: "evolve", benchrun: "bench" };
  const WAIT_MS = 400;
  const FEED_MOST = 500;
  const waiting = new Map();
  const charts = new WeakMap();

  const FONT = "12px system-ui, sans-serif";
  const decades = (plot, splits) => splits.map((value) => (Number.isInteger(Math.round(1e9 * Math.log10(value)) / 1e9) ? value : null));

  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  function draw(box) {
    if (charts.has(box) || typeof uPlot === "undefined") return;
    const given = JSON.parse(box.dataset.chart);
    if (!given.x.length) return;
    const strokes = [colour("--mark"), colour("--bad"), colour("--soft")];
    const plot = new uPlot({
      width: Math.max(240, box.clientWidth - 16),
      height: 220,
      cursor: { y: false },
      scales: { x: { time: false }, y: { distr: 3 } },
      legend: { live: false },
      axes: [{ stroke: colour("--soft"), grid: { stroke: colour("--line"), width: 1 },
        label: given.below, labelSize: 20, font: FONT, labelFont: FONT },
        { stroke: colour("--soft"), grid: { stroke: colour("--line"), width: 1 }, size: 60, label: given.beside, labelSize: 20,
          font: FONT, labelFont: FONT, filter: decades }],
      series: [{}, ...given.lines.map((line, n) => ({
        label: line.name, stroke: strokes[n % 3], width: 2,
        dash: line.dashed ? [6, 4] : undefined, spanGaps: true, points: { show: given.x.length < 3 } }))],
    }, [given.x, ...given.lines.map((line) => line.y)], box);
    charts.set(box, plot);
  }

  // What somebody has unfolded stays so when its part is renewed.
  let unfolded = [];
  const unfoldedIn = (part) => [...part.querySelectorAll("details[open] > summary")].map((each) => each.textContent);
  const unfold = () => document.querySelectorAll("details:not([open]) > summary").forEach((each) => {
    if (unfolded.includes(each.textContent)) each.parentElement.open = true;
  });

  const drawAll = (root) => root.querySelectorAll("[data-chart]").forEach(draw);

  function renew(noun) {
    document.querySelectorAll("[data-live]").forEach((part) => {
      if (!part.dataset.live.split(" ").includes(noun) || waiting.has(part.id)) return;
      waiting.set(part.id, setTimeout(() => {
        waiting.delete(part.id);
        const now = document.getElementById(part.id);
        const busy = now && now.contains(document.activeElement) && document.activeElement.matches("input, select, button");
        if (now && !busy) htmx.trigger(now, "ratchet");
      }, WAIT_MS));
    });
  }

  function told(event) {
    renew(event.type);
    const feed = document.getElementById("feed");
    const pause = document.getElementById("pause");
    if (!feed || (pause && pause.checked)) return;
    const said = JSON.parse(event.data);
    const line = document.createElement("li");
    const when = document.createElement("time");
    when.textContent = new Date((said.at || Date.now() / 1000) * 1000).toLocaleTimeString();
    const noun = document.createElement("strong");
    noun.textContent = event.type;
    const record = document.createElement(PAGED[event.type] ? "a" : "code");
    if (PAGED[event.type]) record.href = `/ui/${PAGED[event.type]}/${encodeURIComponent(said.record || "")}`;
    record.textContent = said.record || "";
    const what = said.verb || (said.count !== undefined ? said.count + " more" : "");
    line.append(when, " ", noun, " ", String(what).replaceAll("_", " "), " ", record);
    feed.querySelector(".nothing")?.remove();
    feed.prepend(line);
    while (feed.children.length > FEED_MOST) feed.lastElementChild.remove();
  }

  function listen() {
    const source = new EventSource("/v1/events/sse");
    const notice = document.getElementById("connection");
    let lost = false;
    const away = (who) => { notice.textContent = who + " does not answer; this page shows what was last known."; notice.hidden = false; };
    const recovered = () => { notice.hidden = true; NOUNS.forEach(renew); };
    source.addEventListener("store", (event) => {
      if (JSON.parse(event.data).verb === "down") away("The database"); else recovered();
    });
    source.onopen = () => { if (lost) recovered(); lost = false; };
    source.onerror = () => { away("The server"); lost = true; };
    NOUNS.forEach((noun) => source.addEventListener(noun, told));
    window.addEventListener("pagehide", () => source.close());
  }

  document.addEventListener("DOMContentLoaded", () => {
    drawAll(document);
    document.body.addEventListener("htmx:beforeSwap", (event) => { unfolded = unfoldedIn(event.detail.target); });
    document.body.addEventListener("htmx:afterSwap", () => { unfold(); drawAll(document); });
    document.body.addEventListener("htmx:oobAfterSwap", () => drawAll(document));
    if (document.querySelector("[data-live], #feed")) listen();
    window.addEventListener("resize", () => document.querySelectorAll("[data-chart]").forEach((box) => {
      const plot = charts.get(box);
      if (plot) plot.setSize({ width: Math.max(240, box.clientWidth - 16), height: 220 });
    }));
  });
})();
