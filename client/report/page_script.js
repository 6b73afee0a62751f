// Interaction of report pages. The page is complete without this script: each
// chart is also drawn on the server side, and the script replaces that drawing
// with one that fits the width of the window. CMakeLists.txt removes comments
// and indentation, so a line must not end within a string.
"use strict";
(() => {
  const hidden = new Set();
  const charts = [];

  const make = (tag, parent, attributes = {}, text = "") => {
    const space = tag === "svg" ? "http://www.w3.org/2000/svg" : parent.namespaceURI;
    const node = document.createElementNS(space, tag);
    for (const [name, value] of Object.entries(attributes)) {
      node.setAttribute(name, value);
    }
    if (text !== "") node.textContent = text;
    return parent.appendChild(node);
  };

  const path = (parent, d, name, more) => make("path", parent, { d, class: name, ...more });
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const on = (node, type, act) => node.addEventListener(type, act);

  const show = (value) => {
    if (value === 0) return "0";
    const size = Math.abs(value);
    if (size >= 1e6 || size < 1e-4) return value.toExponential(2);
    return String(Number(value.toPrecision(4)));
  };

  // Multiples of 1, 2 or 5 times a power of ten.
  const niceTicks = (low, high, count) => {
    const rough = (high - low) / count || 1;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].find((m) => m * power >= rough) * power;
    const ticks = [];
    for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; ++i) {
      ticks.push(Number((i * step).toPrecision(12)));
    }
    return ticks;
  };

  const logTicks = (low, high) => {
    const decades = Math.log10(high / low);
    if (decades < 0.7) return niceTicks(low, high, 5);
    const ticks = [];
    for (let e = Math.floor(Math.log10(low)); e <= Math.log10(high); ++e) {
      for (const m of decades < 3 ? [1, 2, 5] : [1]) ticks.push(m * 10 ** e);
    }
    return ticks.filter((t) => t >= low * 0.999 && t <= high * 1.001);
  };

  const scale = (low, high, from, to, log) => {
    const f = log ? Math.log : (v) => v;
    const span = f(high) - f(low);
    return (v) => (span ? from + ((f(v) - f(low)) / span) * (to - from) : (from + to) / 2);
  };

  class Chart {
    constructor(figure) {
      this.figure = figure;
      this.spec = JSON.parse(figure.querySelector("script").textContent);
      this.plot = figure.querySelector(".plot");
      this.canvas = this.plot.parentNode;
      this.log = this.spec.yLog ? 1 : 0;
      this.band = 1;
      this.seeds = this.unit = 0;
      this.at = -1;
      this.swatches = new Map();
      for (const button of all(".legend button", figure)) {
        this.swatches.set(button.dataset.name, button.querySelector("svg"));
        button.disabled = false;
        on(button, "click", () => toggle(button.dataset.name));
      }
      if (!this.spec.small) this.addTools();
      this.tip = make("div", this.canvas, { class: "tip", role: "status" });
      on(this.plot, "pointermove", (event) => this.hover(event));
      on(this.plot, "pointerleave", () => this.select(-1));
      on(this.plot, "keydown", (event) => this.key(event));
      new ResizeObserver(() => this.draw()).observe(this.canvas);
    }

    // The factor of the chosen unit.
    get factor() {
      return this.spec.units ? this.spec.units[this.unit][1] : 1;
    }

    // Calls use(x, y, low, high) for each point, and use(null) for gaps.
    each(series, use) {
      for (const [x, y, low, high] of series.points) {
        if (x === null || y === null || (this.log && y <= 0)) use(null);
        else use(x, ...[y, low ?? y, high ?? y].map((v) => v * this.factor));
      }
    }

    // The values of single seeds, if they are switched on.
    dots(series) {
      return (this.seeds && series.dots) || [];
    }

    shown() {
      return this.spec.series.filter((series) => !hidden.has(series.name));
    }

    // Adds a button that switches a member of this object between 0 and 1.
    switch(bar, member, text, title) {
      const button = make("button", bar, { title, "aria-pressed": !!this[member] }, text);
      on(button, "click", () => {
        this[member] = 1 - this[member];
        button.setAttribute("aria-pressed", !!this[member]);
        this.draw();
      });
    }

    addTools() {
      const points = this.spec.series.flatMap((series) => series.points);
      const bar = make("div", this.figure, { class: "tools" });
      const { series, units } = this.spec;
      if (points.every((p) => p[1] === null || p[1] > 0)) {
        this.switch(bar, "log", "log", "Logarithmic axis");
      }
      if (points.some((p) => p[3] > p[2])) {
        this.switch(bar, "band", "intervals", "95 % confidence intervals over seeds");
      }
      if (series.some((one) => one.dots)) {
        this.switch(bar, "seeds", "seeds", "One dot for each seed");
      }
      if (units) this.switch(bar, "unit", units[1][0], "Change the unit");
      make("span", bar, { class: "gap" });
      for (const kind of ["png", "svg", "csv"]) {
        on(make("button", bar, { title: "Download" }, kind), "click", () => this[kind]());
      }
    }

    // The range of the y axis: the values that are shown, and a margin.
    yRange() {
      let low = Infinity;
      let high = -Infinity;
      const add = (value) => {
        if (!Number.isFinite(value) || (this.log && value <= 0)) return;
        low = Math.min(low, value);
        high = Math.max(high, value);
      };
      const { ref, range } = this.spec;
      for (const series of this.shown()) {
        this.each(series, (x, ...values) => {
          if (x !== null) values.slice(0, this.band ? 3 : 1).forEach(add);
        });
        for (const dot of this.dots(series)) add(dot[1] * this.factor);
      }
      if (ref) add(ref[0]);
      range?.forEach((end) => add(end * this.factor));
      if (low > high) return [1, 10];
      if (low === high) return this.log ? [low / 2, high * 2] : [low - 1, high + 1];
      if (range && !this.log) return [low, high];
      const margin = this.log ? (high / low) ** 0.05 : (high - low) * 0.05;
      if (this.log) return [low / margin, high * margin];
      return [low >= 0 && low - margin < 0 ? 0 : low - margin, high + margin];
    }

    draw() {
      const { spec, plot } = this;
      const width = Math.round(this.canvas.clientWidth);
      if (width < 40) return;
      const height = spec.small ? 190 : width < 500 ? 270 : 340;
      plot.textContent = "";
      const svg = make("svg", plot, {
        viewBox: `0 0 ${width} ${height}`, width, height, role: "img", tabindex: 0,
        "aria-label": `${spec.title}. Arrow keys show the values.`,
        "font-family": getComputedStyle(document.body).fontFamily,
      });
      const text = (x, y, label, anchor) =>
        make("text", svg, { x, y, "font-size": 12, "text-anchor": anchor, class: "lf-2" }, label);
      const [low, high] = this.yRange();
      const yTicks = this.log ? logTicks(low, high) : niceTicks(low, high, 5);
      const left = 14 + 7 * Math.max(...yTicks.map((tick) => show(tick).length), 1);
      const bottom = height - (spec.xLabel ? 42 : 24);
      const right = width - 14;
      const y = (this.y = scale(low, high, bottom, spec.mark ? 44 : 26, this.log));
      const xs = spec.series.flatMap((s) => s.points.map((p) => p[0])).filter((v) => v !== null);
      if (spec.mark) xs.push(spec.mark[0]);
      const x0 = Math.min(...xs);
      const x1 = Math.max(...xs);
      const pad = spec.shape === "steps" ? 0 : 8;
      const x = (this.x = scale(x0, x1, left + pad, right - pad, spec.xLog));
      this.bottom = bottom;
      text(4, 12, (spec.units ? spec.units[this.unit][0] : spec.yLabel) + (this.log ? ", log" : ""));
      if (spec.mark) this.drawMark(svg, x, bottom, right, text);
      for (const tick of yTicks) {
        path(svg, `M${left} ${y(tick)}H${right}`, "ls-3");
        text(left - 6, y(tick) + 4, show(tick), "end");
      }
      let free = -Infinity;
      const xTicks = spec.xTicks ??
        (spec.xLog ? logTicks(x0, x1) : niceTicks(x0, x1, width / 90)).map((t) => [t, show(t)]);
      path(svg, `M${left} ${bottom}H${right}`, "ls-2");
      for (const [tick, label] of xTicks) {
        const at = Math.min(x(tick), width - label.length * 3.5 - 2);
        path(svg, `M${x(tick)} ${bottom}v4`, "ls-2");
        if (at - label.length * 3.5 < free) continue;
        free = at + label.length * 3.5 + 6;
        text(at, bottom + 17, label, "middle");
      }
      if (spec.xLabel) text((left + right) / 2, height - 6, spec.xLabel, "middle");
      if (spec.ref) {
        const at = y(spec.ref[0]);
        path(svg, `M${left} ${at}H${right}`, "ls-2", { "stroke-dasharray": "2 4" });
        text(right - 4, at - 4, spec.ref[1], "end");
      }
      for (const series of this.shown()) this.drawBand(svg, series);
      for (const series of this.shown()) this.drawSeries(svg, series);
      this.cursor = make("g", svg, { class: "cursor" });
      if (this.at >= 0) this.select(this.at);
    }

    drawMark(svg, x, bottom, right, text) {
      const [value, label] = this.spec.mark;
      const at = x(value);
      make("rect", svg, { x: at, y: 22, width: Math.max(0, right - at), height: bottom - 22,
        class: "lf-3", opacity: 0.4 });
      path(svg, `M${at} 22V${bottom}`, "ls-2", { "stroke-dasharray": "3 3" });
      const fits = at + 7 * label.length + 20 < right;
      text(fits ? at + 5 : at - 5, 36, fits ? `${label} \u2192` : label, fits ? "start" : "end");
    }

    drawBand(svg, series) {
      const top = [];
      const bottom = [];
      if (!this.band) return;
      this.each(series, (x, y, low, high) => {
        if (x === null || !(high > low)) return;
        top.push(`${this.x(x)} ${this.y(high)}`);
        const floor = this.log && low <= 0 ? this.bottom : this.y(low);
        bottom.unshift(`${this.x(x)} ${Math.min(floor, this.bottom)}`);
      });
      if (top.length < 1) return;
      path(svg, `M${top.concat(bottom).join("L")}Z`, `band lf-${series.color}`,
        { opacity: series.pale ? 0.05 : 0.13 });
    }

    drawSeries(svg, series) {
      const { spec } = this;
      const group = make("g", svg, { class: "series", opacity: series.pale ? 0.5 : 1 });
      const swatch = this.swatches.get(series.name);
      const dash = swatch?.querySelector("path")?.getAttribute("stroke-dasharray");
      let line = "";
      let pen = "M";
      this.each(series, (x, y) => {
        if (x === null) return void (pen = "M");
        if (spec.shape === "steps" && pen === "L") line += `H${this.x(x)}V${this.y(y)}`;
        else line += `${pen}${this.x(x)} ${this.y(y)}`;
        pen = "L";
      });
      if (spec.shape !== "dots" && line) {
        path(group, line, `ls-${series.color}`, { fill: "none", "stroke-width": spec.small ? 1.4 : 2,
          "stroke-dasharray": dash ?? "none" });
      }
      for (const [x, y] of this.dots(series)) {
        make("circle", group, { cx: this.x(x), cy: this.y(y * this.factor), r: 2.5, opacity: 0.7,
          class: `lf-${series.color} seed` });
      }
      if (!spec.markers || !swatch) return;
      this.each(series, (x, y) => {
        if (x === null) return;
        const marker = swatch.lastElementChild.cloneNode(true);
        marker.setAttribute("transform", `translate(${this.x(x) - 14} ${this.y(y) - 8})`);
        group.appendChild(marker);
      });
    }

    // The distinct x values of the series that are shown.
    columns() {
      const xs = new Set();
      for (const series of this.shown()) this.each(series, (x) => x !== null && xs.add(x));
      return [...xs].sort((a, b) => a - b);
    }

    hover(event) {
      const at = event.clientX - this.plot.getBoundingClientRect().left;
      const distance = (x) => Math.abs(this.x(x) - at);
      const columns = this.columns();
      this.select(columns.indexOf([...columns].sort((a, b) => distance(a) - distance(b))[0]));
    }

    key(event) {
      const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!move) return;
      event.preventDefault();
      const count = this.columns().length;
      this.select(Math.min(count - 1, Math.max(0, this.at + move)));
    }

    // Shows the values at one column, or none.
    select(at) {
      const { spec, tip } = this;
      const x = this.columns()[at];
      this.at = x === undefined ? -1 : at;
      this.cursor.textContent = "";
      tip.textContent = "";
      tip.style.display = this.at < 0 ? "none" : "block";
      if (this.at < 0) return;
      path(this.cursor, `M${this.x(x)} 22V${this.bottom}`, "ls-1");
      const rows = [];
      for (const series of this.shown()) {
        this.each(series, (px, y, low, high) => px === x && rows.push([y, low, high, series]));
      }
      rows.sort((a, b) => b[0] - a[0]);
      const label = spec.xTicks?.find((tick) => tick[0] === x)?.[1] ?? show(x);
      make("strong", tip, {}, `${spec.shape === "steps" ? "from " : ""}${label} ${spec.xUnit ?? spec.xLabel}`);
      for (const [y, low, high, series] of rows) {
        const row = make("div", tip);
        make("i", row, { class: `lb-${series.color}` });
        make("span", row, {}, `${series.name} `);
        const range = high > low ? ` (${show(low)} to ${show(high)})` : "";
        make("b", row, {}, show(y) + range);
      }
      const beside = this.x(x) + 12;
      const over = beside + tip.offsetWidth > this.canvas.clientWidth;
      tip.style.left = `${over ? Math.max(0, beside - tip.offsetWidth - 24) : beside}px`;
    }

    // A copy of the drawing with its colours written into it.
    copy() {
      const original = this.plot.querySelector("svg");
      const copy = original.cloneNode(true);
      copy.querySelector(".cursor").remove();
      const from = all("*", original);
      all("*", copy).forEach((node, i) => {
        const style = getComputedStyle(from[i]);
        node.setAttribute("fill", style.fill);
        node.setAttribute("stroke", style.stroke);
        node.removeAttribute("class");
      });
      const { clientWidth: width, clientHeight: end } = original;
      let height = end;
      for (const series of this.shown()) {
        const swatch = this.swatches.get(series.name);
        if (!swatch) continue;
        const fill = getComputedStyle(swatch.querySelector("path")).stroke;
        make("text", copy, { x: 16, y: (height += 18), "font-size": 12, fill }, `\u2014 ${series.name}`);
      }
      height += 10;
      const fill = getComputedStyle(document.body).backgroundColor;
      copy.prepend(make("rect", copy, { width, height, fill }));
      copy.setAttribute("height", height);
      copy.setAttribute("viewBox", `0 0 ${width} ${height}`);
      return { width, height, text: new XMLSerializer().serializeToString(copy) };
    }

    save(blob, extension) {
      const link = make("a", document.body, { download: `${this.spec.name}.${extension}` });
      link.href = URL.createObjectURL(blob);
      link.click();
      link.remove();
    }

    svg() {
      this.save(new Blob([this.copy().text], { type: "image/svg+xml" }), "svg");
    }

    async png() {
      const { width, height, text } = this.copy();
      const image = new Image();
      image.src = `data:image/svg+xml,${encodeURIComponent(text)}`;
      await image.decode();
      const canvas = document.createElement("canvas");
      canvas.width = 2 * width;
      canvas.height = 2 * height;
      canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
      canvas.toBlob((blob) => this.save(blob, "png"));
    }

    csv() {
      const quote = (value) => `"${String(value).replaceAll('"', '""')}"`;
      const lines = ["series,x,value,low,high"];
      for (const series of this.spec.series) {
        this.each(series, (x, ...values) => {
          if (x !== null) lines.push([quote(series.name), x, ...values].join());
        });
      }
      this.save(new Blob([lines.join("\n") + "\n"], { type: "text/csv" }), "csv");
    }
  }

  // Shows or hides a series in all charts.
  const toggle = (name) => {
    if (!hidden.delete(name)) hidden.add(name);
    for (const button of all(".legend button")) {
      button.setAttribute("aria-pressed", !hidden.has(button.dataset.name));
    }
    for (const chart of charts) chart.draw();
  };

  const sortable = (table) => {
    const value = (row, column) => row.cells[column].title || row.cells[column].innerText;
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      if (!head.textContent) return;
      head.tabIndex = 0;
      const sort = () => {
        const up = head.getAttribute("aria-sort") !== "ascending";
        for (const cell of head.parentNode.cells) cell.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        const body = table.tBodies[0];
        const rows = [...body.rows].sort((a, b) => {
          const [p, q] = [value(a, column), value(b, column)];
          const order = parseFloat(p) - parseFloat(q);
          return (up ? 1 : -1) * (order || order === 0 ? order : p.localeCompare(q));
        });
        body.append(...rows);
      };
      on(head, "click", sort);
      on(head, "keydown", (event) => event.key === "Enter" && sort());
    });
  };

  const copyable = (box) => {
    const button = make("button", box, {}, "Copy");
    on(button, "click", async () => {
      const range = document.createRange();
      range.selectNodeContents(box.querySelector("code"));
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      await navigator.clipboard?.writeText(range.toString()).catch(() => {});
      button.textContent = "Copied";
    });
  };

  document.documentElement.classList.add("js");
  charts.push(...all("figure.chart").map((figure) => new Chart(figure)));
  all("table.sort").forEach(sortable);
  all(".command").forEach(copyable);
  // Folded parts are printed, too.
  on(window, "beforeprint", () => {
    for (const part of all("details")) part.open = true;
  });
})();
