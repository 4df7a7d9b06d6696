#include "report/page/page_parts.h"

namespace onnxc {

const std::string_view page_style = R"css(
:root { color-scheme: light dark; --line: #8886; --bar: #3b82f655; --accent: #2563eb; }
body { font: 14px/1.45 system-ui, sans-serif; margin: 2em auto; max-width: 90em; padding: 0 1.5em; overflow-wrap: anywhere; }
h1 { font-size: 1.5em; }
h2 { font-size: 1.15em; margin: 2em 0 .3em; }
p { margin: .2em 0 .6em; opacity: .75; max-width: 60em; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .15em .7em .15em .2em; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; white-space: pre-wrap; }
th { cursor: pointer; position: sticky; top: 0; background: Canvas; overflow-wrap: normal; }
.number { text-align: right; }
td.number { white-space: nowrap; }
td.text { min-width: 6em; }
td.bar { background-repeat: no-repeat; background-image: linear-gradient(var(--bar), var(--bar)); background-position: left; }
.facts td:first-child { opacity: .75; }
.scroll { overflow: auto; max-height: 44em; border: 1px solid var(--line); padding: .5em; }
input { margin: 0 0 .5em; padding: .2em .5em; width: 24em; max-width: 90%; }
.graph { position: relative; }
.graph svg { position: absolute; left: 0; top: 0; }
.node { padding-bottom: .35em; font-size: 12px; line-height: 1.25; }
.node div { opacity: .7; font-size: 11px; }
.legend { display: flex; flex-wrap: wrap; gap: 0 1.5em; }
.legend span { white-space: nowrap; }
.legend i { display: inline-block; width: 10px; height: 10px; border-radius: 5px; margin-right: .5em; }
@media (max-width: 60em) {
  body { font-size: 12px; padding: 0 .8em; }
  .scroll { padding: .2em; }
  th, td { padding: .15em .35em .15em .1em; }
}
svg { display: block; }
svg text { fill: currentColor; font-size: 12px; paint-order: stroke; stroke: Canvas; stroke-width: 3px; stroke-linejoin: round; }
svg path { fill: none; stroke: var(--line); stroke-width: 1.5; }
svg circle { fill: var(--accent); }
svg rect { fill: var(--accent); opacity: .7; }
svg rect:hover { opacity: 1; }
svg .roof { stroke: currentColor; stroke-width: 2; }
svg .tick { opacity: .5; }
svg .point { fill-opacity: .6; stroke: Canvas; }
svg .point:hover { fill-opacity: 1; }
svg .on { text-anchor: middle; pointer-events: none; }
svg .inside { stroke: none; }
svg .end { text-anchor: end; }
)css";

const std::string_view page_script = R"js(
"use strict";
// A long name breaks after a dot, a slash or an underscore, and before a capital.
const addText = (element, text) => {
  for (const part of String(text).split(/(?<=[./_])|(?<=[a-z])(?=[A-Z])/)) {
    if (element.hasChildNodes()) element.appendChild(document.createElement("wbr"));
    element.appendChild(document.createTextNode(part));
  }
};

const make = (parent, tag, text, attributes = {}) => {
  const svg = ["svg", "path", "circle", "rect", "text", "title"].includes(tag);
  const element = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  if (text !== null && text !== undefined) {
    if (svg || tag === "th" || attributes.class?.includes("number")) element.textContent = text;
    else addText(element, text);
  }
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  parent.appendChild(element);
  return element;
};

// A drawing as wide as its section, with letters of one size; made again for another width.
const drawing = (section, draw) => {
  const svg = make(section, "svg");
  let width = 0;
  const update = () => {
    if (section.clientWidth === width) return;
    width = section.clientWidth;
    svg.textContent = "";
    draw(svg, width);
  };
  update();
  new ResizeObserver(update).observe(section);
};

// Puts a text at the first of the places, each [x, y of the middle, class of the anchor], that is free, or leaves it out.
const putFree = (svg, text, places, taken, limits) => {
  const element = make(svg, "text", text);
  for (const [x, y, anchor] of places) {
    for (const [name, value] of Object.entries({ x, y: y + 4, class: anchor })) element.setAttribute(name, value);
    const { x: left, y: top, width, height } = element.getBBox();
    const box = { left: left - 2, right: left + width + 2, top, bottom: top + height };
    const isFree = ({ owns, ...other }) => owns === text ||
      box.right <= other.left || box.left >= other.right || box.bottom <= other.top || box.top >= other.bottom;
    const isWithin =
      box.left >= limits.left && box.right <= limits.right && box.top >= limits.top && box.bottom <= limits.bottom;
    if (!isWithin || !taken.every(isFree)) continue;
    taken.push(box);
    return;
  }
  element.remove();
};

const makers = {
  facts(section, rows) {
    const table = make(section, "table", null, { class: "facts" });
    for (const row of rows) {
      const line = make(table, "tr");
      for (const cell of row) make(line, "td", cell);
    }
  },

  table(section, { columns, rows }) {
    const filter = rows.length > 15 ? make(section, "input", null, { placeholder: "only rows with ..." }) : null;
    const table = make(make(section, "div", null, { class: "scroll" }), "table");
    const head = make(make(table, "thead"), "tr");
    const body = make(table, "tbody");
    const largest = columns.map((column, i) => Math.max(...rows.map((row) => row[i] || 0), 0));
    const fill = () => {
      body.textContent = "";
      const wanted = filter ? filter.value.toLowerCase() : "";
      for (const row of rows) {
        if (wanted && !row.some((cell) => String(cell).toLowerCase().includes(wanted))) continue;
        const line = make(body, "tr");
        row.forEach((cell, i) => {
          const { number, bar, decimals } = columns[i];
          const shown = number && cell !== null ? cell.toFixed(decimals) : cell;
          const depth = number ? 0 : /^ */.exec(shown)[0].length;  // of a tree, whose lines keep it when they break
          const element = make(line, "td", depth ? shown.trimStart() : shown,
            { class: (number ? "number" : "text") + (bar ? " bar" : "") });
          if (depth) element.style.paddingLeft = `${depth / 4}em`;
          if (bar) element.style.backgroundSize = `${(100 * (cell || 0)) / (largest[i] || 1)}% 100%`;
        });
      }
    };
    columns.forEach((column, i) => {
      let direction = column.number ? -1 : 1;
      make(head, "th", column.name, column.number ? { class: "number" } : {}).onclick = () => {
        const compare = (a, b) => (column.number ? (a[i] || 0) - (b[i] || 0) : String(a[i]).localeCompare(String(b[i])));
        rows.sort((a, b) => direction * compare(a, b));
        direction = -direction;
        fill();
      };
    });
    if (filter) filter.oninput = fill;
    fill();
  },

  chart(section, { labels, values, unit }) {
    const [height, left] = [180, 80];
    const most = Math.max(...values, 0) || 1;
    drawing(section, (svg, width) => {
      svg.setAttribute("width", width);
      svg.setAttribute("height", height + 20);
      const step = (width - left) / Math.max(values.length, 1);
      values.forEach((value, i) => {
        const tall = (height * value) / most;
        const place = { x: left + i * step, y: height - tall, width: Math.max(step - 0.5, 0.5), height: tall };
        make(make(svg, "rect", null, place), "title", `${labels[i]}: ${value.toFixed(2)} ${unit}`);
      });
      make(svg, "text", `${most.toFixed(1)} ${unit}`, { x: 0, y: 12 });
      make(svg, "text", "0", { x: 0, y: height });
      make(svg, "text", "first step", { x: left, y: height + 15 });
      make(svg, "text", "last step", { x: width, y: height + 15, class: "end" });
    });
  },

  // Both axes are logarithmic.
  roofline(section, { gflops, gigabytes, points }) {
    const weights = new Map();
    for (const { group, weight } of points) weights.set(group, (weights.get(group) || 0) + weight);
    const groups = [...weights.keys()].sort((a, b) => weights.get(b) - weights.get(a));
    const colors = ["#2563eb", "#dc2626", "#16a34a", "#d97706", "#7c3aed", "#0891b2", "#db2777"];
    const colorOf = (group) => colors[groups.indexOf(group)] || "#6b7280";
    const legend = make(section, "div", null, { class: "legend" });
    groups.slice(0, colors.length + 1).forEach((group, i) => {
      const entry = make(legend, "span");
      make(entry, "i").style.background = colorOf(group);
      addText(entry, i < colors.length ? group : "others");
    });
    make(legend, "span", `level line: ${gflops.toFixed(1)} GFLOP/s`);
    make(legend, "span", `sloping line: ${gigabytes.toFixed(1)} GB/s from memory`);

    const [height, left, top, bottom] = [440, 60, 24, 40];
    const ridge = gflops / gigabytes;
    const range = (values) => [Math.floor(Math.log10(Math.min(...values))), Math.ceil(Math.log10(Math.max(...values)))];
    const [x0, x1] = range([ridge / 10, ridge * 10, ...points.map((point) => point.intensity)]);
    const [y0, y1] = range([gflops, gflops / 100, ...points.map((point) => point.rate)]);
    const heaviest = Math.max(...points.map((point) => point.weight));
    drawing(section, (svg, width) => {
      svg.setAttribute("width", width);
      svg.setAttribute("height", height);
      const right = width - 30;
      const x = (value) => left + ((Math.log10(value) - x0) / (x1 - x0)) * (right - left);
      const y = (value) => height - bottom - ((Math.log10(value) - y0) / (y1 - y0)) * (height - bottom - top);
      for (let i = x0; i <= x1; ++i)
        make(svg, "path", null, { d: `M${x(10 ** i)} ${top} V${height - bottom}`, class: "tick" });
      for (let i = y0; i <= y1; ++i) make(svg, "path", null, { d: `M${left} ${y(10 ** i)} H${right}`, class: "tick" });
      const start = Math.max(10 ** x0, 10 ** y0 / gigabytes);
      const bends = [[x(start), y(start * gigabytes)], [x(ridge), y(gflops)], [right, y(gflops)]];
      make(svg, "path", null, { d: "M" + bends.join(" L"), class: "roof" });
      const places = [...points].sort((a, b) => b.weight - a.weight).map((point) => {
        const { label, group, intensity, rate, weight } = point;
        const [cx, cy, r] = [x(intensity), y(rate), 3 + 15 * Math.sqrt(weight / heaviest)];
        const circle = make(svg, "circle", null, { cx, cy, r, class: "point", style: `fill: ${colorOf(group)}` });
        make(circle, "title",
          `${label}: ${weight.toFixed(3)} ms, ${rate.toFixed(1)} GFLOP/s, ${intensity.toFixed(2)} operations a byte`);
        return { name: label.split(" ")[0], cx, cy, r };
      });
      // Texts come last, so that nothing lies above them.
      for (let i = x0; i <= x1; ++i)
        make(svg, "text", String(10 ** i), { x: x(10 ** i), y: height - bottom + 20, class: "on" });
      for (let i = y0; i <= y1; ++i) make(svg, "text", String(10 ** i), { x: left - 6, y: y(10 ** i) + 4, class: "end" });
      make(svg, "text", "operations a byte", { x: right, y: height - 4, class: "end" });
      make(svg, "text", "GFLOP/s", { x: 0, y: 10 });
      const limits = { left, right, top, bottom: height - bottom };
      const taken = places.map(({ name, cx, cy, r }) =>
        ({ owns: name, left: cx - r, right: cx + r, top: cy - r, bottom: cy + r }));
      const along = (part) => [0, 1].map((axis) => bends[0][axis] + part * (bends[1][axis] - bends[0][axis]));
      for (let i = 0; i < 100; ++i) {
        const [left, bottom] = along(i / 100), [right, top] = along((i + 1) / 100);
        taken.push({ left, right, top, bottom });
      }
      taken.push({ left: bends[1][0], right, top: bends[1][1] - 2, bottom: bends[1][1] + 2 });
      const spans = [0.5, 0.35, 0.65, 0.2, 0.8, 0.05];
      putFree(svg, `${gflops.toFixed(1)} GFLOP/s`,
        [0.98, ...spans].flatMap((part) => [-12, 14].map((down) =>
          [bends[1][0] + part * (right - bends[1][0]), bends[1][1] + down, "end"])), taken, limits);
      putFree(svg, `${gigabytes.toFixed(1)} GB/s from memory`,
        spans.map((part) => [along(part)[0] + 12, along(part)[1] + 14, ""]), taken, limits);
      for (const { name, cx, cy, r } of places) {
        if (r <= 9) continue;
        const around = [0, 10, 20].flatMap((far) => [
          [cx + r + 3 + far, cy, ""], [cx - r - 3 - far, cy, "end"], [cx, cy - r - 9 - far, "on"], [cx, cy + r + 9 + far, "on"],
        ]);
        putFree(svg, name, [[cx, cy, "on inside"], ...around], taken, limits);
      }
    });
  },

  // One node below the other; what is read from further above comes along a lane at the left.
  graph(section, nodes) {
    const edges = [];
    nodes.forEach((node, to) => node.inputs.forEach((from) => edges.push({ from, to })));
    const ends = [];
    for (const edge of edges.sort((a, b) => a.from - b.from || a.to - b.to)) {
      if (edge.to === edge.from + 1) continue;
      edge.lane = ends.findIndex((end) => end <= edge.from);
      if (edge.lane < 0) edge.lane = ends.length;
      ends[edge.lane] = edge.to;
    }
    const shownLanes = Math.min(ends.length, 24);
    const middle = 20 + 14 * shownLanes;
    const graph = make(make(section, "div", null, { class: "scroll" }), "div", null, { class: "graph" });
    const elements = nodes.map((node) => {
      const element = make(graph, "div", node.title, { class: "node", style: `padding-left: ${middle + 12}px` });
      for (const line of node.lines) make(element, "div", line);
      return element;
    });
    drawing(graph, (svg) => {
      svg.setAttribute("width", middle + 5);
      svg.setAttribute("height", graph.clientHeight);
      const tops = elements.map((element) => element.offsetTop + 8);
      for (const { from, to, lane } of edges) {
        const [a, b] = [tops[from], tops[to]];
        if (lane === undefined) make(svg, "path", null, { d: `M${middle} ${a} V${b}` });
        else {
          const x = middle - 14 * (1 + (lane % 24));
          make(svg, "path", null, { d: `M${middle} ${a} C${x} ${a} ${x} ${a} ${x} ${a + 14} V${b - 14} C${x} ${b} ${x} ${b} ${middle} ${b}` });
        }
      }
      for (const top of tops) make(svg, "circle", null, { cx: middle, cy: top, r: 3.5 });
    });
  },
};

for (const { kind, title, note, content } of JSON.parse(document.getElementById("sections").textContent)) {
  const section = make(document.querySelector("main"), "section");
  make(section, "h2", title);
  if (note) make(section, "p", note);
  makers[kind](section, content);
}
)js";

}  // namespace onnxc
