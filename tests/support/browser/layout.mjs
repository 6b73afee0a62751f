// Functions that run inside a page and report faults of its layout.

// Returns {overlaps, outside}: pairs of texts whose boxes intersect, and texts that leave the
// canvas. The canvas is the SVG element for texts of an SVG, and the width of the document for
// texts of HTML. Rotated texts are compared as rotated rectangles. Texts that are not displayed are
// left out, and so is the text of scripts and styles.
//
// The function is passed to page.evaluate(), so it must not use anything outside its body.
export function findTextFaults({ tolerance = 0.75, scope = null } = {}) {
  // The box of a line of text is higher than its letters.
  const inset = 0.22;
  const corners = (left, top, right, bottom) => [
    { x: left, y: top }, { x: right, y: top }, { x: right, y: bottom }, { x: left, y: bottom }];

  const isShown = (element) => {
    for (let each = element; each instanceof Element; each = each.parentElement) {
      const style = getComputedStyle(each);
      if (style.display === "none" || style.visibility === "hidden") return false;
      if (style.opacity === "0") return false;
      if (each.tagName === "DETAILS" && !each.open && !element.closest("summary")) return false;
    }
    return true;
  };

  const svgTexts = (root) => [...root.querySelectorAll("text")].filter(isShown)
    .filter((element) => element.textContent.trim() !== "").map((element) => {
      const box = element.getBBox();
      const matrix = element.getScreenCTM();
      const cut = inset * box.height;
      const quad = corners(box.x, box.y + cut, box.x + box.width, box.y + box.height - cut)
        .map(({ x, y }) => ({ x: matrix.a * x + matrix.c * y + matrix.e,
                              y: matrix.b * x + matrix.d * y + matrix.f }));
      let svg = element.ownerSVGElement;
      while (svg.ownerSVGElement) svg = svg.ownerSVGElement;
      const canvas = svg.getBoundingClientRect();
      return { text: element.textContent, quad,
               canvas: [canvas.left, canvas.top, canvas.right, canvas.bottom] };
    });

  const htmlTexts = (root) => {
    const found = [];
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    const width = document.documentElement.clientWidth;
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const parent = node.parentElement;
      if (node.data.trim() === "" || !parent || parent.closest("script,style,svg,noscript")) continue;
      if (!isShown(parent)) continue;
      // Text inside a scrolling element may be wider than the page.
      let scrolls = false;
      for (let each = parent; each; each = each.parentElement) {
        if (["auto", "scroll"].includes(getComputedStyle(each).overflowX)) scrolls = true;
      }
      const range = document.createRange();
      range.selectNodeContents(node);
      for (const box of range.getClientRects()) {
        if (box.width === 0 || box.height === 0) continue;
        const cut = inset * box.height;
        found.push({
          text: node.data.trim().slice(0, 60),
          quad: corners(box.left, box.top + cut, box.right, box.bottom - cut),
          canvas: scrolls ? null : [0, -Infinity, width, Infinity] });
      }
    }
    return found;
  };

  // Separating axis theorem for two convex polygons.
  const intersect = (a, b) => {
    for (const polygon of [a, b]) {
      for (let i = 0; i < polygon.length; ++i) {
        const from = polygon[i];
        const to = polygon[(i + 1) % polygon.length];
        const length = Math.hypot(to.x - from.x, to.y - from.y) || 1;
        const normal = { x: (to.y - from.y) / length, y: (from.x - to.x) / length };
        const along = (points) => points.map(({ x, y }) => x * normal.x + y * normal.y);
        const first = along(a);
        const second = along(b);
        if (Math.max(...first) <= Math.min(...second) + tolerance) return false;
        if (Math.max(...second) <= Math.min(...first) + tolerance) return false;
      }
    }
    return true;
  };

  const root = scope ? document.querySelector(scope) : document.documentElement;
  const isSvg = document.documentElement.tagName.toLowerCase() === "svg";
  const texts = isSvg ? svgTexts(root) : [...svgTexts(root), ...htmlTexts(root)];
  const overlaps = [];
  const outside = [];
  texts.forEach((each, i) => {
    if (each.canvas !== null) {
      const [left, top, right, bottom] = each.canvas;
      if (each.quad.some(({ x, y }) => x < left - tolerance || x > right + tolerance ||
                                       y < top - tolerance || y > bottom + tolerance)) {
        outside.push(each.text);
      }
    }
    for (const other of texts.slice(0, i)) {
      if (intersect(each.quad, other.quad)) overlaps.push([other.text, each.text]);
    }
  });
  return { count: texts.length, overlaps, outside };
}

// Returns by how many pixels the page is wider than its window.
export function horizontalOverflow() {
  const page = document.documentElement;
  return Math.max(0, page.scrollWidth - page.clientWidth);
}
