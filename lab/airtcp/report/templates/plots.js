// Replaces SVGs by Plotly's plots when they come near the screen, in the colours of the page. The
// page has its own legends and buttons because Plotly's cannot be used with the keyboard.
const plotly = (() => {
  let loading;
  return () => (loading ??= new Promise((done, failed) => {
    const script = document.createElement("script");
    const inside = document.getElementById("plotly"); // of a page in a single file
    if (inside) {
      script.textContent = inside.textContent;
      document.head.append(script);
      done();
      return;
    }
    script.src = "figures/plotly.min.js";
    script.onload = done;
    script.onerror = failed;
    document.head.append(script);
  }));
})();

// An element with attributes.
function made(tag, attributes = {}, ...inside) {
  const svg = ["svg", "path", "rect", "line"].includes(tag);
  const element = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag)
    : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...inside);
  return element;
}

// Zoom buttons, for people without a wheel or a touch screen. view has zoom(factor), move(x, y) and
// reset().
function zoomButtons(title, view) {
  const zoom = made("div", { class: "zoom", role: "group", "aria-label": `Zoom of ${title}` });
  const buttons = [
    ["+", "Zoom in", () => view.zoom(0.6)],
    ["−", "Zoom out", () => view.zoom(1 / 0.6)],
    ["Reset", "Show all", () => view.reset()],
  ];
  for (const [text, name, act] of buttons) {
    const button = made("button", { type: "button", title: name }, text);
    if (text.length === 1) button.setAttribute("aria-label", name);
    button.addEventListener("click", act);
    zoom.append(button);
  }
  return zoom;
}

// Handles keys, wheel and two fingers on an element. view: as above; its zoom() also takes a point.
function listen(element, view) {
  const keys = {
    "+": () => view.zoom(0.6), "=": () => view.zoom(0.6), "-": () => view.zoom(1 / 0.6),
    0: () => view.reset(), ArrowLeft: () => view.move(-0.15, 0), ArrowRight: () => view.move(0.15, 0),
    ArrowUp: () => view.move(0, 0.15), ArrowDown: () => view.move(0, -0.15),
  };
  element.addEventListener("keydown", (event) => {
    if (event.target !== element || event.ctrlKey || event.metaKey || event.altKey) return;
    if (!keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  });
  element.addEventListener("pointerdown", () => element.focus({ preventScroll: true }), true);
  // The wheel scrolls the page unless the plot has the focus or Ctrl is pressed; a pinch on a
  // touchpad sets ctrlKey.
  element.addEventListener("wheel", (event) => {
    event.stopPropagation();
    if (!event.ctrlKey && document.activeElement !== element) return;
    event.preventDefault();
    view.zoom(Math.exp(Math.max(-60, Math.min(60, event.deltaY)) / 240), event.clientX, event.clientY);
  }, { capture: true, passive: false });
  let last = null;
  const pinch = ({ touches: [first, second] }) => ({
    x: (first.clientX + second.clientX) / 2, y: (first.clientY + second.clientY) / 2,
    apart: Math.hypot(first.clientX - second.clientX, first.clientY - second.clientY),
  });
  const touched = (event) => {
    if (event.touches.length !== 2) { last = null; return; }
    event.preventDefault();
    event.stopPropagation();
    const now = pinch(event);
    if (last && event.type === "touchmove") {
      const box = element.getBoundingClientRect();
      view.zoom(last.apart / Math.max(now.apart, 1), now.x, now.y);
      view.move((last.x - now.x) / box.width, (now.y - last.y) / box.height);
    }
    last = now;
  };
  for (const kind of ["touchstart", "touchmove", "touchend"]) {
    element.addEventListener(kind, touched, { capture: true, passive: false });
  }
}

const colour = (role) => getComputedStyle(document.documentElement).getPropertyValue(`--${role}`).trim();

// A copy of a value with the page's colours instead of those of print.
function coloured(value) {
  if (typeof value === "string") return roles[value] ? colour(roles[value]) : value;
  if (Array.isArray(value)) {
    return typeof value[0] === "object" && value[0] ? value.map(coloured) : value;
  }
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, coloured(inner)]));
}

class Plot {
  static PANEL_PX = 210; // smallest readable width of a panel
  static LINE_PX = 16; // of a label

  constructor(figure, given) {
    this.figure = figure;
    this.given = given;
    this.title = figure.querySelector("h2, h3, h4").textContent;
    this.hidden = new Set();
    this.inner = made("div", { "aria-hidden": "true" });
    const svg = figure.querySelector(".still > svg");
    this.live = made("div", {
      class: "live", tabindex: "0", role: "group", "aria-roledescription": "plot",
      "aria-label": this.title, "aria-describedby": svg.querySelector("desc").id,
    }, this.inner);
    this.tools = made("div", { class: "tools" });
    if (given.layout.meta.legend.length) this.tools.append(this.legend());
    this.tools.append(zoomButtons(this.title, this));
  }

