
"use strict";
(() => {
  const table = document.getElementById("table");
  if (!table) return;
  const form = document.getElementById("filter");
  const find = document.getElementById("find");
  const shown = document.getElementById("shown");
  const open = document.getElementById("open");
  const order = document.getElementById("order");
  const worstFirst = order.textContent;
  const boxes = [...form.querySelectorAll("input[name=status]")];
  const headings = [...table.tHead.rows[0].cells];
  const feeds = [...table.tBodies].map((element, place) => ({
    element,
    place,
    status: element.dataset.status,
    text: [element.rows[0], ...element.querySelectorAll("summary, .more > p, .gaps")]
      .map((part) => part.textContent).join(" ").toLowerCase(),
    details: element.querySelector("details"),
  }));

  const apply = () => {
    const wanted = new Set(boxes.filter((box) => box.checked).map((box) => box.value));
    const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const { element, status, text } of feeds) {
      const matches = wanted.has(status) && words.every((word) => text.includes(word));
      element.hidden = !matches;
      count += matches;
    }
    shown.textContent = `${count} of ${feeds.length} feeds shown`;
  };

  const only = (status) => {
    for (const box of boxes) box.checked = !status || box.value === status;
    find.value = "";
    apply();
  };

  // A link leads to a feed that a filter hides: show it, and its details.
  const follow = () => {
    const feed = feeds.find(({ element }) => element.id === location.hash.slice(1));
    if (!feed) return;
    if (feed.element.hidden) only("");
    feed.details.open = true;
    feed.element.scrollIntoView();
  };

  // The verdict's order is the page's own: the worst first. Cells without a value come last.
  const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });
  const value = ({ element, place }, column) => {
    const cell = element.rows[0].cells[column];
    if (headings[column].matches(".v")) return place;
    if (headings[column].matches(".n")) return Number(cell.textContent.replaceAll(",", ""));
    if (headings[column].matches(".d")) return cell.querySelector("time")?.textContent ?? "";
    return cell.textContent;
  };
  const compare = (one, other) => (typeof one === "number" ? one - other : collator.compare(one, other));
  const sort = (column, descends) => {
    const rows = feeds.map((feed) => [value(feed, column), feed]);
    const sign = descends ? -1 : 1;
    rows.sort(([one, a], [other, b]) => (one === "") - (other === "") || sign * compare(one, other) || a.place - b.place);
    table.append(...rows.map(([, { element }]) => element));
    headings.forEach((heading, n) => {
      if (n === column) heading.setAttribute("aria-sort", descends ? "descending" : "ascending");
      else heading.removeAttribute("aria-sort");
    });
    const isFirst = headings[column].matches(".v") && !descends;
    order.textContent = isFirst ? worstFirst : `sorted by “${headings[column].textContent}”`;
  };

  headings.forEach((heading, column) => {
    const button = document.createElement("button");
    button.append(...heading.childNodes);
    button.addEventListener("click", () => {
      const sorted = heading.getAttribute("aria-sort");
      // Numbers and times: the highest first.
      sort(column, sorted ? sorted === "ascending" : heading.matches(".n, .d"));
    });
    heading.append(button);
    if (heading.matches(".v")) heading.setAttribute("aria-sort", "ascending");
  });
  form.hidden = false;
  form.addEventListener("input", apply);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(apply));
  open.addEventListener("click", () => {
    for (const { element, details } of feeds) if (!element.hidden) details.open = true;
  });
  for (const link of document.querySelectorAll("a[data-only]")) {
    link.addEventListener("click", () => only(link.dataset.only));
  }
  // A second click on the same link changes no hash.
  document.addEventListener("click", (event) => {
    if (event.target.closest?.("a[href^='#feed-']")) setTimeout(follow);
  });
  addEventListener("hashchange", follow);
  // Browsers that cannot open details by a style sheet print them as they are.
  addEventListener("beforeprint", () => {
    if (document.body.matches(".few")) open.click();
  });
  apply();
  follow();
})();
