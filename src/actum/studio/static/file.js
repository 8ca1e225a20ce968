// A run as one file: opens the call that a link leads to, and finds calls. Everything is readable without it.
"use strict";
document.addEventListener("DOMContentLoaded", () => {
  const reveal = () => {
    const id = decodeURIComponent(location.hash.slice(1));
    const target = id && document.getElementById(id);
    if (target instanceof HTMLDetailsElement) {
      target.open = true;
      target.querySelector("summary").focus();
    }
  };
  addEventListener("hashchange", reveal);
  reveal();
  const find = document.getElementById("find");
  const found = document.getElementById("found");
  const calls = [...document.querySelectorAll("details.call")].map((call) => [
    call,
    call.firstElementChild.textContent.toLowerCase(),
  ]);
  let waiting = 0;
  find.addEventListener("input", () => {
    cancelAnimationFrame(waiting);
    waiting = requestAnimationFrame(() => {
      const words = find.value.toLowerCase();
      let shown = 0;
      for (const [call, text] of calls) {
        const fits = text.includes(words);
        call.hidden = !fits;
        shown += fits;
      }
      found.textContent = words ? `${shown} of ${calls.length} calls` : "";
    });
  });
});
