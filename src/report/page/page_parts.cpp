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
