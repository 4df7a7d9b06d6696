#include "report/page/page_parts.h"

namespace onnxc {

const std::string_view page_style = R"css(
:root { color-scheme: light dark; --line: #8886; --bar: #3b82f655; --accent: #2563eb; }
body { font: 14px/1.45 system-ui, sans-serif; margin: 2em auto; max-width: 90em; padding: 0 1.5em; }
h1 { font-size: 1.5em; }
h2 { font-size: 1.15em; margin: 2em 0 .3em; }
p { margin: .2em 0 .6em; opacity: .75; max-width: 60em; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .15em .7em .15em .2em; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; white-space: pre-wrap; }
th { cursor: pointer; position: sticky; top: 0; background: Canvas; }
.number { text-align: right; white-space: nowrap; }
td.bar { background-repeat: no-repeat; background-image: linear-gradient(var(--bar), var(--bar)); background-position: left; }
.facts td:first-child { opacity: .75; }
.scroll { overflow: auto; max-height: 44em; border: 1px solid var(--line); padding: .5em; }
input { margin: 0 0 .5em; padding: .2em .5em; width: 24em; }
svg text { fill: currentColor; font-size: 12px; }
svg .below { opacity: .7; font-size: 11px; }
svg path { fill: none; stroke: var(--line); stroke-width: 1.5; }
svg circle { fill: var(--accent); }
svg rect { fill: var(--accent); opacity: .7; }
svg rect:hover { opacity: 1; }
svg .roof { stroke: currentColor; stroke-width: 2; }
svg .tick { opacity: .5; }
svg .point { fill-opacity: .6; stroke: Canvas; }
svg .point:hover { fill-opacity: 1; }
svg .on { text-anchor: middle; pointer-events: none; }
svg .end { text-anchor: end; }
)css";

const std::string_view page_script = R"js(
"use strict";
const make = (parent, tag, text, attributes = {}) => {
  const svg = ["svg", "path", "circle", "rect", "text", "title"].includes(tag);
  const element = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  if (text !== null && text !== undefined) element.textContent = text;
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  parent.appendChild(element);
  return element;
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
          const element = make(line, "td", shown, { class: (number ? "number" : "") + (bar ? " bar" : "") });
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
    const [width, height, left] = [1000, 180, 70];
    const most = Math.max(...values, 0) || 1;
    const svg = make(section, "svg", null, { viewBox: `0 0 ${width} ${height + 20}`, width: "100%" });
    make(svg, "text", `${most.toFixed(1)} ${unit}`, { x: 0, y: 12 });
    make(svg, "text", "0", { x: 0, y: height });
    const step = (width - left) / Math.max(values.length, 1);
    values.forEach((value, i) => {
      const tall = (height * value) / most;
      const place = { x: left + i * step, y: height - tall, width: Math.max(step - 0.5, 0.5), height: tall };
      make(make(svg, "rect", null, place), "title", `${labels[i]}: ${value.toFixed(2)} ${unit}`);
    });
    make(svg, "text", "first step", { x: left, y: height + 15 });
    make(svg, "text", "last step", { x: width - 60, y: height + 15 });
  },

