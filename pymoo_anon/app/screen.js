// The chart on the screen: choosers of axes and colour, and a click that chooses a point.
(() => {
  const chosen = {};

  function chooser(words, data, name, number) {
    const label = document.createElement("label");
    const select = document.createElement("select");
    const options = data.axes.map((axis, place) => [place, axis.name]);
    for (const [value, title] of number === 2 ? [["", "none"], ...options] : options) {
      const option = document.createElement("option");
      option.value = value;
      option.textContent = title;
      select.append(option);
    }
    select.value = chosen[name][number] ?? "";
    select.addEventListener("change", () => {
      chosen[name][number] = select.value === "" ? null : Number(select.value);
      plot(name, data);
    });
    label.append(words, " ", select);
    return label;
  }

  async function plot(name, data) {
    const inside = document.createElement("div");
    document.querySelector(`#${name} .plot`).replaceChildren(inside);
    const axes = chosen[name].map((place) => (place === null ? null : data.axes[place]));
    const rows = window.frontChart.points(data.rows, axes, data.labels);
    const spec = window.frontChart.specified(structuredClone(data.spec), axes, rows);
    // A layer without data would have no scale.
    const empty = [data.shown ? "" : "shown", data.rows.some((row) => row.at(-1)) ? "" : "chosen"];
    spec.layer = spec.layer.filter((layer) => !empty.includes(layer.name));
    const made = await window.frontChart.embed(inside, spec, "vega-lite");
    await made.view.signal("shown", data.shown).runAsync();
    window.frontChart.choose(made.view, inside, () => rows, (point) => {
      inside.dispatchEvent(new CustomEvent("point", { detail: point, bubbles: true }));
    });
  }

  // A page that is filled anew keeps the focus, for whoever has no mouse. Keys that are typed meanwhile mean the old one.
  const quiet = 400;
  let last = null, pressed = 0, timer = 0;
  const named = (one) => one.getAttribute("aria-label") ?? one.textContent.trim();
  const title = () => document.querySelector(".h1")?.textContent;

  function restore() {
    if (!last || document.activeElement !== document.body || last.title !== title()) return;
    const waits = pressed + quiet - performance.now();
    if (waits > 0) timer = setTimeout(restore, waits);
    else [...document.querySelectorAll(`.content ${last.tag}`)].find((one) => named(one) === last.name)?.focus();
  }

  document.addEventListener("keydown", (event) => { pressed = event.timeStamp; }, true);
  document.addEventListener("focusin", ({ target }) => {
    last = target.closest(".content") && { tag: target.tagName, name: named(target), title: title() };
  });
  document.addEventListener("focusout", ({ target }) => setTimeout(() => {
    if (target.isConnected && document.activeElement === document.body) last = null;
  }));
  // Quasar names neither the boxes of rows nor the button of an upload.
  function name() {
    for (const one of document.querySelectorAll(".q-table--col-auto-width [role=checkbox]:not([aria-label])")) {
      one.ariaLabel = `choose ${one.closest("td") ? one.closest("tr").cells[1].textContent.trim() : "all"}`;
    }
    document.querySelectorAll(".q-uploader .q-btn, .q-uploader input").forEach((one) => { one.ariaLabel = "Import a file"; });
  }

  document.documentElement.lang = "en";
  new MutationObserver(() => {
    clearTimeout(timer);
    timer = setTimeout(() => { name(); restore(); });
  }).observe(document, { childList: true, subtree: true });

  // What is told of one press is old by the next one.
  document.addEventListener("click", ({ target }) => {
    if (target.closest(".content button")) document.querySelectorAll(".q-notification .q-btn").forEach((one) => one.click());
  }, true);

  // Back and forward of the browser.
  window.addEventListener("popstate", () => emitEvent("step", new URLSearchParams(location.search).get("step") ?? 1));

  window.frontChart.draw = (name, data, shown) => {
    const place = document.getElementById(name);
    if (!place) return;
    data.shown = shown;
    if (!place.firstChild) {
      // A new search may have other measures.
      if (!chosen[name]?.every((place) => place === null || place < data.axes.length)) chosen[name] = [...data.first];
      const choosers = document.createElement("div");
      choosers.className = "choosers";
      choosers.append(...["across", "up", "colour"].map((words, number) => chooser(words, data, name, number)));
      const inside = document.createElement("div");
      inside.className = "plot";
      // Whoever hears the page has its table.
      inside.ariaHidden = "true";
      place.replaceChildren(choosers, inside);
    }
    plot(name, data);
  };
})();
