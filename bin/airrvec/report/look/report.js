// Search in all tables, and plots that fit a narrow window.
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
    for (const table of document.querySelectorAll(".mainpage .mqc-section table")) {
      let n = 0;
      for (const row of rowsOf(table)) {
        const hit = !wanted || row.textContent.toLowerCase().includes(wanted);
        row.classList.toggle("airrvec-hidden", !hit);
        n += hit;
      }
      const heading = headingOf(table);
      if (wanted && n && heading) found.push([heading, n]);
    }
    if (!wanted) { output.replaceChildren(); return; }
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
})();
