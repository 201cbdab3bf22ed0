"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const make = (tag, props, ...children) => {
    const made = Object.assign(document.createElement(tag), props || {});
    made.append(...children);
    return made;
  };
  const said = (n) => n.toLocaleString("en");
  const many = (n, unit) => `${said(n)} ${n === 1 ? unit.replace(/s$/, "") : unit}`;
  const held = JSON.parse($("held").textContent);
  const root = document.documentElement;

  // light and dark
  const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches);
  const button = $("theme");
  const name = () => { button.textContent = dark() ? "Light" : "Dark"; button.setAttribute("aria-label", `Switch to ${dark() ? "light" : "dark"} colours`); };
  button.hidden = false;
  button.addEventListener("click", () => { root.dataset.theme = dark() ? "light" : "dark"; name(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", name);
  name();

  // lists that can be searched, sorted and opened further
  for (const box of document.querySelectorAll("[data-table]")) {
    const first = Number(box.dataset.first), unit = box.dataset.unit;
    const body = box.querySelector("tbody, ul.tasks"), more = box.querySelector(".more");
    const find = box.querySelector("input[type=search]"), count = box.querySelector(".count");
    const rows = [...body.children];
    const texts = rows.map((row) => (row.textContent + " " + [...row.querySelectorAll("[title]")].map((x) => x.title).join(" ")).toLowerCase());
    let all = false;
    const show = () => {
      const words = find ? find.value.toLowerCase().split(/\s+/).filter(Boolean) : [];
      let met = 0, shown = 0;
      for (const row of body.children) {
        const hit = words.every((word) => texts[rows.indexOf(row)].includes(word));
        met += hit;
        row.hidden = !hit || (!all && met > first);
        shown += !row.hidden;
      }
      if (count) count.textContent = words.length ? `${said(met)} of ${many(rows.length, unit)}` : many(rows.length, unit);
      more.hidden = met <= first;
      more.textContent = all ? `Show the first ${first}` : `Show all ${said(met)}`;
      more.setAttribute("aria-expanded", String(all));
      more.dataset.print = `Printed: ${said(shown)} of ${many(met, unit)}.`;
    };
    const at = new Map(rows.map((row, i) => [row, i]));
    rows.indexOf = (row) => at.get(row);
    if (find) find.addEventListener("input", show);
    more.addEventListener("click", () => { all = !all; show(); });
    for (const head of box.querySelectorAll("th > button[data-sort]")) {
      head.addEventListener("click", () => {
        const th = head.parentElement, column = [...th.parentElement.children].indexOf(th), number = head.dataset.sort === "number";
        const was = th.getAttribute("aria-sort");
        const up = was === "none" ? !number : was === "descending";
        for (const other of th.parentElement.children) if (other.hasAttribute("aria-sort")) other.setAttribute("aria-sort", "none");
        th.setAttribute("aria-sort", up ? "ascending" : "descending");
        const value = (row) => row.children[column].dataset.v ?? row.children[column].textContent;
        const compare = number ? (a, b) => a - b : (a, b) => a.localeCompare(b, undefined, { numeric: true });
        const keyed = rows.map((row, i) => [value(row), i, row]);
        keyed.sort(([a, i], [b, j]) => (a === "") - (b === "") || (a === "" ? 0 : (up ? 1 : -1) * compare(a, b)) || i - j);
        body.append(...keyed.map(([, , row]) => row));
        show();
      });
    }
    show();
  }

  // what one worker mixes up
  const dialog = $("worker");
  const short = (text, n) => (text.length > n ? text.slice(0, n - 1) + "…" : text);
  const matrix = (cells, classes) => {
    const used = [...new Set(cells.flatMap(([k, l]) => [k, l]))].sort((a, b) => a - b);
    const times = new Map(cells.map(([k, l, n]) => [k + "," + l, n]));
    const totals = new Map();
    for (const [k, , n] of cells) totals.set(k, (totals.get(k) || 0) + n);
    const head = make("tr", {}, make("th", { scope: "col", textContent: "held to be ↓  said →" }));
    for (const l of used) head.append(make("th", { scope: "col", title: classes[l] }, make("bdi", { textContent: short(classes[l], 14) })));
    const body = make("tbody");
    for (const k of used) {
      if (!totals.has(k)) continue;
      const row = make("tr", {}, make("th", { scope: "row", title: classes[k] }, make("bdi", { textContent: short(classes[k], 24) })));
      for (const l of used) {
        const n = times.get(k + "," + l) || 0, cell = make("td", { className: k === l ? "diagonal" : "" }, make("span", { textContent: n }));
        cell.style.setProperty("--share", (0.6 * n / totals.get(k)).toFixed(3));
        row.append(cell);
      }
      body.append(row);
    }
    return make("div", { className: "wide", tabIndex: 0 }, make("table", {}, make("caption", { textContent: "How often the worker said what, by what the consensus holds. Framed: both the same." }), make("thead", {}, head), body));
  };
  const list = (cells, classes) => {
    const rows = cells.filter(([k, l]) => k !== l).sort((a, b) => b[2] - a[2]).slice(0, 50);
    const body = make("tbody");
    for (const [k, l, n] of rows) body.append(make("tr", {}, make("th", { scope: "row" }, make("bdi", { textContent: short(classes[k], 60) })), make("th", {}, make("bdi", { textContent: short(classes[l], 60) })), make("td", { textContent: n })));
    const head = make("tr", {}, ...["held to be", "said", "times"].map((text) => make("th", { scope: "col", textContent: text })));
    return make("div", { className: "wide", tabIndex: 0 }, make("table", {}, make("caption", { textContent: rows.length ? "What the worker said where the consensus holds something else, most frequent first." : "The worker never said anything but the consensus." }), make("thead", {}, head), body));
  };
  const open = (worker) => {
    const cells = held.workers.rows[worker], classes = held.workers.classes;
    if (!cells || !cells.length) return;
    $("worker-name").replaceChildren(make("bdi", { textContent: short(worker, 60) }));
    const row = [...document.querySelectorAll("#workers tbody tr")].find((tr) => tr.firstElementChild.dataset.v === worker);
    const facts = make("p", { className: "sub" });
    for (const cell of row ? row.querySelectorAll("td.num, td.score") : []) {
      const value = (cell.querySelector(".num") || cell).textContent.trim(), ci = cell.querySelector(".ci");
      facts.append(facts.childNodes.length ? ", " : "", `${cell.dataset.label.toLowerCase()} ${value}${ci ? ` (${ci.textContent})` : ""}`);
    }
    const parts = [facts];
    const verdict = row && row.querySelector("td[title]:has(.badge)");
    if (verdict && verdict.title) parts.push(make("p", { textContent: verdict.title }));
    const used = new Set(cells.flatMap(([k, l]) => [k, l]));
    parts.push(used.size <= 12 ? matrix(cells, classes) : list(cells, classes));
    $("worker-body").replaceChildren(...parts);
    dialog.showModal();
  };
  document.addEventListener("click", (event) => {
    const opener = event.target.closest("[data-worker]");
    if (opener) open(opener.dataset.worker);
    if (event.target === dialog) dialog.close();
  });
  $("worker-close").addEventListener("click", () => dialog.close());

  // charts
  const tip = $("tip");
  const point = (handler, event, item, value) => {
    if (value === null || value === undefined || value === "") { tip.hidden = true; return; }
    const pairs = typeof value === "object" ? Object.entries(value) : [["", value]];
    tip.replaceChildren(...pairs.map(([key, text]) => make("div", {}, make("span", { textContent: short(String(key), 30) }), make("b", { textContent: short(String(text), 80) }))));
    tip.hidden = false;
    const x = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8), y = Math.min(event.clientY + 14, innerHeight - tip.offsetHeight - 8);
    tip.style.left = Math.max(8, x) + "px";
    tip.style.top = Math.max(8, y) + "px";
  };
  const draw = async (place) => {
    const key = place.dataset.chart;
    const runtime = vega.parse(vegaLite.compile(held.charts[key]).spec, undefined, { ast: true });
    const view = new vega.View(runtime, { renderer: "svg", container: place, hover: true, expr: vegaInterpreter, tooltip: point });
    await view.runAsync();
    if (key === "workers") view.addEventListener("click", (event, item) => { if (item && item.datum && item.datum.worker) open(item.datum.worker); });
    const svg = place.querySelector("svg");
    if (svg) svg.setAttribute("aria-hidden", "true");
  };
  Promise.all([...document.querySelectorAll("[data-chart]")].map(draw)).then(() => { root.dataset.drawn = "yes"; });
})();
