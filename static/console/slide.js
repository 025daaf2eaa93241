// Slide to a number: without this file the number's own field and its button do it.
"use strict";

addEventListener("DOMContentLoaded", () => {
  const slide = document.querySelector(".am-slide");
  if (!slide) return;
  const range = slide.querySelector("input");
  const number = range.form.elements[slide.dataset.number];
  slide.hidden = range.min === range.max;
  range.addEventListener("input", () => { number.value = range.value; });
  range.addEventListener("change", () => range.form.requestSubmit());
});