  // Both axes are logarithmic.
  roofline(section, { gflops, gigabytes, points }) {
    const [width, height, left, top, bottom, right] = [1000, 440, 60, 24, 40, 970];
    const ridge = gflops / gigabytes;
    const range = (values) => [Math.floor(Math.log10(Math.min(...values))), Math.ceil(Math.log10(Math.max(...values)))];
    const [x0, x1] = range([ridge / 10, ridge * 10, ...points.map((point) => point.intensity)]);
    const [y0, y1] = range([gflops, gflops / 100, ...points.map((point) => point.rate)]);
    const x = (value) => left + ((Math.log10(value) - x0) / (x1 - x0)) * (right - left);
    const y = (value) => height - bottom - ((Math.log10(value) - y0) / (y1 - y0)) * (height - bottom - top);
    const svg = make(section, "svg", null, { viewBox: `0 0 ${width} ${height}`, width: "100%" });
    for (let i = x0; i <= x1; ++i) {
      make(svg, "path", null, { d: `M${x(10 ** i)} ${top} V${height - bottom}`, class: "tick" });
      make(svg, "text", String(10 ** i), { x: x(10 ** i), y: height - bottom + 16, class: "on" });
    }
    for (let i = y0; i <= y1; ++i) {
      make(svg, "path", null, { d: `M${left} ${y(10 ** i)} H${right}`, class: "tick" });
      make(svg, "text", String(10 ** i), { x: left - 6, y: y(10 ** i) + 4, class: "end" });
    }
    make(svg, "text", "operations a byte", { x: right, y: height - 4, class: "end" });
    make(svg, "text", "GFLOP/s", { x: 0, y: 10 });
    const start = Math.max(10 ** x0, 10 ** y0 / gigabytes);
    make(svg, "path", null, {
      d: `M${x(start)} ${y(start * gigabytes)} L${x(ridge)} ${y(gflops)} H${right}`, class: "roof",
    });
    make(svg, "text", `${gflops.toFixed(1)} GFLOP/s`, { x: right - 4, y: y(gflops) - 6, class: "end" });
    const middle = Math.sqrt(start * ridge);
    make(svg, "text", `${gigabytes.toFixed(1)} GB/s from memory`, {
      x: x(middle) + 8, y: y(middle * gigabytes) + 14,
    });
    const weights = new Map();
    for (const { group, weight } of points) weights.set(group, (weights.get(group) || 0) + weight);
    const groups = [...weights.keys()].sort((a, b) => weights.get(b) - weights.get(a));
    const colors = ["#2563eb", "#dc2626", "#16a34a", "#d97706", "#7c3aed", "#0891b2", "#db2777"];
    const colorOf = (group) => colors[groups.indexOf(group)] || "#6b7280";
    const heaviest = Math.max(...points.map((point) => point.weight));
    for (const { label, group, intensity, rate, weight } of [...points].sort((a, b) => b.weight - a.weight)) {
      const place = { cx: x(intensity), cy: y(rate), r: 3 + 15 * Math.sqrt(weight / heaviest), class: "point" };
      const circle = make(svg, "circle", null, { ...place, style: `fill: ${colorOf(group)}` });
      make(circle, "title",
        `${label}: ${weight.toFixed(3)} ms, ${rate.toFixed(1)} GFLOP/s, ${intensity.toFixed(2)} operations a byte`);
      if (place.r > 9) make(svg, "text", label.split(" ")[0], { x: place.cx, y: place.cy + 4, class: "on" });
    }
    groups.slice(0, colors.length + 1).forEach((group, i) => {
      const text = i < colors.length ? group : "others";
      make(svg, "circle", null, { cx: left + 14, cy: top + 14 + 16 * i, r: 5, style: `fill: ${colorOf(group)}` });
      make(svg, "text", text, { x: left + 26, y: top + 18 + 16 * i });
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
    const tops = [];
    let top = 14;
    for (const node of nodes) {
      tops.push(top);
      top += 20 + 14 * node.lines.length;
    }
    const svg = make(make(section, "div", null, { class: "scroll" }), "svg", null, { width: 1600, height: top });
    for (const { from, to, lane } of edges) {
      const [a, b] = [tops[from], tops[to]];
      if (lane === undefined) make(svg, "path", null, { d: `M${middle} ${a} V${b}` });
      else {
        const x = middle - 14 * (1 + (lane % 24));
        make(svg, "path", null, { d: `M${middle} ${a} C${x} ${a} ${x} ${a} ${x} ${a + 14} V${b - 14} C${x} ${b} ${x} ${b} ${middle} ${b}` });
      }
    }
    nodes.forEach((node, i) => {
      make(svg, "circle", null, { cx: middle, cy: tops[i], r: 3.5 });
      make(svg, "text", node.title, { x: middle + 12, y: tops[i] + 4 });
      node.lines.forEach((line, n) =>
        make(svg, "text", line, { x: middle + 12, y: tops[i] + 18 + 14 * n, class: "below" }));
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
