// A table that is wider than its box is shown as a list: each row as a block, each cell on a line with its column's
// name (wide.css). On a phone, the columns can then be compared without scrolling.

const boxes = [...document.querySelectorAll(".table-wrapper")];

function fit() {
  for (const box of boxes) {
    box.classList.remove("as-list");
    box.classList.toggle("as-list", box.scrollWidth > box.clientWidth);
  }
}

for (const row of document.querySelectorAll(".table-wrapper tbody tr")) {
  const names = row.closest("table").querySelectorAll("thead th");
  [...row.cells].forEach((cell, i) => { cell.dataset.column = names[i]?.textContent ?? ""; });
}
fit();
addEventListener("resize", fit);
