// The keyboard, the menu of narrow screens, and rows chosen together. Without it every link and form still works.
"use strict";
(() => {
  document.documentElement.classList.add("js");
  const byId = (id) => document.getElementById(id);
  const typing = (target) => target.matches("input:not([type=checkbox]):not([type=radio]), select, textarea") || target.isContentEditable;
  const rows = () => [...document.querySelectorAll("#rows > .row, #rows > tr:not(.more), #rows .list > .row")].filter((row) => row.querySelector("a[href]"));
  let going = 0;

  function move(by) {
    const all = rows();
    if (!all.length) return;
    const at = all.findIndex((row) => row.classList.contains("here"));
    all[at]?.classList.remove("here");
    const row = all[Math.min(all.length - 1, Math.max(0, at < 0 ? (by > 0 ? 0 : all.length - 1) : at + by))];
    row.classList.add("here");
    row.querySelector("a[href]").focus();
    row.scrollIntoView({ block: "nearest" });
  }

  function go(key) {
    const link = document.querySelector(`.side [data-keys="${CSS.escape(key)}"]`);
    if (link) window.location.assign(link.href);
    return Boolean(link);
  }

  const ACTS = {
    "/": () => { byId("find").focus(); byId("find").select(); },
    "?": () => byId("keys").showModal(),
    j: () => move(1),
    k: () => move(-1),
    g: () => { going = Date.now(); },
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || byId("keys").open) return;
    if (typing(event.target)) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    if (Date.now() - going < 1500 && go(event.key)) return;
    const act = ACTS[event.key];
    if (act) { event.preventDefault(); act(); }
  });

  function chosen(form) {
    const boxes = [...document.querySelectorAll(`input[form="${form.getAttribute("id")}"][name="id"]`)];
    const n = boxes.filter((box) => box.checked).length;
    form.querySelector("[data-chosen]").textContent = n ? `${n} chosen` : "none chosen";
    form.toggleAttribute("data-any", n > 0);
  }

  document.addEventListener("change", (event) => {
    const box = event.target;
    if (box.matches("[data-all]")) {
      document.querySelectorAll(`input[form="${CSS.escape(box.dataset.all)}"][name="id"]`).forEach((each) => { each.checked = box.checked; });
      chosen(byId(box.dataset.all));
    } else if (box.matches("input[form][name=id]")) chosen(box.form);
  });

  document.addEventListener("DOMContentLoaded", () => {
    const menu = byId("menu"), button = byId("menu-button");
    const shut = (closed) => { menu.toggleAttribute("data-closed", closed); button.setAttribute("aria-expanded", String(!closed)); };
    shut(true);
    button.addEventListener("click", () => shut(!menu.hasAttribute("data-closed")));
    byId("keys-button").addEventListener("click", () => byId("keys").showModal());
    document.querySelectorAll("form.bulk").forEach(chosen);
  });
  document.addEventListener("htmx:afterSwap", () => document.querySelectorAll("form.bulk").forEach(chosen));
})();
