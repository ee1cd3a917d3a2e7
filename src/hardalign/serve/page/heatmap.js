// An alignment as a heat map: a real table, navigable with the arrow keys.

import { make, percent } from "./dom.js";

const BEGIN = "⊢";
const END = "⊣";
const KINDS = {
  posterior: "Alignment: posterior p(aᵢ = j | x, y)",
  attention: "Alignment: attention weights",
  path: "Alignment: the path of a pointer",
};
const WIDE = 17; // columns that fit beside the candidates
let maps = 0;
const MOVES = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
};

/** Line up the columns of several panels' maps: same widths, same positions. */
export function lineUp(panels, predictions) {
  const labels = predictions.flatMap(({ alignment }) => alignment.target).map((text) => [...text].length);
  const columns = predictions.map(({ alignment: { tags, source } }) => tags.length + source.length + 2);
  panels.style.setProperty("--label", Math.max(1, ...labels));
  panels.style.setProperty("--columns", Math.max(1, ...columns));
  panels.classList.toggle("wide", Math.max(...columns) > WIDE);
}

/** A scroll container that indicates hidden content and scrolls the other maps along. */
function scroller(table) {
  const place = make("div", { className: "scroll" }, table);
  const mark = () => {
    const hidden = place.scrollWidth - place.clientWidth - place.scrollLeft;
    place.classList.toggle("more", hidden > 4);
    place.classList.toggle("scrolled", place.scrollLeft > 4);
  };
  place.addEventListener("scroll", () => {
    mark();
    for (const other of document.querySelectorAll("figure .scroll")) {
      if (other.scrollLeft !== place.scrollLeft) other.scrollLeft = place.scrollLeft;
    }
  });
  new ResizeObserver(mark).observe(place);
  return place;
}

/** Draw an alignment; a line below shows the weight of the hovered or focused cell. */
export function heatmap(alignment) {
  const columns = [
    { text: BEGIN, name: "the beginning", frame: true },
    ...alignment.tags.map((text) => ({ text, name: `tag ${text}`, tag: true })),
    ...alignment.source.map((text, j) => ({ text, name: text, index: j + 1 })),
    { text: END, name: "the end", frame: true },
  ];
  const rows = [
    ...alignment.target.map((text, i) => ({ text, name: text, index: i + 1 })),
    { text: END, name: "the end", frame: true },
  ];
  const { begin, tag_weights: tags, weights: source, end, stop } = alignment;
  const weights = [
    ...source.map((row, i) => [begin[i], ...tags[i], ...row, end[i]]),
    [stop.begin, ...stop.tags, ...stop.source, stop.end],
  ];
  const readout = make("p", { className: "readout", "aria-hidden": "true" });
  maps += 1;
  const title = make("figcaption", { id: `map-${maps}` }, KINDS[alignment.kind]);
  const table = draw(rows, columns, weights);
  table.setAttribute("aria-labelledby", title.id);
  const cells = [...table.tBodies[0].rows].map((row) => [...row.cells].slice(1));
  let current = first(weights);

  function show([i, j]) {
    cells[current[0]][current[1]].tabIndex = -1;
    current = [i, j];
    cells[i][j].tabIndex = 0;
    for (const header of table.querySelectorAll("th")) {
      const here = header === heading(table, j) || header === cells[i][j].parentElement.cells[0];
      header.classList.toggle("here", here);
    }
    readout.replaceChildren(...sentence(rows[i], columns[j], weights[i][j], alignment.kind));
  }

  for (const [event, lasting] of [["pointerover", false], ["focusin", true]]) {
    table.addEventListener(event, ({ target }) => {
      const cell = target.closest("td");
      if (!cell) return;
      // Hovering takes the focus away from a cell, so that only one is marked.
      if (!lasting && table.contains(document.activeElement)) document.activeElement.blur();
      show([cell.parentElement.sectionRowIndex, cell.cellIndex - 1]);
    });
  }
  table.addEventListener("keydown", (event) => {
    const [i, j] = current;
    const last = columns.length - 1;
    const ends = { Home: [i, 0], End: [i, last] };
    const [down, right] = MOVES[event.key] ?? [];
    const next = event.key in MOVES ? [i + down, j + right] : ends[event.key];
    if (!next || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    cells[next[0]]?.[next[1]]?.focus();
  });
  show(current);
  return make("figure", {}, title, scroller(table), readout);
}

function draw(rows, columns, weights) {
  const corner = make("th", { scope: "col" }, make("span", { className: "unseen" }, "Symbol"));
  const head = make("tr", {}, corner, ...columns.map((column) => header(column, "col")));
  const body = rows.map((row, i) =>
    make("tr", {}, header(row, "row"), ...columns.map((column, j) => {
      const cell = make("td", {
        role: "gridcell",
        tabIndex: -1,
        "aria-label": `${row.name} from ${column.name}: ${percent(weights[i][j])}`,
      });
      cell.style.setProperty("--weight", weights[i][j]);
      return cell;
    })),
  );
  return make("table", { role: "grid", "aria-readonly": "true" },
    make("thead", {}, head), make("tbody", {}, ...body));
}

function header({ text, name, frame, tag }, scope) {
  const className = frame || tag ? "frame" : "";
  const label = text.trim() === "" ? "␣" : text;
  return make("th", { scope, className, "aria-label": name, title: tag ? text : "" }, label);
}

function heading(table, j) {
  return table.tHead.rows[0].cells[j + 1];
}

/** The initial cell: the largest weight of the first row. */
function first(weights) {
  return [0, weights[0].indexOf(Math.max(...weights[0]))];
}

function sentence(row, column, weight, kind) {
  const value = make("strong", {}, weight.toFixed(3));
  const pair = make("span", { className: "pair" }, `${row.text} ← ${column.text}`);
  const formula = kind === "posterior" && row.index && column.index
    ? [make("i", {}, "p"), "(", make("i", {}, "a"), make("sub", {}, row.index), ` = ${column.index}) = `]
    : ["weight "];
  return [pair, " ", ...formula, value];
}
