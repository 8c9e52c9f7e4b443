// Search in all tables, chapters that fold, and plots that fit a narrow window.
"use strict";
(() => {
  const NARROW = 600, LETTERS = 38, MOST_NAMED = 40;
  // Legends below the plot, short lines: MultiQC's place right of the plot leaves no room for it.
  const wrapped = text => {
    const lines = [""];
    for (const word of String(text).split(" "))
      if ((lines.at(-1) + word).length > LETTERS && lines.at(-1)) lines.push(word);
      else lines[lines.length - 1] += (lines.at(-1) ? " " : "") + word;
    return lines.join("<br>");
  };
  const heightOf = legend => legend.reduce((sum, name) => sum + 6 + 13 * name.split("<br>").length, 0);
  // Names on the points of few samples; of more, MultiQC shows them under the pointer.
  const named = data => {
    const points = data.filter(trace => trace.type === "scatter" && !trace.mode && trace.x.length === 1);
    if (points.length !== data.length || data.length > MOST_NAMED) return data;
    return data.map(trace => ({...trace, mode: "markers+text", textposition: "top center", textfont: {size: 11}}));
  };
  const fit = draw => (target, data, layout, ...more) => {
    if (Array.isArray(data)) data = named(data);
    if (innerWidth <= NARROW && layout) {
      const {title} = layout;
      data = data.map(trace => trace.name ? {...trace, name: wrapped(trace.name)} : trace);
      const names = [...new Set(data.filter(trace => trace.name && trace.showlegend !== false).map(trace => trace.name))];
      const more = layout.showlegend === false ? 0 : Math.min(heightOf(names), 260);
      layout = {
        ...layout,
        legend: {...layout.legend, orientation: "h", x: 0, xanchor: "left", y: 0, yanchor: "bottom", yref: "container", font: {...(layout.legend || {}).font, size: 11}},
        margin: {...layout.margin, b: 60 + more, t: 64},
        height: (layout.height || 400) + more,
      };
      // MultiQC labels every column of a heatmap.
      if (data.some(trace => trace.type === "heatmap")) layout.xaxis = {...layout.xaxis, tickmode: "auto", nticks: 12, tickangle: 90};
      if (title && title.text) {
        const [first, ...rest] = title.text.split("<br>");
        layout.title = {...title, text: [wrapped(first), ...rest].join("<br>"), font: {...title.font, size: 14}};
      }
      const wrapper = (typeof target === "string" ? document.getElementById(target) : target)?.closest(".hc-plot-wrapper");
      if (wrapper) wrapper.style.height = `${layout.height + 7}px`;
    }
    return draw(target, data, layout, ...more);
  };
  if (window.Plotly) for (const name of ["newPlot", "react"]) Plotly[name] = fit(Plotly[name]);

  // Search: rows without the words are hidden, in every table.
  const rowsOf = table => [...table.querySelectorAll("tbody tr")];
  const headingOf = table => table.closest(".mqc-section")?.querySelector("h3");
  function look(words, output) {
    const wanted = words.trim().toLowerCase(), found = [];
    for (const table of document.querySelectorAll(".mainpage .mqc-section table:not(#airrvec-clones table)")) {
      let n = 0;
      for (const row of rowsOf(table)) {
        const hit = !wanted || row.textContent.toLowerCase().includes(wanted);
        row.classList.toggle("airrvec-hidden", !hit);
        n += hit;
      }
      const heading = headingOf(table);
      if (wanted && n && heading) found.push([heading, n]);
    }
    const clones = wanted && window.airrvecClones ? window.airrvecClones.search(words) : 0;
    if (!wanted) { window.airrvecClones?.search(""); output.replaceChildren(); return; }
    if (clones) found.unshift([document.getElementById("airrvec_clones"), clones]);
    const links = found.map(([heading, n]) => {
      const link = document.createElement("a");
      link.href = `#${heading.id}`;
      link.textContent = `${heading.textContent.trim()}: ${n} ${n === 1 ? "row" : "rows"}`;
      return link;
    });
    output.replaceChildren(...(links.length ? links : ["No row of a table has these words."]));
  }
  document.addEventListener("DOMContentLoaded", () => {
    const box = document.createElement("div"), input = document.createElement("input"), output = document.createElement("output");
    box.className = "airrvec-search";
    input.type = "search";
    input.id = "airrvec-search";
    input.placeholder = "Search all tables: CDR3, gene, epitope, sample, …";
    input.setAttribute("aria-label", "Search all tables");
    input.autocomplete = "off";
    input.oninput = () => look(input.value, output);
    box.append(input, output);
    document.querySelector(".mqc-module-section").before(box);
  });

  // Chapters fold: their plots keep their width, so that they need not be drawn again.
  const OPEN = ["airrvec_brief", "airrvec_chapter_clones"];
  document.addEventListener("DOMContentLoaded", () => {
    const chapters = [...document.querySelectorAll(".mqc-module-section")].map(chapter => {
      const head = chapter.querySelector("h2"), content = [...chapter.querySelectorAll(".mqc-section")];
      if (!head || !content.length) return null;
      const button = document.createElement("button");
      button.type = "button";
      button.className = "airrvec-fold"; // its mark is in the style: a heading keeps its words
      head.prepend(button);
      const list = document.createElement("p");
      list.className = "airrvec-contents";
      for (const part of chapter.querySelectorAll(".mqc-section h3[id]")) {
        const link = document.createElement("a");
        [link.href, link.textContent] = [`#${part.id}`, part.textContent.trim()];
        if (link.textContent) list.append(link, " ");
      }
      content[0].before(list);
      const fold = folded => {
        list.hidden = !folded;
        for (const child of content) child.classList.toggle("airrvec-folded", folded);
        button.setAttribute("aria-expanded", String(!folded));
        button.setAttribute("aria-label", `${folded ? "Unfold" : "Fold"} the chapter`);
      };
      button.onclick = () => fold(button.getAttribute("aria-expanded") === "true");
      fold(!OPEN.includes(head.id));
      return {chapter, fold};
    }).filter(Boolean);
    const unfold = element => chapters.find(({chapter}) => chapter.contains(element))?.fold(false);
    const follow = href => {
      const element = href.length > 1 && document.getElementById(decodeURIComponent(href.slice(1).split("?")[0]));
      if (element) { unfold(element); element.scrollIntoView(); }
    };
    document.addEventListener("click", event => {
      const href = event.target.closest?.('a[href^="#"]')?.getAttribute("href");
      if (href && !href.includes("?")) follow(href);
    });
    document.addEventListener("airrvec-unfold", event => unfold(event.detail));
    addEventListener("hashchange", () => follow(location.hash));
    addEventListener("beforeprint", () => chapters.forEach(({fold}) => fold(false)));
    const all = document.createElement("button");
    all.type = "button";
    all.className = "btn btn-outline-secondary btn-sm airrvec-unfold-all";
    all.textContent = "Unfold all chapters";
    all.onclick = () => chapters.forEach(({fold}) => fold(false));
    document.querySelector(".airrvec-search")?.append(all);
    if (location.hash) follow(location.hash);
  });
})();
