// What the pages can't do by themselves: follow a run, open a call beside the page, change a form in place.
// Every page can be read, and every form sent, without it.
"use strict";

const byId = (id) => document.getElementById(id);

// A run that goes on: lines are appended by their numbers, the timeline is replaced as a whole.
function follow(live) {
  const log = byId("log"), connection = byId("connection"), streamed = byId("streamed");
  let last = Number(live.dataset.after), source = null, timer = 0;
  const say = (words) => { connection.hidden = !words; connection.textContent = words; };
  const append = (line) => {
    if (line.seq <= last) return;
    last = line.seq;
    if (!line.text) return;
    const item = document.createElement("li"), code = document.createElement("code");
    item.dataset.seq = line.seq;
    code.textContent = line.text;
    item.append(code);
    const atEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 40;
    log.append(item);
    if (atEnd) log.scrollTop = log.scrollHeight;
    while (log.children.length > 200) log.firstElementChild.remove();
  };
  // How much of the answer has come: its calls, as the server has counted them, and the text that streams.
  const arrived = () => {
    const bar = live.querySelector("[data-said]");
    if (!bar) return;
    const count = Number(bar.dataset.said) + (streamed ? streamed.textContent.length : 0);
    bar.querySelector(".said").textContent = `${count.toLocaleString("en")} characters`;
  };
  const connect = () => {
    if (document.hidden) return;
    source = new EventSource(`${live.dataset.events}&after=${last}`);
    source.onopen = () => say("");
    source.onerror = () => {
      say("The connection is lost; trying again.");
      if (source.readyState === EventSource.CLOSED) { clearTimeout(timer); timer = setTimeout(connect, 1000); }
    };
    source.addEventListener("change", (event) => {
      const told = JSON.parse(event.data);
      told.lines.forEach(append);
      if (told.html) { live.innerHTML = told.html; arrived(); }
      const state = byId("state").firstElementChild;
      if (state.textContent !== told.state) { state.textContent = told.state; state.className = `state ${told.state}`; }
    });
    source.addEventListener("text", (event) => {
      const told = JSON.parse(event.data);
      if (!streamed) return;
      if (told.anew) streamed.textContent = "";
      streamed.textContent += told.text;
      streamed.hidden = !streamed.textContent;
      byId("no-output").hidden = Boolean(streamed.textContent);
      arrived();
    });
    source.addEventListener("end", () => { source.close(); settle(); });
  };
  // A browser has few connections for all its tabs: those that nobody sees use none.
  document.addEventListener("visibilitychange", () => {
    if (!live.isConnected) return;
    clearTimeout(timer);
    if (source) source.close();
    connect();
  });
  connect();
}

// The run is over or waits: the page as it is now takes the place of what was followed.
async function settle() {
  const answer = await fetch(location.href, { headers: { accept: "text/html" } });
  if (!answer.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const focused = document.activeElement;
  byId("main").replaceWith(page.getElementById("main"));
  const place = focused && !focused.isConnected && standIn(focused);
  if (place) place.focus();
  begin();
}

// What stands where something stood before the page was made anew.
function standIn(old) {
  if (old.isConnected) return old;
  if (old.id) return byId(old.id);
  const links = [...document.querySelectorAll("a[data-open]")];
  return links.find((one) => one.href === old.href && one.textContent === old.textContent);
}

// A call beside the page; with a modifier, or without a script, its own page.
async function open(link) {
  const answer = await fetch(link.href);
  if (!answer.ok) { location.href = link.href; return; }
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const dialog = document.createElement("dialog"), close = document.createElement("button");
  dialog.setAttribute("aria-label", link.textContent.trim());
  close.textContent = "Close";
  close.addEventListener("click", () => dialog.close());
  const head = page.querySelector("h1"), title = document.createElement("h2");
  title.append(...head.childNodes);
  dialog.append(close, title, page.querySelector(".call-detail"));
  dialog.addEventListener("close", () => { dialog.remove(); const place = standIn(link); if (place) place.focus(); });
  document.body.append(dialog);
  dialog.showModal();
}

// Items and variants of a form come and go in place: the server makes the fields, as it does without a script.
async function change(form, name, value) {
  const data = new FormData(form);
  data.set(name, value);
  data.set("only-fields", "1");
  const answer = await fetch(form.action, { method: "POST", body: data });
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const part of ["[data-fields]", "[data-raw]"]) {
    const old = form.querySelector(part), fresh = page.querySelector(`[data-form] ${part}`);
    if (!old || !fresh) continue;
    if (part === "[data-fields]") {
      const files = [...old.querySelectorAll("input[type=file]")].filter((one) => one.files.length);
      old.replaceChildren(...fresh.childNodes);
      for (const one of files) { const place = byId(one.id); if (place) place.replaceWith(one); }
    } else old.replaceChildren(...fresh.childNodes);
  }
}

document.addEventListener("click", (event) => {
  const link = event.target.closest && event.target.closest("a[data-open]");
  if (link && !event.ctrlKey && !event.metaKey && !event.shiftKey && event.button === 0) {
    const inside = link.closest("dialog");
    event.preventDefault();
    if (inside) inside.close();
    open(link);
  }
});
document.addEventListener("submit", (event) => {
  const form = event.target, button = event.submitter;
  if (!form.matches("[data-form]") || !button || !/^(add|drop|show|from-json)/.test(button.value)) return;
  event.preventDefault();
  const id = button.closest("fieldset") && button.closest("fieldset").id;
  change(form, "do", button.value).then(() => {
    const place = id && byId(id);
    const next = place && place.querySelector("input:not([type=hidden]),select,textarea,button");
    if (next) next.focus();
  });
});
document.addEventListener("change", (event) => {
  if (!event.target.matches || !event.target.matches("[data-which]")) return;
  const id = event.target.id;
  change(event.target.form, "do", "show").then(() => { if (byId(id)) byId(id).focus(); });
});
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && !/^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) {
    const search = document.querySelector("input[type=search]");
    if (search) { event.preventDefault(); search.focus(); }
  }
});

// What is folded has to be opened before it can be approved; without this script nothing is.
function fold() {
  for (const one of document.querySelectorAll("details[data-unread]")) one.open = false;
  for (const button of document.querySelectorAll("[data-approves]")) {
    const unread = new Set(button.closest("[data-decides]").querySelectorAll("details[data-unread]"));
    const judge = () => {
      button.disabled = unread.size > 0;
      button.title = unread.size ? "Open what is folded first" : "";
    };
    for (const one of unread) one.addEventListener("toggle", () => { if (one.open) unread.delete(one); judge(); });
    judge();
  }
}

function begin() {
  fold();
  for (const graph of document.querySelectorAll(".graph")) {
    graph.scrollLeft = (graph.scrollWidth - graph.clientWidth) / 2;
  }
  const live = document.querySelector("[data-events]"), log = byId("log");
  if (log) log.scrollTop = log.scrollHeight;
  if (live) follow(live);
}
document.addEventListener("DOMContentLoaded", begin);
// A page that the browser has kept is a form of its own: what it starts is not what it has started before.
addEventListener("pageshow", (event) => {
  if (!event.persisted) return;
  for (const one of document.querySelectorAll("[name=once]")) {
    one.value = crypto.getRandomValues(new Uint32Array(3)).join("-");
  }
});
