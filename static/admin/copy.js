// A button that copies the text before it; without this file it stays hidden.
"use strict";

addEventListener("DOMContentLoaded", () => {
  for (const button of document.querySelectorAll("[data-copy]")) {
    const source = button.previousElementSibling;
    button.hidden = false;
    button.addEventListener("click", async () => {
      getSelection().selectAllChildren(source);
      // Pages without TLS have no clipboard: there the selection is copied.
      await (navigator.clipboard?.writeText(source.textContent) ?? document.execCommand("copy"));
      button.textContent = "Copied";
    });
  }
});
