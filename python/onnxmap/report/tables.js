"use strict";
// The tables of tensors and nodes: they sort, filter, and lead to each other.
const STEP = 200; // rows that are drawn at once
const order = new Intl.Collator("en", {numeric: true});

function sizeInWords(nbytes) {
  const units = ["B", "kB", "MB", "GB", "TB", "PB", "EB"];
  let unit = 0;
  for (; nbytes >= 999.95 && unit < units.length - 1; unit++) nbytes /= 1000;
  return (unit ? nbytes.toFixed(1) : nbytes) + " " + units[unit];
}

// A long name breaks between its parts.
function broken(text) {
  return String(text).split(/(?<=.[./_])/).flatMap((part, i) => i ? [document.createElement("wbr"), part] : [part]);
}

function link(text, act) {
  const made = document.createElement("a");
  made.href = "#";
  made.append(...broken(text));
  made.addEventListener("click", event => { event.preventDefault(); act(); });
  return made;
}

// `cells` makes what a cell shows of a value, for the columns where it is more than the text.
class Table {
  constructor(id, cells) {
    this.section = document.getElementById(id);
    this.rows = JSON.parse(document.getElementById(id + "-rows").textContent);
    this.cells = cells;
    this.body = this.section.querySelector("tbody");
    this.filter = this.section.querySelector("input");
    this.count = this.section.querySelector(".count");
    this.more = this.section.querySelector(".more");
    this.heads = [...this.section.querySelectorAll("th")];
    this.labels = this.heads.map(head => head.textContent);
    this.by = -1;
    this.sign = 1;
    this.only = null; // the rows that a link leads to
    this.texts = new Map();
    this.heads.forEach((head, i) => head.addEventListener("click", () => this.sort(i)));
    this.filter.addEventListener("input", () => { this.only = null; this.choose(); });
    this.more.addEventListener("click", () => { this.shown += 5 * STEP; this.draw(); });
  }

  isNumber(i) { return this.heads[i].classList.contains("number"); }

  sort(i) {
    this.sign = this.by === i ? -this.sign : this.isNumber(i) ? -1 : 1;
    this.by = i;
    this.heads.forEach(each => each.removeAttribute("aria-sort"));
    this.heads[i].setAttribute("aria-sort", this.sign > 0 ? "ascending" : "descending");
    this.choose();
  }

  // Numbers are left out: a filter for "12" is for names and shapes.
  textOf(row) {
    if (!this.texts.has(row)) {
      const words = row.filter((value, i) => !this.isNumber(i)).flat();
      this.texts.set(row, words.join("\n").toLowerCase());
    }
    return this.texts.get(row);
  }

  choose() {
    const words = this.filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = this.only ?? this.rows.filter(row => words.every(word => this.textOf(row).includes(word)));
    const {by, sign} = this;
    this.found = [...found];
    if (by >= 0 && this.isNumber(by)) this.found.sort((a, b) => sign * (a[by] - b[by]));
    else if (by >= 0) this.found.sort((a, b) => sign * order.compare(String(a[by]), String(b[by])));
    this.shown = STEP;
    this.draw();
  }

  draw() {
    this.body.replaceChildren(...this.found.slice(0, this.shown).map(row => this.lineOf(row)));
    this.count.textContent = this.found.length.toLocaleString("en") + " of " + this.rows.length.toLocaleString("en");
    this.more.hidden = this.found.length <= this.shown;
  }

  lineOf(row) {
    const line = document.createElement("tr");
    row.forEach((value, i) => {
      const cell = line.insertCell();
      cell.append(...(this.cells[i] ? this.cells[i](value, row) : broken(value)));
      cell.dataset.label = this.labels[i];
      if (this.isNumber(i)) cell.className = "number";
    });
    return line;
  }

  show(rows, name) {
    this.only = rows;
    this.filter.value = name;
    this.choose();
    this.section.scrollIntoView();
    this.section.focus({preventScroll: true});
  }
}

const NAME = 0, SIZE = 3, WHERE = 4, USES = 5; // of a tensor
const INPUTS = 2, OUTPUTS = 3, ATTRIBUTES = 4, PATH = 5; // of a node
const tensors = new Table("tensors", {
  [SIZE]: nbytes => [sizeInWords(nbytes)],
  [USES]: (count, row) => count ? [link(count, () => nodes.show(nodesOf.get(row), row[NAME]))] : [],
});
const nodes = new Table("nodes", {[INPUTS]: values, [OUTPUTS]: values, [ATTRIBUTES]: attributes});

// By names: the tensors, and the nodes with a value. By rows of tensors: the nodes that use them.
const tensorsOf = new Map(), nodesWith = new Map(), nodesOf = new Map(), tensorsIn = new Map();

function add(map, key, value) {
  if (!map.has(key)) map.set(key, new Set());
  map.get(key).add(value);
}

// A function has names of its own.
function scoped(name, row) { return row[PATH].startsWith("graph.") ? name : row[PATH].split(".node[")[0] + " " + name; }

for (const row of tensors.rows) {
  const path = row[WHERE] === "inline" ? row[NAME] : row[WHERE];
  const end = path.lastIndexOf(".attribute["); // of the path of the node that holds the tensor
  if (end > 0) add(tensorsIn, path.slice(0, end), row);
  else add(tensorsOf, row[NAME], row);
}
for (const row of nodes.rows) {
  for (const name of [...row[INPUTS], ...row[OUTPUTS]]) add(nodesWith, scoped(name, row), row);
  for (const name of row[INPUTS]) for (const tensor of tensorsOf.get(scoped(name, row)) ?? []) add(nodesOf, tensor, row);
  for (const tensor of tensorsIn.get(row[PATH]) ?? []) add(nodesOf, tensor, row);
}
for (const row of tensors.rows) row.push(nodesOf.get(row)?.size ?? 0);

// Each name leads to its tensor, or else to the nodes that make or use the value.
function values(names, row) {
  return names.flatMap((name, i) => {
    if (typeof name === "number") return [", and " + name.toLocaleString("en") + " more"];
    const key = scoped(name, row), found = tensorsOf.get(key);
    const lead = () => found ? tensors.show(found, name) : nodes.show(nodesWith.get(key), name);
    return [i ? ", " : "", name ? link(name, lead) : "–"];
  });
}

function attributes(text, row) {
  const found = tensorsIn.get(row[PATH]);
  return found ? [link(text, () => tensors.show(found, row[PATH]))] : broken(text);
}

tensors.choose();
nodes.choose();
