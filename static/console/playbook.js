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
