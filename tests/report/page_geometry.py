"""The places of a page's texts when Chromium has drawn it: those that are cut, and those that lie over something
else."""

import html
import json
import re
from pathlib import Path

from tests.report.pages import dom_in_a_browser

# Text that scrolls up and down is measured at its full height.
MEASURE = """
<style>.scroll { max-height: none !important; }</style>
<script>
"use strict";
const faults = [];
const shown = (box) => `'${box.text}'`;
const meet = (a, b) =>
  a.left + 1 < b.right && b.left + 1 < a.right && a.top + 1 < b.bottom && b.top + 1 < a.bottom;
const holds = (a, b) =>
  a.left <= b.left + 1 && b.right <= a.right + 1 && a.top <= b.top + 1 && b.bottom <= a.bottom + 1;
const boxes = [];
const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (texts.nextNode()) {
  const node = texts.currentNode;
  const parent = node.parentElement;
  if (!node.data.trim() || parent.closest("script, style, title")) continue;
  const range = document.createRange();
  range.selectNodeContents(node);
  for (const rect of range.getClientRects())
    if (rect.width > 0)
      boxes.push({ left: rect.left, right: rect.right, top: rect.top, bottom: rect.bottom, text: node.data, parent });
}
for (const box of boxes) {
  for (let around = box.parent; around; around = around.parentElement) {
    if (["text", "span", "i"].includes(around.tagName)) continue;
    const rect = around.getBoundingClientRect();
    if (box.left < rect.left - 1 || box.right > rect.right + 1) faults.push(`cut by ${around.tagName}: ${shown(box)}`);
  }
  if (box.left < 0 || box.right > document.documentElement.clientWidth) faults.push(`beside the page: ${shown(box)}`);
}
boxes.sort((a, b) => a.top - b.top);
boxes.forEach((box, i) => {
  for (let j = i + 1; j < boxes.length && boxes[j].top < box.bottom; ++j)
    if (meet(box, boxes[j])) faults.push(`${shown(box)} and ${shown(boxes[j])} lie over each other`);
});
for (const svg of document.querySelectorAll("svg")) {
  const circles = [...svg.querySelectorAll("circle")].map((each) => each.getBoundingClientRect());
  for (const text of svg.querySelectorAll("text")) {
    const box = text.getBoundingClientRect();
    const under = [...svg.querySelectorAll("circle, path, rect")].some(
      (each) => text.compareDocumentPosition(each) & Node.DOCUMENT_POSITION_FOLLOWING);
    if (under) faults.push(`'${text.textContent}' was drawn before what may lie over it`);
    const met = circles.filter((circle) => meet(circle, box));
    if (met.length > 1 || met.some((circle) => !holds(circle, box)))
      faults.push(`'${text.textContent}' lies on a circle`);
    for (const roof of svg.querySelectorAll(".roof"))
      for (let at = 0; at < roof.getTotalLength(); at += 2) {
        const point = roof.getPointAtLength(at).matrixTransform(svg.getScreenCTM());
        const place = { left: point.x - 1, right: point.x + 1, top: point.y - 1, bottom: point.y + 1 };
        if (!meet(box, place)) continue;
        faults.push(`'${text.textContent}' lies on a roof`);
        break;
      }
  }
}
const indents = [...document.querySelectorAll("td")].map((cell) => {
  const own = boxes.filter((box) => cell.contains(box.parent));
  const lefts = own.map((box) => box.left - cell.getBoundingClientRect().left);
  return [cell.textContent, Math.min(...lefts)];
});
const result = document.createElement("pre");
result.id = "geometry";
result.textContent = JSON.stringify({ faults, indents, texts: boxes.length });
document.body.appendChild(result);
</script>
"""


class Geometry:
    """faults: in words. indents: how far the text of a table's cell begins from the cell's left edge, by the text."""

    def __init__(self, page: Path, width: int) -> None:
        measured = page.with_name(f"{page.stem}_{width}.html")
        measured.write_text(page.read_text(encoding="utf-8").replace("</body>", MEASURE + "</body>"), encoding="utf-8")
        drawn = dom_in_a_browser(measured, width)
        [found] = re.findall(r'<pre id="geometry">(.*?)</pre>', drawn, re.DOTALL)
        content = json.loads(html.unescape(found))
        self.faults: list[str] = content["faults"]
        self.texts: int = content["texts"]
        self.indents: dict[str, float] = dict(content["indents"])
