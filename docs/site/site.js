// What the theme leaves to a reader of screens: names for what scrolls, for the buttons of blocks and for each part of
// the contents, no empty headings.
function named() {
  document.querySelectorAll(".md-code__nav:not([aria-label])").forEach((nav, at) => {
    nav.setAttribute("aria-label", `Block ${at + 1}`);
  });
  const scrolls = ".md-typeset__scrollwrap:not([tabindex]), .md-typeset pre > code:not([tabindex])";
  document.querySelectorAll(scrolls).forEach((one) => {
    one.setAttribute("tabindex", "0");
  });
  const names = new Set();
  document.querySelectorAll(".md-nav .md-nav[aria-label]").forEach((nav) => {
    const name = nav.getAttribute("aria-label");
    if (names.has(name)) nav.setAttribute("aria-label", `${name} (${names.size})`);
    names.add(nav.getAttribute("aria-label"));
  });
  document.querySelectorAll(".md-typeset th:empty").forEach((head) => {
    head.replaceWith(document.createElement("td"));
  });
}
addEventListener("DOMContentLoaded", () => {
  if (/\/ru\//.test(location.pathname)) document.querySelector(".md-content").lang = "ru";
  named();
  new MutationObserver(named).observe(document.body, { childList: true, subtree: true });
});
