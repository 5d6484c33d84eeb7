"use strict";
for (const table of document.querySelectorAll(".hmetad-report table.sortable")) {
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const heads = [...table.tHead.rows[0].cells];
  const number = (text) => {
    const plain = text.replaceAll("−", "-").replaceAll("∞", "Infinity").replace(/[,%]/g, "");
    return plain === "" ? NaN : Number(plain);
  };
  const sorted = (place, sign) => {
    const isNumeric = heads[place].classList.contains("numeric");
    const keyed = rows.map((row) => {
      const cell = row.cells[place];
      const text = cell.dataset.key ?? cell.textContent.trim();
      return { row, key: isNumeric ? number(text) : text };
    });
    return keyed.sort((a, b) => {
      if (!isNumeric) return sign * a.key.localeCompare(b.key, "en", { numeric: true });
      const missing = Number.isNaN(a.key) - Number.isNaN(b.key);
      return missing || (a.key === b.key || Number.isNaN(a.key) ? 0 : sign * (a.key < b.key ? -1 : 1));
    }).map(({ row }) => row);
  };
  heads.forEach((head, place) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const next = { ascending: "descending", descending: "" }[head.getAttribute("aria-sort")] ?? "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      if (next) head.setAttribute("aria-sort", next);
      body.append(...(next ? sorted(place, next === "ascending" ? 1 : -1) : rows));
    });
  });
}
