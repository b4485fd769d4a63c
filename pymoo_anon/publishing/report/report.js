"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const root = document.documentElement;
  const one = (selector) => document.querySelector(selector);
  const all = (selector) => [...document.querySelectorAll(selector)];
  root.classList.remove("still");

  // A twin of `cell_text` of cells.py: half up in decimals, as a person rounds.
  const written = (options) => new Intl.NumberFormat("en", options).format;
  const decimals = [0, 1, 2].map((most) => written({ maximumFractionDigits: most }));
  const digits = written({ maximumSignificantDigits: 4 });
  function shown(cell, kind) {
    if (cell === null) return "–";
    if (typeof cell === "string") return cell;
    if (kind === "share") {
      const percent = Number((cell * 100).toPrecision(12));
      if (percent > 0 && percent < 0.01) return "<\u00a00.01\u00a0%";
      if (percent >= 99.95 && percent < 100) return ">\u00a099.9\u00a0%";
      return decimals[percent > 0 && percent < 1 ? 2 : 1](percent) + "\u00a0%";
    }
    return Number.isInteger(cell) || Math.abs(cell) >= 1000 ? decimals[0](cell) : digits(cell);
  }

  const { records } = window.frontChart;
  const members = new Map(data.members.map((member) => [member.point, member]));
  const rowsOf = (member, name) => (name in data.fixed ? data.fixed[name] : data.pool[member.tables[name]]);
  const charts = new Map();
  let current = data.chosen;
  let axes = data.first;

  // A box ends where a row ends, and says that there is more.
  function fit(box) {
    box.style.maxHeight = "";
    delete box.dataset.more;
    const rows = [...box.querySelectorAll("tbody tr:not([hidden])")];
    if (!box.clientHeight || !rows.length) return;
    const isWide = box.scrollWidth > box.clientWidth + 1;
    const isLong = () => box.scrollHeight > box.clientHeight + 1;
    if (!isWide && !isLong()) return;
    box.dataset.more = "scroll";
    const more = [isLong() ? `${rows.length} rows` : "", isWide ? `${rows[0].cells.length} columns` : ""];
    box.dataset.more = `${more.filter(Boolean).join(", ")}: scroll`;
    if (!isLong()) return;
    const { top } = box.getBoundingClientRect();
    const foot = parseFloat(getComputedStyle(box, "::after").height);
    const room = box.clientHeight - foot;
    const ends = rows.map((row) => row.getBoundingClientRect().bottom - top + box.scrollTop).filter((end) => end <= room);
    if (ends.length) box.style.maxHeight = `${Math.max(...ends) + foot + box.offsetHeight - box.clientHeight}px`;
  }

  function fillTable(body, rows) {
    const kinds = data.kinds[body.dataset.table];
    body.replaceChildren(...rows.map((row) => {
      const line = document.createElement("tr");
      row.forEach((cell, i) => {
        const place = document.createElement(i === 0 ? "th" : "td");
        if (i === 0) place.scope = "row";
        if (kinds[i] !== "text") place.className = "n";
        place.textContent = shown(cell, kinds[i]);
        line.append(place);
      });
      return line;
    }));
    body.parentElement.querySelectorAll("thead th").forEach((head, i) => {
      const texts = [head.textContent, ...rows.map((row) => (typeof row[i] === "string" ? row[i] : ""))];
      const needed = texts.map((text) => Math.max(Math.min([...text].length, 14), Math.ceil([...text].length * 2 / 5)));
      head.style.minWidth = `calc(${Math.max(...needed)}ch + 1.5rem)`;
    });
    fit(body.closest(".scroll"));
  }

  function fillWords(list, sentences) {
    list.replaceChildren(...sentences.map((sentence) => {
      const item = document.createElement("li");
      item.textContent = sentence;
      return item;
    }));
  }

  // Of a point without details only its place in the front is shown; all other views show the release.
  const memberOf = (point) => members.get(point) ?? members.get(data.chosen);

  function select(point) {
    const member = memberOf(point);
    current = point;
    for (const body of all("tbody[data-table]")) {
      if (body.dataset.table in member.tables) fillTable(body, rowsOf(member, body.dataset.table));
    }
    for (const list of all("[data-words]")) {
      if (list.dataset.words in member.words) fillWords(list, member.words[list.dataset.words]);
    }
    for (const [name, view] of charts) {
      if (name === "front") view.signal("shown", point).runAsync();
      else if (name in member.tables) {
        view.data("rows", records(rowsOf(member, name))).resize().runAsync();
      }
    }
    if (!one("[data-label]")) return;
    const verdict = one("[data-verdict]");
    verdict.textContent = member.verdict;
    verdict.className = "badge " + member.verdict.replaceAll(" ", "-");
    one("[data-label]").textContent = data.labels[point];
    one("[data-fate]").textContent = point === data.chosen ? data.fate : members.has(point)
      ? "This is not the release."
      : "This is not the release, and no neighbour of it: the views below show the release.";
    one(".shown").classList.toggle("other", point !== data.chosen);
    for (const line of all("tr[data-row]")) {
      const own = Number(line.dataset.row) === point;
      line.classList.toggle("current", own);
      line.querySelector("input").checked = own;
      const box = line.closest(".scroll");
      if (own && (line.offsetTop < box.scrollTop + 40 || line.offsetTop + line.offsetHeight > box.scrollTop + box.clientHeight)) {
        // Two rows before it begins the box.
        const rows = [...line.parentElement.rows].filter((row) => !row.hidden);
        box.scrollTop = rows[Math.max(rows.indexOf(line) - 2, 0)].offsetTop - rows[0].offsetTop;
      }
    }
  }

  const listed = () => all("tr[data-row]").filter((line) => !line.hidden).map((line) => Number(line.dataset.row));
  function step(by) {
    const rows = listed().filter((row) => members.has(row));
    if (rows.length) select(rows[(rows.indexOf(current) + by + rows.length) % rows.length]);
  }

  const ofAxes = () => axes.map((place) => (place === null ? null : data.axes[place]));
  const points = () => window.frontChart.points(data.fixed.front, ofAxes(), data.labels);

  function brush(area) {
    const sides = Object.entries(area || {}).filter(([, range]) => Array.isArray(range) && range[0] !== range[1]);
    const inside = new Set(points().filter((point) => sides.every(([name, range]) =>
      point[name] >= Math.min(...range) && point[name] <= Math.max(...range))).map((point) => point.c0));
    for (const line of all("tr[data-row]")) line.hidden = !inside.has(Number(line.dataset.row));
    fit(one("tr[data-row]").closest(".scroll"));
    const rows = listed();
    one("[data-brushed]").textContent = sides.length ? `${rows.length} of ${data.fixed.front.length} points are kept.` : "";
    if (sides.length && rows.length && !rows.includes(current)) select(rows.find((row) => members.has(row)) ?? rows[0]);
  }

  function embed(inside, name, chart) {
    let spec = structuredClone(data.charts[chart]);
    if (name === "front") spec = window.frontChart.specified(spec, ofAxes(), points());
    else spec.data.find((source) => source.name === "rows").values = records(rowsOf(memberOf(current), name));
    return window.frontChart.embed(inside, spec, name === "front" ? "vega-lite" : "vega");
  }

  async function draw(place) {
    const name = place.dataset.of;
    // Inside an element of its own, as Vega would describe the place itself anew.
    const inside = document.createElement("div");
    inside.setAttribute("aria-hidden", "true");
    place.replaceChildren(inside);
    const made = await embed(inside, name, place.dataset.chart);
    charts.get(name)?.finalize();
    charts.set(name, made.view);
    if (name !== "front") return;
    await made.view.signal("shown", current).runAsync();
    window.frontChart.choose(made.view, inside, points, select);
    made.view.addSignalListener("brush", (_, area) => brush(area));
  }

  for (const line of all("tr[data-row]")) {
    const input = line.querySelector("input");
    input.addEventListener("change", () => select(Number(input.value)));
  }
  for (const button of all("[data-step]")) button.addEventListener("click", () => step(Number(button.dataset.step)));
  for (const button of all("[data-back]")) button.addEventListener("click", () => select(data.chosen));
  for (const chooser of all("[data-axis]")) {
    chooser.addEventListener("change", () => {
      axes = all("[data-axis]").map((own) => (own.value === "" ? null : Number(own.value)));
      brush(null);
      window.report.ready = draw(one("[data-of=front]"));
    });
  }

  // What is closed is drawn and measured when it is opened.
  const isOpen = (place) => !place.closest("details:not([open])");
  for (const details of all("details")) {
    details.addEventListener("toggle", () => {
      details.querySelectorAll(".scroll").forEach(fit);
      const places = [...details.querySelectorAll(".chart")].filter((place) => isOpen(place) && !charts.has(place.dataset.of));
      if (places.length) window.report.ready = Promise.all(places.map(draw));
    });
  }
  window.addEventListener("resize", () => all(".scroll").forEach(fit));

  // On paper every table is open.
  let closed = [];
  window.addEventListener("beforeprint", () => {
    closed = all("details:not([open]):not(.more)");
    for (const table of closed) table.open = true;
  });
  window.addEventListener("afterprint", () => {
    for (const table of closed) table.open = false;
  });

  select(current);
  all(".scroll").forEach(fit);
  window.report = { select, charts, embed, points, ready: Promise.all(all(".chart").filter(isOpen).map(draw)) };
  window.report.ready.then(() => root.classList.add("ready"));
})();
