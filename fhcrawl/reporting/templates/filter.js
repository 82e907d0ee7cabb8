
"use strict";
(() => {
  const form = document.getElementById("filter");
  if (!form) return;
  const find = document.getElementById("find");
  const gaps = document.getElementById("gaps");
  const shown = document.getElementById("shown");
  const open = document.getElementById("open");
  const boxes = [...form.querySelectorAll("input[name=verdict]")];
  const feeds = [...document.querySelectorAll("article.feed")].map((element) => ({
    element,
    verdict: element.dataset.verdict,
    hasGaps: "gaps" in element.dataset,
    text: element.querySelector(".about").textContent.toLowerCase(),
  }));

  const apply = () => {
    const wanted = new Set(boxes.filter((box) => box.checked).map((box) => box.value));
    const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const { element, verdict, hasGaps, text } of feeds) {
      const matches = wanted.has(verdict) && (hasGaps || !gaps.checked) && words.every((word) => text.includes(word));
      element.hidden = !matches;
      count += matches;
    }
    shown.textContent = `${count} of ${feeds.length} feeds shown`;
  };

  const only = (verdict, words, withGaps) => {
    for (const box of boxes) box.checked = !verdict || box.value === verdict;
    find.value = words || "";
    gaps.checked = withGaps;
    apply();
  };

  // A link leads to a feed that a filter hides: show it, with all that is to be said of it.
  const follow = () => {
    const feed = document.getElementById(location.hash.slice(1));
    if (!feed || !feed.matches("article.feed")) return;
    if (feed.hidden) only("", "", false);
    feed.querySelector("details.more").open = true;
    feed.scrollIntoView();
  };

  form.hidden = false;
  form.addEventListener("input", apply);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(apply));
  open.addEventListener("click", () => {
    for (const { element } of feeds) if (!element.hidden) element.querySelector("details.more").open = true;
  });
  for (const link of document.querySelectorAll("a[data-only], a[data-find], a[data-gaps]")) {
    const { only: verdict, find: words } = link.dataset;
    link.addEventListener("click", () => only(verdict, words, "gaps" in link.dataset));
  }
  addEventListener("hashchange", follow);
  // Browsers that cannot open details by a style sheet print them as they are.
  addEventListener("beforeprint", () => {
    if (document.body.matches(".few")) open.click();
  });
  apply();
  follow();
})();
