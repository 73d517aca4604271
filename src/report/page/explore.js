// The page comes alive: choose a value, move what an adversary knows, look at the skyline and at the worst case.
// Texts of the release reach the page as text nodes only.

const SVG = "http://www.w3.org/2000/svg";
/** Rows of the table that are drawn at once. */
const ROWS = 60;
/** Columns and rows of the grid. */
const MOST_CELLS = 16;
/** A column of numbers with more values than this is shown by ranges. */
const MOST_NUMBERS = 40;
const RANGES = 12;
/** Columns of a label that are shown at once. */
const MOST_LABELS = 8;

/** An element with attributes and children; texts become text nodes. */
function element(name, attributes = {}, ...children) {
  const node = name.startsWith("svg:") ? document.createElementNS(SVG, name.slice(4)) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") node.addEventListener(key, value);
    else if (value !== null && value !== false) node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null));
  return node;
}

/** Text from the release, which may run from right to left. */
const isolated = (text) => element("bdi", {}, text);
const grouped = (number) => String(number).replace(/\B(?=(\d{3})+$)/g, ",");
const people = (number) => `${grouped(number)} ${number === 1 ? "person" : "people"}`;
const percent = (value, places) => `${decimal({ above: value.above * 100n, below: value.below }, places, "up")} %`;
const asText = ({ above, below }) => (below === 1n ? `${above}` : `${above}/${below}`);

/** The numbers up to `most`, all of them or ever wider steps. */
function thinned(most) {
  if (most < MOST_CELLS) return Array.from({ length: most + 1 }, (_, i) => i);
  const at = (i) => Math.round((most + 1) ** (i / (MOST_CELLS - 1)) - 1);
  return [...new Set(Array.from({ length: MOST_CELLS }, (_, i) => at(i)))];
}

class Explorer {
  constructor(root, data) {
    this.root = root;
    this.data = data;
    this.limits = data.points.map(([, , , confidence]) => parseConfidence(confidence));
    this.targets = new Map();
    this.shown = ROWS;
    this.order = { key: "margin", down: false };
    this.query = "";
    this.range = null;
    this.rows = data.values.map(([name, occurrences, , , points], index) => this.row(index, data.names[name], occurrences, points));
    this.isNumeric = this.rows.length > MOST_NUMBERS && this.rows.every(({ name }) => name.trim() !== "" && isFinite(name));
    this.part = (name) => root.querySelector(`[data-part="${name}"]`);
    this.buildTable();
    this.buildControls();
    root.classList.add("alive");
    this.choose(this.sorted()[0] ?? this.rows[0]);
  }

  /** A value with the point at which it is closest to its limit. */
  row(index, name, occurrences, points) {
    const row = { index, name, occurrences, points, risk: 0, limit: 1, margin: 1, tightest: points[0] ?? 0 };
    if (occurrences === 0) return row;
    let least = Infinity;
    for (const point of points) {
      const [l, k, m] = this.data.points[point];
      const [risk, limit] = [this.about(index, l, k, m), toNumber(this.limits[point])];
      if (limit - risk < least) {
        least = limit - risk;
        Object.assign(row, { risk, limit, margin: least, tightest: point });
      }
    }
    return row;
  }

  target(index) {
    if (!this.targets.has(index)) {
      const { kind, names, groups, values } = this.data;
      const [name, , certainFrom, own] = values[index];
      const group = (at) => {
        const [number, people, label, counts] = groups[at];
        const pairs = [];
        for (let i = 0; i < counts.length; i += 2) pairs.push([names[counts[i]], counts[i + 1]]);
        return { number, people, label, counts: pairs };
      };
      this.targets.set(index, new Target(kind, names[name], own.map(group), certainFrom));
    }
    return this.targets.get(index);
  }

  about(index, l, k, m) {
    if (l > this.data.mostRuledOut) return 1;
    const many = this.targets.size > 2000;
    const breach = this.target(index).about(l, k, m);
    if (many) this.targets.clear();
    return breach;
  }

  // The table of values.

