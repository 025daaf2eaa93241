// The inbox by keyboard, without reloading the page. Every key presses a button, link or
// field of the card, and every decision is a form that works without this file.
"use strict";

(() => {
  const list = document.getElementById("inbox-list");
  const said = document.getElementById("inbox-said");
  const empty = document.getElementById("inbox-empty");
  const help = document.getElementById("inbox-keys");
  const bulk = document.getElementById("bulk");
  const FEW = 6; // cards left when more are fetched
  const KEYS = new Set([..."jkaemrnuxAzob12?"]);
  const TYPED = "input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]";
  const gone = new Set(); // cards that were decided here
  const UNFILLED = "The list as it is now cannot be had: reload the page.";
  const OPENS = new Set([..."emr"]);
  let queue = Promise.resolve();
  let opening = null; // the key of a form that is not open yet
  document.documentElement.classList.add("in-scripts");

  const cards = () => [...list.querySelectorAll(".in-card")];
  const current = () => list.querySelector(".in-card.is-open");

  function select(card) {
    if (!card || card.classList.contains("is-open")) return;
    current()?.classList.remove("is-open");
    card.classList.add("is-open");
    look(card);
  }

  function go(card) {
    if (!card) return said.focus();
    select(card);
    (card.querySelector("[data-first]") || card).focus({ preventScroll: true });
    card.scrollIntoView({ block: "start" }); // always in the same place
  }

  async function look(card) {
    const near = card.querySelector(".in-near[data-src]");
    if (!near || near.dataset.asked) return;
    near.dataset.asked = "yes";
    const html = await read(near.dataset.src);
    if (html !== null) near.innerHTML = html; // otherwise its link stays
  }

  function move(step) {
    const all = cards();
    const at = all.indexOf(current());
    go(all[Math.min(Math.max(at + step, 0), all.length - 1)]);
  }

  // Decisions

  async function send(form, button) {
    const card = form.closest(".in-card");
    let reply;
    card?.setAttribute("aria-busy", "true");
    try {
      const url = button?.getAttribute("formaction") || form.getAttribute("action");
      const body = new FormData(form, button);
      const headers = { Accept: "application/json" };
      const answer = await fetch(url, { method: "POST", body, headers });
      const isData = answer.headers.get("Content-Type")?.startsWith("application/json");
      if (!isData) return tell(`This was not done: the server answered ${answer.status}. Reload the page and look again.`);
      reply = await answer.json();
    } catch {
      return tell("This was not done: the server cannot be reached. What you typed is still here.");
    } finally {
      card?.removeAttribute("aria-busy");
    }
    await show(reply);
  }

  async function show(answer) {
    count(answer.counts);
    if (answer.card) replace(answer.at, answer.card);
    for (const id of [answer.gone, ...(answer.gone_all || [])]) if (id) remove(id);
    for (const id of answer.back || []) gone.delete(`card-${id}`);
    const isBare = !cards().length;
    const filling = answer.back || cards().length < FEW ? fill() : Promise.resolve(true);
    if (answer.back || isBare) await filling;
    if (answer.back) go(document.getElementById(`card-${answer.back[0]}`) || current() || cards()[0]);
    else if (isBare) go(cards()[0]);
    // Last, because a person may act on the updated list at once.
    said.innerHTML = answer.said;
    mark();
    filling.then((isFilled) => isFilled || said.append(bad(UNFILLED)));
  }

  function tell(words) {
    said.replaceChildren(bad(words));
  }

  function bad(words) {
    const line = document.createElement("span");
    line.className = "in-bad";
    line.textContent = words;
    return line;
  }

  function count(counts) {
    for (const [name, number] of Object.entries(counts || {})) {
      for (const place of document.querySelectorAll(`[data-count="${name}"]`)) place.textContent = number;
    }
  }

  function remove(id) {
    const card = document.getElementById(`card-${id}`);
    if (!card) return;
    gone.add(card.id);
    const wasOpen = card.classList.contains("is-open");
    const item = card.closest("li");
    const next = item.nextElementSibling || item.previousElementSibling;
    item.remove();
    if (wasOpen) go(next?.querySelector(".in-card"));
  }

  function replace(id, html) {
    const old = document.getElementById(`card-${id}`);
    if (!old) return;
    const held = document.createElement("template");
    held.innerHTML = html;
    const card = held.content.querySelector(".in-card");
    keep(old, card);
    old.replaceWith(card);
    go(card);
    card.querySelector(".in-refusal")?.scrollIntoView({ block: "nearest" });
  }

  // Keep what was typed into the other forms of a card when it is renewed.
  function keep(old, card) {
    for (const field of old.querySelectorAll("textarea, input[type=text]")) {
      if (field.value === field.defaultValue) continue;
      const form = card.querySelector(`form[data-name="${field.form.dataset.name}"]`);
      const other = form?.elements.namedItem(field.name);
      if (!other) continue;
      other.value = field.value;
      other.closest("details")?.setAttribute("open", "");
    }
  }

  // Add the cards that the list has and the page has not; change no card of the page.
  // Return false if the list cannot be loaded.
  async function fill() {
    const html = await read(list.dataset.home);
    if (html === null) return false;
    const page = new DOMParser().parseFromString(html, "text/html");
    const there = [...page.querySelectorAll("#inbox-list > li")].reverse();
    let after = null;
    for (const item of there) {
      const id = item.querySelector(".in-card").id;
      if (gone.has(id)) continue; // decided while the list was loading
      if (!document.getElementById(id)) list.insertBefore(document.importNode(item, true), after);
      after = document.getElementById(id).closest("li");
    }
    for (const place of page.querySelectorAll("[data-count]"))
      count({ [place.dataset.count]: place.textContent });
    empty.hidden = cards().length > 0;
    return true;
  }

  async function read(url) {
    try {
      const answer = await fetch(url);
      return answer.ok ? await answer.text() : null;
    } catch {
      return null; // not available: the caller goes on without it
    }
  }

  // Keys

  function press(key) {
    const card = current();
    if (key === "?") return help.showModal();
    if (key === "j") return move(card ? 1 : 0);
    if (key === "k") return move(-1);
    if (key === "u") return click(said.querySelector("[data-undo]"));
    if (key === "A") return acceptSelected();
    if (key === "x") return toggle(card);
    return choose(card?.querySelector(`[data-key="${key}"]`));
  }

  function choose(place) {
    if (!place) return;
    if (place.tagName !== "DETAILS") return click(place);
    place.open = true;
    const near = place.dataset.key === "m" && place.closest(".in-card").querySelector("[data-near]");
    const field = near || place.querySelector("input:checked, textarea, input[type=text]");
    field?.focus();
    if (field?.tagName === "TEXTAREA") field.setSelectionRange(field.value.length, field.value.length);
  }

  function click(button) {
    if (button) return send(button.form, button);
  }

  function toggle(card) {
    const box = card?.querySelector("[data-select]");
    if (!box) return;
    box.checked = !box.checked;
    mark();
  }

  function acceptSelected() {
    const button = bulk?.querySelector("[data-bulk-accept]");
    if (!button) return;
    if (button.hidden) return tell("No proposal here is of low risk: decide about each alone.");
    if (!list.querySelector("[data-select]:checked")) return tell("Select some proposals with x first.");
    return click(button);
  }

  function mark() {
    const place = bulk?.querySelector("[data-selected]");
    const number = list.querySelectorAll("[data-select]:checked").length;
    if (place) place.textContent = number ? `${number} selected` : "Select with x";
    const button = bulk?.querySelector("[data-bulk-accept]");
    if (button) button.hidden = !list.querySelector("[data-acceptable]");
  }

  function close(target) {
    const open = target.closest("details.in-ask[open]") || current()?.querySelector("details.in-ask[open]");
    if (!open) return;
    open.open = false;
    go(open.closest(".in-card"));
  }

  // By the button beside the field: what a form does may depend on which one sends it.
  function submit(field) {
    if (!field.matches("input, textarea, select") || !field.form?.matches("[data-decide]")) return;
    const button = field.closest("details.in-ask, form")?.querySelector("button[type=submit]");
    if (button) field.form.requestSubmit(button);
  }

  document.addEventListener("keydown", (event) => {
    const { key, target } = event;
    if (event.isComposing || event.altKey || help.open) return;
    if (key === "Escape") return close(target);
    if (key === "Enter" && (event.ctrlKey || event.metaKey)) return submit(target);
    if (event.ctrlKey || event.metaKey || target.closest(TYPED)) return;
    const reason = /^([1-9]|Enter)$/.test(key);
    if (target.type === "radio") {
      const button = reason && pick(target.form, key);
      if (button) then(() => click(button));
      return void (button && event.preventDefault());
    }
    if (!opening && !KEYS.has(key)) return;
    event.preventDefault();
    if (!opening) return command(key);
    // A form is opening: keys until then are meant for it.
    if (opening.key !== "r" || !reason) return;
    opening = null;
    then(() => click(pick(document.activeElement.form, key)));
  });

  function command(key) {
    const mine = OPENS.has(key) ? { key } : null;
    opening = mine;
    then(async () => {
      await press(key);
      if (mine && opening === mine) opening = null;
    });
  }

  // Handle keys one after the other, however fast they come.
  function then(act) {
    queue = queue.then(act).catch((error) => {
      console.error(error);
      tell("Something went wrong on this page: reload it and look what was done.");
    });
  }

  // In the form of a rejection a digit is its reason; the keys that follow are for the
  // card that comes next.
  function pick(form, key) {
    const radios = form?.elements.reason_code;
    const radio = key === "Enter" ? radios : radios?.[Number(key) - 1];
    if (!radio) return null;
    if (key !== "Enter") radio.checked = true;
    form.closest(".in-card").focus({ preventScroll: true });
    return form.querySelector("button");
  }

  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (!form.matches("[data-decide]")) return;
    event.preventDefault();
    form.closest(".in-card")?.focus({ preventScroll: true });
    then(() => send(form, event.submitter));
  });
  list.addEventListener("focusin", (event) => select(event.target.closest(".in-card")));
  list.addEventListener("click", (event) => {
    const card = event.target.closest(".in-card");
    if (card && !event.target.closest("a, button, input, summary, label")) go(card);
  });
  list.addEventListener("change", mark);
  document.querySelector("[data-help]")?.addEventListener("click", () => help.showModal());

  const first = document.getElementById(location.hash.slice(1));
  mark();
  if (first?.matches(".in-card")) go(first);
  else if (cards()[0]?.querySelector("[data-first]")) go(cards()[0]);
  else select(cards()[0]);
})();
