// Slide to a revision: without this file the number and its button do it.
"use strict";

addEventListener("DOMContentLoaded", () => {
  const slide = document.querySelector(".pb-slide");
  if (!slide) return;
  const range = slide.querySelector("input");
  const number = range.form.elements.revision;
  slide.hidden = range.max === "0";
  range.addEventListener("input", () => { number.value = range.value; });
  range.addEventListener("change", () => range.form.submit());
});

// Drag an entry to the place of another: its number and mark are set and sent as by hand.
addEventListener("DOMContentLoaded", () => {
  const rows = [...document.querySelectorAll(".pb-entries tbody tr:has(.pb-place)")];
  const form = (row) => row.querySelector(".pb-place");
  const label = (row) => row.querySelector("a").textContent;
  let dragged = null;

  for (const row of rows) {
    const handle = document.createElement("span");
    handle.className = "pb-handle";
    handle.draggable = true;
    handle.ariaHidden = "true"; // the number beside it is the way by keyboard
    handle.title = "Drag to another place";
    handle.textContent = "⠿";
    form(row).prepend(handle);
    handle.addEventListener("dragstart", (event) => {
      dragged = row;
      event.dataTransfer.effectAllowed = "move";
      event.dataTransfer.setDragImage(row, 0, 0);
    });
    handle.addEventListener("dragend", () => { mark(null); dragged = null; });
    row.addEventListener("dragover", (event) => {
      if (!dragged || dragged === row) return;
      event.preventDefault();
      mark(row);
    });
    row.addEventListener("drop", (event) => {
      event.preventDefault();
      if (dragged && dragged !== row) place(dragged, row);
    });
  }

  function mark(target) {
    for (const row of rows) {
      const isUp = rows.indexOf(dragged) > rows.indexOf(row);
      row.classList.toggle("pb-above", row === target && isUp);
      row.classList.toggle("pb-below", row === target && !isUp);
    }
  }

  // The list is by priority, then by label: one step is needed where the label is not enough.
  function place(row, target) {
    const up = rows.indexOf(row) > rows.indexOf(target);
    const isFirst = label(row) < label(target);
    const step = up === isFirst ? 0 : up ? 1 : -1;
    const { priority, pinned } = form(row).elements;
    priority.value = Number(form(target).elements.priority.defaultValue) + step;
    pinned.checked = form(target).elements.pinned.defaultChecked;
    form(row).requestSubmit();
  }
});