  buildTable() {
    const search = this.part("search");
    search.addEventListener("input", () => {
      this.query = search.value.trim().toLowerCase();
      this.range = null;
      this.shown = ROWS;
      this.drawTable();
    });
    for (const head of this.root.querySelectorAll("th[data-sort]")) {
      const sort = () => {
        const key = head.dataset.sort;
        this.order = { key, down: this.order.key === key ? !this.order.down : key === "risk" };
        this.drawTable();
      };
      head.replaceChildren(element("button", { type: "button", click: sort }, head.textContent));
    }
  }

  sorted() {
    const { key, down } = this.order;
    const compare = {
      name: (a, b) => (this.isNumeric ? a.name - b.name : a.name.localeCompare(b.name)),
      risk: (a, b) => a.risk - b.risk,
      margin: (a, b) => a.margin - b.margin,
    }[key];
    let found = this.rows.filter(({ name }) => name.toLowerCase().includes(this.query));
    if (this.range) found = found.filter((row) => this.range.rows.includes(row));
    return found.sort((a, b) => (down ? compare(b, a) : compare(a, b)) || a.index - b.index);
  }

  /** Neighbouring numbers together, each range with its tightest value. */
  ranges() {
    const rows = [...this.rows].sort((a, b) => a.name - b.name);
    const size = Math.ceil(rows.length / RANGES);
    const parts = [];
    for (let i = 0; i < rows.length; i += size) parts.push(rows.slice(i, i + size));
    return parts.map((rows) => {
      const tightest = rows.reduce((a, b) => (b.margin < a.margin ? b : a));
      return { ...tightest, rows, shownName: `${rows[0].name} to ${rows[rows.length - 1].name}` };
    });
  }

  drawTable() {
    const byRange = this.isNumeric && this.query === "" && !this.range && this.order.key !== "risk";
    const found = byRange ? this.ranges() : this.sorted();
    const body = found.slice(0, this.shown).map((row) => this.tableRow(row));
    this.root.querySelector("tbody").replaceChildren(...body);
    for (const head of this.root.querySelectorAll("th[data-sort]")) {
      const own = head.dataset.sort === this.order.key;
      head.setAttribute("aria-sort", own ? (this.order.down ? "descending" : "ascending") : "none");
    }
    const more = this.part("more");
    const left = found.length - this.shown;
    more.replaceChildren();
    if (this.range) {
      const back = () => { this.range = null; this.drawTable(); };
      more.append(element("button", { type: "button", click: back }, "Back to all ranges"));
    } else if (left > 0) {
      const show = () => { this.shown += ROWS * 4; this.drawTable(); };
      more.append(element("button", { type: "button", click: show }, `Show more: ${grouped(left)} left`));
    } else if (found.length === 0) {
      more.append("No value with this text.");
    }
  }

  tableRow(row) {
    const limit = this.limits[row.tightest];
    const [l, k, m] = this.data.points[row.tightest];
    const known = row.occurrences > 0 && l <= this.data.mostRuledOut;
    const risk = !known ? null : this.worst(this.target(row.index), l, k, m).breach;
    const isUnsafe = risk !== null && !isLess(risk, limit);
    const places = risk === null ? 4 : decimals(risk, limit);
    const margin = risk === null || isUnsafe ? null : { above: limit.above * risk.below - risk.above * limit.below, below: limit.below * risk.below };
    const pick = () => {
      if (row.rows) { this.range = row; this.drawTable(); }
      this.choose(row);
    };
    return element("tr", { class: `${isUnsafe ? "bad" : ""} ${row.index === this.chosen?.index ? "chosen" : ""}`, click: pick },
      element("th", { scope: "row" }, element("button", { type: "button", class: "value" }, isolated(row.shownName ?? row.name)),
        row.rows ? element("span", { class: "soft" }, ` ${grouped(row.rows.length)} values`) : null),
      element("td", {}, risk === null ? "0" : decimal(risk, places, "up"), element("span", { class: "soft" }, ` of ${asText(limit)}`)),
      element("td", { class: "margin" }, risk === null ? "" : isUnsafe ? "none" : decimal(margin, places, "down")),
      element("td", { class: "spark" }, known ? this.sparkline(row) : ""));
  }

