"use strict";
// The chart of a front, which the report and the screen draw alike.
window.frontChart = (() => {
  // Every record knows its place, by which charts sort: the order of data that change is that of their first appearance.
  const records = (rows) => rows.map((row, place) => ({ place, ...Object.fromEntries(row.map((cell, i) => ["c" + i, cell])) }));

  // The points of the front, with what is chosen for the axes and the colour as x, y and z.
  function points(rows, axes, labels) {
    const [x, y, z] = axes.map((axis) => (axis === null ? null : axis.column));
    return records(rows).map((row) => ({
      ...row, x: row[x], y: row[y], z: z === null ? null : row[z], label: labels[row.c0],
    }));
  }

  // The specification with the axes and the colour that are chosen.
  function specified(spec, [x, y, z], rows) {
    const { encoding } = spec.layer[0];
    Object.assign(encoding.x, x.place);
    Object.assign(encoding.y, y.place);
    if (z) Object.assign(encoding.color, z.colour);
    else encoding.color = { value: "#0072B2" };
    const bounds = [["x", x], ["y", y]].flatMap(([side, axis]) => axis.bounds.map((bound) => ({ side, ...bound })));
    const bounded = (layer) => /^[xy]_/.test(layer.name ?? "");
    const layer = spec.layer.filter((own) => !bounded(own) || bounds.some((bound) => own.name.startsWith(bound.side)));
    return { ...spec, layer, datasets: { rows, bounds } };
  }

  // A click chooses the nearest point that is not far, also for fingers; the end of a drag is no click.
  function choose(view, inside, rows, select) {
    let from = [0, 0];
    inside.addEventListener("pointerdown", (event) => { from = [event.clientX, event.clientY]; });
    inside.addEventListener("click", (event) => {
      if (Math.hypot(event.clientX - from[0], event.clientY - from[1]) > 5) return;
      const box = inside.querySelector("svg").getBoundingClientRect();
      const [left, top] = view.origin();
      const { left: padLeft, top: padTop } = view.padding();
      const [x, y] = [event.clientX - box.x - left - padLeft, event.clientY - box.y - top - padTop];
      const far = (row) => {
        const away = Math.hypot(view.scale("x")(row.x) - x, view.scale("y")(row.y) - y);
        return Number.isNaN(away) ? Infinity : away;
      };
      const nearest = rows().reduce((best, row) => (far(row) < far(best) ? row : best));
      if (far(nearest) <= 22) select(nearest.c0);
    });
  }

  // Vega's own evaluation of expressions is replaced by an interpreter, and nothing is loaded.
  function embed(inside, spec, mode) {
    if (inside.clientWidth < 480) Object.assign(spec.config.axis, { labelLimit: 120, titleLimit: 260 });
    else spec.config.axis.labelLimit = 260;
    return window.vegaEmbed(inside, spec, {
      mode, renderer: "svg", actions: false, ast: true,
      loader: { load: () => Promise.reject(new Error("nothing is loaded")) },
    });
  }

  return { records, points, specified, choose, embed };
})();
