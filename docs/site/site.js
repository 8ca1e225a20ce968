// What the theme leaves to a reader of screens: names for what scrolls and for the buttons of blocks, no empty headings.
function named() {
  document.querySelectorAll(".md-code__nav:not([aria-label])").forEach((nav, at) => {
    nav.setAttribute("aria-label", `Block ${at + 1}`);
  });
  document.querySelectorAll(".md-typeset__scrollwrap:not([tabindex]), .md-typeset pre > code:not([tabindex])").forEach((one) => {
    one.setAttribute("tabindex", "0");
  });
  document.querySelectorAll(".md-typeset th:empty").forEach((head) => {
    head.replaceWith(document.createElement("td"));
  });
}
addEventListener("DOMContentLoaded", () => {
  named();
  new MutationObserver(named).observe(document.body, { childList: true, subtree: true });
});