  /** The largest safe k for each l, at the m of the point; all rows share both axes. */
  sparkline(row) {
    const [l, k, m] = this.data.points[row.tightest];
    const target = this.target(row.index);
    const { most_l: mostL, most_k: mostK } = this.data.spark;
    const [width, height] = [112, 26];
    const x = (l) => (l / (mostL + 1)) * width;
    const y = (k) => height - 1 - (Math.log(k + 2) / Math.log(mostK + 2)) * (height - 4);
    let path = `M0 ${height}`;
    let most = Math.min(mostK, target.smallest);
    for (let l = 0; l <= mostL && most >= 0; l++) {
      most = target.largestK(l, m, most, this.limits[row.tightest]);
      path += `V${(most < 0 ? height : y(most)).toFixed(1)}H${x(l + 1).toFixed(1)}`;
    }
    const [cx, cy] = [x(l + 0.5).toFixed(1), y(Math.min(k, mostK)).toFixed(1)];
    return element("svg:svg", { class: "spark", viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" },
      element("svg:path", { class: "area", d: `${path}V${height}Z` }),
      element("svg:path", { class: "mark", d: `M${cx} ${cy - 4}l4 4l-4 4l-4 -4Z` }));
  }

  // The controls.

  buildControls() {
    for (const name of ["l", "k", "m"]) {
      const [slider, number] = [this.part(`${name}-slider`), this.part(`${name}-number`)];
      const take = (from) => () => {
        const value = Math.floor(Number(from.value));
        if (!Number.isFinite(value) || value < 0 || from.value === "") return;
        this.size[name] = Math.min(value, name === "l" ? this.data.mostRuledOut : 1e9);
        this.draw(from);
      };
      slider.addEventListener("input", take(slider));
      number.addEventListener("input", take(number));
    }
    const [slider, text] = [this.part("confidence-slider"), this.part("confidence-text")];
    slider.addEventListener("input", () => {
      this.confidence = reduced(fraction(Number(slider.value), 100));
      this.draw(slider);
    });
    text.addEventListener("input", () => {
      const confidence = parseConfidence(text.value);
      text.setCustomValidity(confidence ? "" : "A decimal or a fraction above 0 and at most 1");
      if (confidence) {
        this.confidence = confidence;
        this.draw(text);
      }
    });
    this.part("edge").addEventListener("click", () => {
      const target = this.target(this.chosen.index);
      const k = target.largestK(this.size.l, this.size.m, target.smallest, this.confidence);
      if (k >= 0) this.size.k = k;
      this.draw(null);
    });
    this.part("reset").addEventListener("click", () => this.choose(this.chosen));
    const points = this.part("points");
    this.data.points.forEach(([l, k, m, confidence], index) => {
      const jump = () => this.moveTo(index);
      points.append(element("button", { type: "button", click: jump, "data-point": index }, `l ${l}, k ${k}, m ${m}, below ${confidence}`));
    });
  }

  moveTo(point) {
    const [l, k, m] = this.data.points[point] ?? [0, 0, 0];
    this.size = { l: Math.min(l, this.data.mostRuledOut), k, m };
    this.confidence = this.limits[point] ?? ONE;
    this.draw(null);
  }

  choose(row) {
    this.chosen = row;
    this.part("chosen").replaceChildren(isolated(row.name));
    const own = new Set(row.points.map(String));
    for (const button of this.part("points").children) button.hidden = !own.has(button.dataset.point);
    this.moveTo(row.tightest);
    this.drawTable();
  }

  /** Shows the state everywhere but in the control that is being moved. */
  drawControls(moved) {
    const target = this.target(this.chosen.index);
    const ends = { l: Math.min(this.data.mostRuledOut, target.certainFrom ?? Infinity), k: target.smallest, m: target.smallest };
    for (const name of ["l", "k", "m"]) {
      const [slider, number] = [this.part(`${name}-slider`), this.part(`${name}-number`)];
      slider.max = Math.max(Number.isFinite(ends[name]) ? ends[name] : 20, 1);
      if (moved !== slider) slider.value = this.size[name];
      if (moved !== number) number.value = this.size[name];
    }
    const [slider, text] = [this.part("confidence-slider"), this.part("confidence-text")];
    if (moved !== slider) slider.value = Math.round(toNumber(this.confidence) * 100);
    if (moved !== text) text.value = asText(this.confidence);
  }

  worst(target, l, k, m) {
    if (target.certainFrom !== null && l >= target.certainFrom) return this.certain(target, l);
    return target.worst(l, k, m);
  }

  /** A group whose people all have the value, or one of those that are ruled out. */
  certain(target, l) {
    const shape = target.shapes.find((shape) => target.exactT(shape, l, 0).above === 0n) ?? null;
    return { breach: ONE, ratio: ZERO, seats: "together", target: shape, family: shape, isCertain: true };
  }

  draw(moved) {
    this.drawControls(moved);
    const target = this.chosen.occurrences > 0 ? this.target(this.chosen.index) : null;
    if (target === null) {
      this.part("readout").replaceChildren(element("p", {}, "Nobody in the release has this value."));
      this.part("grid").replaceChildren();
      this.part("story").replaceChildren();
      return;
    }
    const { l, k, m } = this.size;
    const worst = this.worst(target, l, k, m);
    this.drawReadout(target, worst);
    this.drawGrid(target);
    this.drawStory(target, worst);
  }

  // How sure, and what that means.

  drawReadout(target, { breach, bound }) {
    const isSafe = !bound ? isLess(breach, this.confidence) : false;
    const places = decimals(breach, this.confidence);
    const exact = asText(breach);
    const { l, k, m } = this.size;
    const most = target.largestK(l, m, target.smallest, this.confidence);
    const mostM = target.largestM(l, k, this.confidence);
    const room = isSafe
      ? `With these l and m, up to k = ${grouped(most)} stays below ${asText(this.confidence)}; with these l and k, up to m = ${grouped(mostM)}.`
      : most >= 0
        ? `With these l and m, at most k = ${grouped(most)} stays below ${asText(this.confidence)}.`
        : `With these l and m, no k stays below ${asText(this.confidence)}.`;
    const bar = element("svg:svg", { class: "meter", viewBox: "0 0 300 14", preserveAspectRatio: "none", "aria-hidden": "true" },
      element("svg:rect", { class: "track", width: 300, height: 14 }),
      element("svg:rect", { class: isSafe ? "fill" : "fill over", width: 300 * toNumber(breach), height: 14 }),
      element("svg:rect", { class: "limit", x: 300 * toNumber(this.confidence) - 1.5, width: 3, height: 14 }));
    this.part("readout").replaceChildren(
      element("p", { class: "sure" },
        element("output", { "data-part": "breach", "data-exact": exact }, (bound ? "at most " : "") + decimal(breach, places, "up")),
        element("span", { class: `verdict ${isSafe ? "safe" : "unsafe"}`, "data-part": "verdict" }, isSafe ? "safe" : "unsafe"),
        element("span", { class: "soft" }, exact.length <= 40 ? `exactly ${exact}, limit ${asText(this.confidence)}` : `limit ${asText(this.confidence)}`)),
      bar,
      element("p", { class: "soft" }, `Someone who rules out ${grouped(l)} ${l === 1 ? "value" : "values"}, knows the values of ${people(k)} and ${grouped(m)} of the family can become this sure that a person has `, isolated(this.chosen.name), ". ", room));
  }

  // The skyline: l upwards, m to the right, the largest safe k in each cell.

  drawGrid(target) {
    const { l: ownL, k: ownK, m: ownM } = this.size;
    const points = this.chosen.points.map((point) => this.data.points[point]);
    const endL = Math.min(this.data.mostRuledOut, target.certainFrom ?? Infinity);
    let [mostL, mostM] = [0, 0];
    while (mostL < endL && target.isSafe(mostL, 0, 0, this.confidence)) mostL++;
    mostL = Math.min(endL, Math.max(mostL, ownL, ...points.map(([l]) => l)));
    mostM = Math.max(target.largestM(0, 0, this.confidence) + 1, ownM, ...points.map(([, , m]) => m));
    const merge = (numbers, more) => [...new Set([...numbers, ...more])].sort((a, b) => a - b);
    const across = merge(thinned(mostM), [ownM, ...points.map(([, , m]) => m)]);
    const up = merge(thinned(mostL), [ownL, ...points.map(([l]) => l)].filter((l) => l <= endL));
    const rows = up.map((l) => {
      let most = target.smallest;
      return across.map((m) => (most = most < 0 ? -1 : target.largestK(l, m, most, this.confidence)));
    });
    const grid = { across, up, rows, own: { l: ownL, k: ownK, m: ownM }, points };
    this.part("grid").replaceChildren(this.gridOf(grid));
    this.part("caption").textContent =
      `Each cell: how many others (k) may be known besides, below ${asText(this.confidence)}. Hatched: unsafe, whatever k. ` +
      `Inside the line: safe at k = ${grouped(ownK)}. Diamonds: the policy.`;
  }

  gridOf({ across, up, rows, own, points }) {
    const [cell, high, left, bottom] = [52, 36, 44, 40];
    const [width, height] = [left + Math.max(cell * across.length, 160) + 8, Math.max(high * up.length, 108) + bottom + 8];
    const mostK = Math.max(0, ...rows.flat());
    const shade = (k) => (k < 0 ? "none" : `k${Math.min(5, Math.floor((Math.log(k + 1) / Math.log(mostK + 2)) * 6))}`);
    const x = (column) => left + cell * column;
    const y = (row) => height - bottom - 4 - high * (row + 1);
    const text = (x, y, content, attributes = {}) => element("svg:text", { x, y, "text-anchor": "middle", ...attributes }, content);
    const parts = [];
    rows.forEach((ks, row) => ks.forEach((k, column) => {
      const pick = () => { Object.assign(this.size, { l: up[row], m: across[column] }); this.draw(null); this.part("story").scrollIntoView({ block: "nearest" }); };
      const press = (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); pick(); } };
      const label = `l ${up[row]}, m ${across[column]}: ${k < 0 ? "unsafe" : `safe up to k ${k}`}`;
      parts.push(element("svg:g", { class: `cell ${shade(k)}`, tabindex: 0, role: "button", "aria-label": label, "data-cell": `${up[row]},${across[column]}`, click: pick, keydown: press },
        element("svg:rect", { x: x(column), y: y(row), width: cell, height: high }),
        element("svg:title", {}, label),
        text(x(column) + cell / 2, y(row) + high / 2 + 4, k < 0 ? "" : short(k))));
    }));
    // The region that is safe at the chosen k: each row reaches as far as its last safe column.
    const reach = rows.map((ks) => ks.filter((k) => k >= own.k).length);
    let outline = `M${x(0)} ${y(0) + high}`;
    if (reach[0] > 0) {
      outline += `H${x(reach[0])}`;
      reach.forEach((columns, row) => (outline += `V${y(row) + (columns > 0 ? 0 : high)}H${x(reach[row + 1] ?? 0)}`));
      parts.push(element("svg:path", { class: "outline", d: `${outline}Z` }));
    }
    for (const [l, k, m] of points) {
      const [column, row] = [across.indexOf(m), up.indexOf(l)];
      if (column < 0 || row < 0) continue;
      parts.push(element("svg:path", { class: "mark", d: `M${x(column) + 10} ${y(row) + 4}l6 6l-6 6l-6 -6Z` }, element("svg:title", {}, `policy: l ${l}, k ${k}, m ${m}`)));
    }
    parts.push(element("svg:rect", { class: "here", x: x(across.indexOf(own.m)) + 2, y: y(up.indexOf(own.l)) + 2, width: cell - 4, height: high - 4, rx: 3 }));
    across.forEach((m, column) => parts.push(text(x(column) + cell / 2, height - bottom + 12, short(m), { class: "tick" })));
    up.forEach((l, row) => parts.push(text(left - 8, y(row) + high / 2 + 4, String(l), { class: "tick", "text-anchor": "end" })));
    parts.push(text(left + (width - left - 8) / 2, height - 6, "m: members of the family", { class: "axis" }));
    parts.push(text(0, 0, "l: values ruled out", { class: "axis", transform: `translate(13 ${4 + (height - bottom - 8) / 2}) rotate(-90)` }));
    return element("svg:svg", { class: "grid", viewBox: `0 0 ${width} ${height}`, width, height, role: "group", "aria-label": "Knowledge skyline" }, ...parts);
  }

  // The worst case, step by step.

  drawStory(target, worst) {
    const { l, k, m } = this.size;
    const value = () => isolated(this.chosen.name);
    if (worst.bound || worst.target === null) {
      this.part("story").replaceChildren(element("p", { class: "soft" }, "The fractions of this case are too long for a page; skyveil explain shows it."));
      return;
    }
    const sureOf = target.steps(l, k, m, worst);
    const { others, relatives } = worst.isCertain ? { others: 0, relatives: 0 } : target.useful(l, k, m, worst);
    const ruled = target.top(worst.target, l);
    const list = (pairs) => pairs.flatMap(([name, count], i) => [i > 0 ? ", " : "", isolated(name), ` (${grouped(count)})`]);
    const answered = () => {
      const group = worst.seats === "with family" ? worst.family : worst.target;
      const out = new Set(worst.seats === "with family" ? [] : ruled.map(([name]) => name));
      let left = others;
      const found = [];
      for (const [name, count] of group.others) {
        if (out.has(name) || left === 0) continue;
        found.push([name, Math.min(left, count)]);
        left -= Math.min(left, count);
      }
      return found.flatMap(([name, count], i) => [i > 0 ? ", " : "", `${grouped(count)} with `, isolated(name)]);
    };
    const isSingle = target.kind === "single";
    const where = { together: "the same group", "with target": "the same group", "with family": "the family's group" }[worst.seats];
    const steps = [
      ["Find the group", ["The target is one of ", people(worst.target.people), ...this.label(worst.target.group), `; ${grouped(worst.target.target)} ${isSingle ? (worst.target.target === 1 ? "of them has " : "of them have ") : "times there is "}`, value(), "."]],
      ["Rule out values", ruled.length === 0 ? ["None."] : [...list(ruled), isSingle ? ": the target has none of these." : ": whoever of these the target has, they have ", ...(isSingle ? [] : [value(), " too."])]],
      ["Ask others", others === 0 ? ["Nobody."] : [`${people(others)} of ${where}: `, ...(isSingle ? answered() : ["they do not have ", value()]), "."]],
      ["Know the family", relatives === 0 ? ["Nobody."] : [`${people(relatives)} of ${worst.seats === "together" ? "the same group" : "another group"}`, ...(worst.seats === "together" ? [] : [" (", people(worst.family.people), ...this.label(worst.family.group), ")"]), ": if one of them has ", value(), ", the target has it too."]],
    ];
    const step = ([title, words], i) => element("li", {},
      element("span", { class: "step" }, title),
      element("span", { class: "sure" }, percent(sureOf[i], decimals(sureOf[i], this.confidence, 3) - 2)),
      element("svg:svg", { class: "meter", viewBox: "0 0 300 6", preserveAspectRatio: "none", "aria-hidden": "true" },
        element("svg:rect", { class: "track", width: 300, height: 6 }),
        element("svg:rect", { class: isLess(sureOf[i], this.confidence) ? "fill" : "fill over", width: 300 * toNumber(sureOf[i]), height: 6 })),
      element("p", {}, ...words.map((word) => word)));
    this.part("story").replaceChildren(element("ol", {}, ...steps.map(step)));
  }

  label(group) {
    const { columns, texts } = this.data;
    if (group.label.length === 0) return [` in group ${grouped(group.number)}`];
    let parts = group.label.map((text, i) => [columns[i], texts[text]]);
    let start = " with ";
    if (columns[0] === "group" && parts.length > 1) {
      start = ` in group ${parts[0][1]}: `;
      parts = parts.slice(1);
    }
    const shown = (parts) => parts.flatMap(([name, text], i) => [i > 0 ? ", " : "", isolated(name), " ", element("strong", {}, isolated(text))]);
    if (parts.length <= MOST_LABELS + 1) return [start, ...shown(parts)];
    const rest = element("details", { class: "labels" }, element("summary", {}, `${grouped(parts.length - MOST_LABELS)} more columns`), ...shown(parts.slice(MOST_LABELS)));
    return [start, ...shown(parts.slice(0, MOST_LABELS)), " and ", rest];
  }
}

/** A number in few characters. */
function short(number) {
  if (number < 10_000) return String(number);
  return number < 1_000_000 ? `${Math.floor(number / 1000)}k` : `${Math.floor(number / 1_000_000)}M`;
}

const release = document.getElementById("release-data");
if (release) {
  const columns = JSON.parse(release.textContent);
  document.querySelectorAll("[data-explorer]").forEach((root) => new Explorer(root, columns[Number(root.dataset.explorer)]));
}
