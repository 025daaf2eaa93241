// Renew the progress of unfinished jobs; without this file, loading the page anew does.
"use strict";

{
  const EVERY = 2000; // milliseconds
  const UNFINISHED = '[data-job]:is([data-state="running"], [data-state="waiting"])';

  const renew = (old, now) => {
    const row = old.closest("tr");
    if (row?.querySelector("input:checked")) return;
    if (row) row.innerHTML = now.closest("tr").innerHTML;
    else if (now.dataset.state !== old.dataset.state) location.reload();
    else old.replaceWith(now);
  };

  const look = async () => {
    const answer = await fetch(location.href);
    if (!answer.ok) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const old of document.querySelectorAll(UNFINISHED)) {
      const now = page.querySelector(`[data-job="${CSS.escape(old.dataset.job)}"]`);
      if (now && now.outerHTML !== old.outerHTML) renew(old, now);
    }
  };

  setInterval(() => {
    // A server that is away for a moment is asked again.
    if (!document.hidden && document.querySelector(UNFINISHED)) look().catch(() => {});
  }, EVERY);
}
