
"use strict";
// Tables: headings sort, and long ones can be filtered.
for (const box of document.querySelectorAll(".table")) {
  const table = box.querySelector("table");
  const body = table.tBodies[0];
  box.setAttribute("aria-label", box.closest("section").querySelector("h2").textContent);
  table.querySelectorAll("th").forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    const isNumber = head.classList.contains("n");
    button.addEventListener("click", () => {
      const down = head.hasAttribute("aria-sort")
        ? head.getAttribute("aria-sort") === "ascending" : isNumber;
      for (const other of table.querySelectorAll("th")) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const keyed = [...body.rows].map((row) => {
        const text = row.cells[column].textContent;
        return [isNumber ? parseFloat(text.replaceAll(",", "")) || 0 : text, row];
      });
      keyed.sort(([a], [b]) => (isNumber ? a - b : a.localeCompare(b)) * (down ? -1 : 1));
      body.append(...keyed.map(([, row]) => row));
    });
  });
  if (body.rows.length > 20) {
    const field = document.createElement("input");
    field.type = "search";
    field.className = "filter";
    field.placeholder = "Show only rows with …";
    field.setAttribute("aria-label", field.placeholder);
    field.addEventListener("input", () => {
      const wanted = field.value.toLowerCase();
      for (const row of body.rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
    });
    box.before(field);
  }
}

// The map: the pointer or the keyboard says what an area is, a click or Enter opens it.
const map = document.getElementById("treemap");
const out = document.getElementById("out");
const description = document.getElementById("area");
const all = description.textContent;
const describe = (area) => { description.textContent = area ? area.dataset.what : all; };
for (const area of map.querySelectorAll(".area")) {
  area.dataset.what = area.title;
  area.removeAttribute("title");
  area.tabIndex = -1;
  area.setAttribute("role", "group");
  area.setAttribute("aria-label", area.dataset.what);
}
const reachable = () => {
  // Only the areas that are in view can be reached by the keyboard.
  const opened = [...map.querySelectorAll(".opened")].pop();
  const shown = opened ? opened.querySelector(":scope > .inside") : map;
  for (const area of map.querySelectorAll(".area")) area.tabIndex = area.parentElement === shown ? 0 : -1;
  out.hidden = !opened;
  return shown;
};
const open = (area) => {
  for (let at = area; at !== map; at = at.parentElement) {
    if (at.classList.contains("area") && at.querySelector(":scope > .inside")) at.classList.add("opened");
  }
  reachable().querySelector(":scope > .area")?.focus({ preventScroll: true });
  describe(area);
};
const close = () => {
  const opened = [...map.querySelectorAll(".opened")].pop();
  if (!opened) return;
  opened.classList.remove("opened");
  reachable();
  opened.focus({ preventScroll: true });
};
map.addEventListener("click", (event) => {
  const area = event.target.closest(".area");
  if (area?.querySelector(":scope > .inside")) open(area);
});
map.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && event.target.querySelector(":scope > .inside")) open(event.target);
  if (event.key === "Escape") close();
});
for (const kind of ["pointerover", "focusin"]) {
  map.addEventListener(kind, (event) => describe(event.target.closest(".area")));
}
map.addEventListener("pointerleave", () => describe(null));
out.addEventListener("click", () => {
  for (const area of map.querySelectorAll(".opened")) area.classList.remove("opened");
  reachable();
  describe(null);
});
reachable();