  async show() {
    const still = this.figure.querySelector(".still");
    still.before(this.tools, this.live);
    still.style.display = "none";
    this.width = this.live.clientWidth;
    await this.draw();
    listen(this.live, this);
    addEventListener("theme", () => this.draw());
    new ResizeObserver(() => {
      if (!this.live.clientWidth || this.live.clientWidth === this.width) return;
      this.width = this.live.clientWidth;
      this.draw();
    }).observe(this.live);
  }

  draw() {
    // Touch scrolls the page with one finger.
    const config = { displayModeBar: false, doubleClick: "reset", showTips: false, scrollZoom: false };
    return Plotly.react(this.inner, this.data(), this.layout(), config);
  }

  data() {
    return this.given.data.map((trace) => ({
      ...coloured(trace),
      visible: !trace.meta.entries.some((name) => this.hidden.has(name)),
    }));
  }

  legend() {
    const legend = made("div", { class: "legend", role: "group", "aria-label": `Legend of ${this.title}` });
    for (const entry of this.given.layout.meta.legend) {
      const button = made("button", { type: "button", "aria-pressed": "true" }, swatch(entry), entry.name);
      button.addEventListener("click", () => {
        if (!this.hidden.delete(entry.name)) this.hidden.add(entry.name);
        button.setAttribute("aria-pressed", String(!this.hidden.has(entry.name)));
        const visible = this.data().map((trace) => trace.visible);
        Plotly.restyle(this.inner, { visible });
      });
      legend.append(button);
    }
    return legend;
  }

  // The panels in as many columns as fit.
  arranged() {
    const { rows, columns, subplots } = this.given.layout.grid;
    const fit = Math.max(1, Math.floor(this.width / Plot.PANEL_PX));
    const panels = subplots.flat().filter(Boolean);
    if (columns <= fit || panels.length === 1) return { columns, subplots, rows };
    const inRows = [];
    for (let at = 0; at < panels.length; at += fit) inRows.push(panels.slice(at, at + fit));
    while (inRows.at(-1).length < fit) inRows.at(-1).push("");
    return { columns: fit, rows: inRows.length, subplots: inRows };
  }

  axes(letter) {
    return Object.keys(this.given.layout).filter((key) => key.startsWith(`${letter}axis`));
  }

  layout() {
    const grid = this.arranged();
    const layout = coloured(this.given.layout);
    const panelled = layout.annotations?.length > 0;
    const narrow = this.width < 480;
    const rowPx = Math.max(
      panelled ? 200 : 130, (layout.height - 60) / this.given.layout.grid.rows,
      narrow ? this.labelsPx() : 0,
    );
    layout.height = Math.round(rowPx * grid.rows + (panelled ? 70 : 60));
    const gapPx = panelled ? 34 : 16;
    layout.grid = { ...grid, xgap: 0.06, ygap: Math.min(0.4, gapPx / rowPx), pattern: "coupled" };
    layout.width = this.width;
    layout.margin = { l: 8, r: this.beyond(narrow ? 10 : 16), t: panelled ? 24 : 8, b: 8, pad: 2 };
    layout.uirevision = "kept"; // keep the zoom
    layout.paper_bgcolor = layout.plot_bgcolor = "rgba(0,0,0,0)";
    layout.dragmode = matchMedia("(pointer: coarse)").matches ? false : "zoom";
    layout.font = { family: colour("sans"), size: 12, color: colour("ink") };
    layout.hoverlabel = {
      bgcolor: colour("paper"), bordercolor: colour("faint"), align: "left",
      font: { family: colour("sans"), size: 12.5, color: colour("ink") },
    };
    layout.hoverdistance = 30;
    for (const note of layout.annotations ?? []) note.font = { size: 12.5, color: colour("ink") };
    for (const [row, panels] of grid.subplots.entries()) {
      for (const [column, panel] of panels.entries()) {
        if (!panel) continue;
        const [, x, y] = panel.match(/^x(\d*)y(\d*)$/);
        const below = grid.subplots[row + 1]?.[column];
        this.dress(layout, `xaxis${x}`, !below || !this.shared("x"), narrow);
        this.dress(layout, `yaxis${y}`, column === 0 || !this.shared("y"), narrow);
      }
    }
    return layout;
  }

  // Room for labels that extend to the right of their panel.
  beyond(px) {
    const within = this.width * 0.7;
    const needed = this.given.data.map((trace) => {
      if (trace.mode !== "text" || !trace.textposition.endsWith("right")) return 0;
      const [low, high] = this.given.layout[trace.xaxis.replace("x", "xaxis")].range;
      const at = (trace.x[0] - low) / (high - low);
      return at * within + trace.text[0].length * 7 - within;
    });
    return Math.max(px, ...needed);
  }

  shared(letter) {
    return this.axes(letter).some((key) => this.given.layout[key].matches);
  }

