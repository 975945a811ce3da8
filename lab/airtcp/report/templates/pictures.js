// Zoom and tooltips for SVGs with too many marks for Plotly.
class Picture {
  constructor(svg) {
    this.svg = svg;
    this.whole = svg.getAttribute("viewBox").split(" ").map(Number);
    this.box = [...this.whole];
  }

  show() {
    const [x, y, width, height] = this.box;
    const numbers = [x, y, width, height].map((number) => number.toFixed(2));
    this.svg.setAttribute("viewBox", numbers.join(" "));
  }

  // Keep the view within the whole picture.
  set(x, y, width, height) {
    const [left, top, most, highest] = this.whole;
    const w = Math.min(most, Math.max(most / 200, width));
    const h = (w / most) * highest;
    this.box = [
      Math.min(left + most - w, Math.max(left, x)), Math.min(top + highest - h, Math.max(top, y)), w, h,
    ];
    this.show();
  }

  zoom(factor, clientX, clientY) {
    const on = this.svg.getBoundingClientRect();
    const share = clientX === undefined ? [0.5, 0.5]
      : [(clientX - on.left) / on.width, (clientY - on.top) / on.height];
    const [x, y, width, height] = this.box;
    this.set(
      x + share[0] * width * (1 - factor), y + share[1] * height * (1 - factor), width * factor,
      height * factor,
    );
  }

  move(x, y) {
    const [left, top, width, height] = this.box;
    this.set(left + x * width, top - y * height, width, height);
  }

  reset() {
    this.set(...this.whole);
  }
}

function dragged(svg, picture) {
  let last = null;
  svg.addEventListener("pointerdown", (event) => {
    if (event.pointerType === "mouse" && event.button === 0) last = event;
  });
  addEventListener("pointermove", (event) => {
    if (!last) return;
    const on = svg.getBoundingClientRect();
    picture.move((last.clientX - event.clientX) / on.width, (event.clientY - last.clientY) / on.height);
    last = event;
  });
  addEventListener("pointerup", () => { last = null; });
}

// Shows tooltips without delay, and on touch screens.
function showTips(svg) {
  const tip = made("div", { class: "tip", hidden: "" });
  document.body.append(tip);
  for (const title of svg.querySelectorAll("rect > title")) {
    title.parentElement.dataset.tip = title.textContent;
    title.remove(); // the browser would show it, too
  }
  const show = (event) => {
    // Lines between MPDUs cover their box.
    const under = document.elementsFromPoint(event.clientX, event.clientY);
    const text = under.map((element) => element.closest("[data-tip]")).find(Boolean)?.dataset.tip;
    tip.hidden = !text;
    if (!text) return;
    tip.textContent = text;
    const { width, height } = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(4, Math.min(innerWidth - width - 4, event.clientX + 12))}px`;
    tip.style.top = `${event.clientY + height + 24 > innerHeight ? event.clientY - height - 12 : event.clientY + 16}px`;
  };
  svg.addEventListener("pointermove", show);
  svg.addEventListener("pointerdown", show);
  svg.addEventListener("pointerleave", () => { tip.hidden = true; });
}

for (const frame of document.querySelectorAll(".picture")) {
  const svg = frame.querySelector("svg");
  const picture = new Picture(svg);
  const title = frame.parentElement.querySelector("h2, h3, h4").textContent;
  frame.before(made("div", { class: "tools" }, zoomButtons(title, picture)));
  listen(frame, picture);
  dragged(svg, picture);
  showTips(svg);
}