  // The height of a panel in which wrapped labels of rows do not overlap.
  labelsPx() {
    return Math.max(0, ...this.axes("y").map((key) => {
      const { tickvals, ticktext, range } = this.given.layout[key];
      if (!ticktext) return 0;
      const labels = ticktext.map((text, index) => [tickvals[index], wrapped(text).split("<br>").length]);
      const along = [[range[0], 0], ...labels, [range[1], 0]].sort((one, other) => one[0] - other[0]);
      const px = along.slice(1).map(([at, lines], index) => (
        (along[index][1] + lines) * Plot.LINE_PX / 2 / (at - along[index][0])));
      return Math.max(...px) * Math.abs(range[1] - range[0]);
    }));
  }

  // In a grid of panels, label shared axes once.
  dress(layout, key, outer, narrow) {
    const axis = layout[key];
    Object.assign(axis, {
      gridcolor: colour("grid"), linecolor: colour("faint"), tickcolor: colour("faint"),
      showline: !axis.tickvals, ticks: axis.tickvals ? "" : "outside", ticklen: 4,
      showticklabels: outer, nticks: 7,
    });
    axis.title = { ...axis.title, text: outer ? axis.title.text : "", standoff: 6, font: { size: 12.5 } };
    if (axis.ticktext && narrow) axis.ticktext = axis.ticktext.map((text) => wrapped(text));
  }

  // Set the range of each axis to turn(low, high, axis).
  change(turn) {
    const update = {};
    for (const key of [...this.axes("x"), ...this.axes("y")]) {
      if (this.given.layout[key].fixedrange) continue;
      const range = turn(...this.inner._fullLayout[key].range, key);
      if (range) update[`${key}.range`] = range;
    }
    return Plotly.relayout(this.inner, update);
  }

  // Zoom around a point on the screen; axes that are not shared change only in the panel there.
  zoom(factor, clientX, clientY) {
    const box = this.inner.getBoundingClientRect();
    const at = { x: clientX - box.left, y: clientY - box.top };
    const full = this.inner._fullLayout;
    return this.change((low, high, key) => {
      const axis = full[key];
      let share = 0.5;
      if (clientX !== undefined) {
        share = (at[key[0]] - axis._offset) / axis._length;
        if (key[0] === "y") share = 1 - share;
        if (this.shared(key[0])) share = this.shareOfPanel(key[0], at) ?? 0.5;
        else if (share < 0 || share > 1) return null;
      }
      const middle = low + share * (high - low);
      return [middle - (middle - low) * factor, middle + (high - middle) * factor];
    });
  }

  // Position of a point along an axis, as a share of its panel.
  shareOfPanel(letter, at) {
    for (const key of this.axes(letter)) {
      const axis = this.inner._fullLayout[key];
      const share = (at[letter] - axis._offset) / axis._length;
      if (share >= 0 && share <= 1) return letter === "x" ? share : 1 - share;
    }
    return null;
  }

  move(x, y) {
    const by = { x, y };
    return this.change((low, high, key) => {
      const step = (high - low) * by[key[0]];
      return [low + step, high + step];
    });
  }

  reset() {
    return this.change((low, high, key) => this.given.layout[key].range);
  }
}

// Wrap a label for a narrow figure; a factor that fits into a line stays together with its value.
function wrapped(label, letters = 15) {
  const parts = label.replaceAll("<br>", " ").split(", ")
    .map((part) => (part.length < letters ? part.replaceAll(" ", "\u00a0") : part));
  const lines = [""];
  for (const word of parts.join(", ").split(" ")) {
    if (lines.at(-1) && lines.at(-1).length + word.length >= letters) lines.push("");
    lines.push(`${lines.pop()} ${word}`.trim());
  }
  return lines.join("<br>");
}

// The symbol of a legend entry; its colours follow the theme.
function swatch({ kind, color, dash, path, hollow }) {
  const paint = roles[color] ? `var(--${roles[color]})` : color;
  const svg = made("svg", { viewBox: "-12 -7 24 14", "aria-hidden": "true" });
  if (kind === "patch") {
    svg.append(made("rect", { x: -8, y: -5, width: 16, height: 10, rx: 2, fill: paint }));
  }
  if (dash) {
    const dashes = {
      solid: "none", dash: "5 3", dot: "2 2", dashdot: "5 2 1.5 2",
      longdash: "9 3", longdashdot: "7 2 1.5 2 1.5 2",
    }[dash];
    svg.append(made("line", {
      x1: -12, x2: 12, stroke: paint, "stroke-width": 2, "stroke-dasharray": dashes,
    }));
  }
  if (path) {
    svg.append(made("path", {
      d: path, transform: "scale(8)", fill: hollow ? "none" : paint, stroke: paint,
      "stroke-width": hollow ? 1.5 : 0, "vector-effect": "non-scaling-stroke",
    }));
  }
  return svg;
}

const near = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) {
    if (!isIntersecting) continue;
    near.unobserve(target);
    const given = JSON.parse(target.querySelector('script[type="application/json"]').textContent);
    // If Plotly cannot be loaded, the SVG stays.
    plotly().then(() => new Plot(target, given).show(), () => {});
  }
}, { rootMargin: "300px" });
for (const data of document.querySelectorAll('.plot > script[type="application/json"]')) {
  near.observe(data.parentElement);
}
