// The table of clones: sort, choose, search, save; links of other sections lead into it.
"use strict";
(() => {
  const PER_PAGE = 25, NUMBERS = new Set(["cells", "share", "fdr", "donors"]);
  const element = (name, properties = {}, ...children) => {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...children);
    return made;
  };
  document.addEventListener("DOMContentLoaded", () => {
    const place = document.getElementById("airrvec-clones"), source = document.getElementById("airrvec-clones-data");
    if (!place || !source) return;
    const {columns, rows, samples, tiers, expanded: least} = JSON.parse(source.textContent);
    const at = Object.fromEntries(columns.map(([name], number) => [name, number]));
    const has = name => name in at;
    // What a cell shows, and what is searched and saved.
    const words = (row, name) => {
      const value = row[at[name]];
      if (name === "samples") return value.map(([sample, n]) => sample === null ? `and ${n} more` : `${sample} ${n.toLocaleString("en")}`).join(", ");
      if (value === null || value === "") return "";
      if (name === "share") return `${(100 * value).toPrecision(3).replace(/\.?0+$/, "")} %`;
      return typeof value === "number" ? value.toLocaleString("en", {maximumSignificantDigits: 6}) : value;
    };
    const texts = rows.map(row => columns.map(([name]) => words(row, name)).join("\t").toLowerCase());
    const state = {search: "", sample: "", evidence: "", cluster: "", expanded: false, page: 0, sort: has("unit") ? "share" : "cells", up: false};
    const isIn = (row, sample) => row[at.samples].some(([name]) => name === sample);
    const supports = {any: row => row[at.evidence], call: row => has("fdr") && row[at.fdr] !== null};
    const chosen = () => {
      const wanted = state.search.trim().toLowerCase();
      const kept = rows.filter((row, number) =>
        (!wanted || texts[number].includes(wanted)) &&
        (!state.sample || isIn(row, state.sample)) &&
        (!state.evidence || supports[state.evidence]?.(row) || row[at.evidence] === state.evidence) &&
        (!state.cluster || row[at.cluster] === state.cluster) &&
        (!state.expanded || (row[at.cells] === null || row[at.cells] > 1) && row[at.share] >= least));
      const column = at[state.sort], sign = state.up ? 1 : -1;
      const key = row => state.sort === "samples" ? words(row, "samples") : row[column];
      // empty cells come last, whatever the order
      return kept.sort((a, b) => {
        const [x, y] = [key(a), key(b)], [none, nothing] = [x === null || x === "", y === null || y === ""];
        if (none || nothing) return none - nothing;
        return sign * (typeof x === "number" ? x - y : String(x).localeCompare(String(y), "en", {numeric: true}));
      });
    };

    const input = element("input", {type: "search", placeholder: "CDR3, gene, epitope, …", autocomplete: "off"});
    input.setAttribute("aria-label", "Search the clones");
    const select = (label, all, options) => {
      const made = element("select", {}, element("option", {value: "", textContent: all}),
        ...options.map(([value, text]) => element("option", {value, textContent: text})));
      made.setAttribute("aria-label", label);
      return made;
    };
    const sample = select("Sample", "All samples", samples.map(name => [name, name]));
    const evidence = select("Evidence", "With or without evidence",
      [...(tiers.length ? [["any", "Any evidence"], ["call", "A calibrated call"]] : []), ...tiers.map(name => [name, `Strongest: ${name}`])]);
    const expanded = element("input", {type: "checkbox"});
    const save = element("button", {type: "button", textContent: "Save as TSV", className: "btn btn-outline-secondary btn-sm"});
    const reset = element("button", {type: "button", textContent: "Show all", className: "btn btn-outline-secondary btn-sm"});
    const count = element("output"), head = element("thead"), body = element("tbody");
    const back = element("button", {type: "button", textContent: "Previous", className: "btn btn-outline-secondary btn-sm"});
    const on = element("button", {type: "button", textContent: "Next", className: "btn btn-outline-secondary btn-sm"});
    const table = element("table", {className: "table table-sm table-hover"}, head, body);
    place.append(
      element("div", {className: "airrvec-choose"}, input, sample, ...(has("evidence") ? [evidence] : []),
        element("label", {}, expanded, ` Expanded (two cells or more, ${100 * least} % of a sample)`), reset, save),
      element("div", {className: "airrvec-count"}, count, back, on),
      element("div", {className: "airrvec-scroll"}, table));

    const link = (text, href) => element("a", {textContent: text, href});
    const cell = (row, name) => {
      const made = element("td", {className: `airrvec-${name}`});
      if (name === "cluster" && row[at[name]] && document.getElementById("airrvec_clusters_largest"))
        made.append(link(row[at[name]], "#airrvec_clusters_largest"));
      else made.textContent = words(row, name);
      return made;
    };
    function draw() {
      const kept = chosen(), pages = Math.max(1, Math.ceil(kept.length / PER_PAGE));
      state.page = Math.min(state.page, pages - 1);
      const from = state.page * PER_PAGE, shown = kept.slice(from, from + PER_PAGE);
      head.replaceChildren(element("tr", {}, ...columns.map(([name, title, meaning]) => {
        const sorted = state.sort === name;
        const button = element("button", {type: "button", textContent: title + (sorted ? (state.up ? " ▲" : " ▼") : ""), title: meaning});
        button.onclick = () => {
          [state.sort, state.up, state.page] = [name, sorted ? !state.up : !NUMBERS.has(name), 0];
          draw();
        };
        const made = element("th", {}, button);
        made.setAttribute("aria-sort", sorted ? (state.up ? "ascending" : "descending") : "none");
        return made;
      })));
      body.replaceChildren(...shown.map(row => element("tr", {}, ...columns.map(([name]) => cell(row, name)))));
      count.textContent = kept.length
        ? `${(from + 1).toLocaleString("en")} to ${(from + shown.length).toLocaleString("en")} of ${kept.length.toLocaleString("en")} clones`
        : "No clone of this table has all of this; clones/clones.tsv has all clones.";
      [back.disabled, on.disabled] = [state.page === 0, state.page >= pages - 1];
      [input.value, sample.value, evidence.value, expanded.checked] = [state.search, state.sample, state.evidence, state.expanded];
      return kept;
    }
    const choose = changes => { Object.assign(state, {page: 0}, changes); return draw(); };
    const ALL = {search: "", sample: "", evidence: "", cluster: "", expanded: false};
    input.oninput = () => choose({search: input.value});
    sample.onchange = () => choose({sample: sample.value});
    evidence.onchange = () => choose({evidence: evidence.value});
    expanded.onchange = () => choose({expanded: expanded.checked});
    reset.onclick = () => choose(ALL);
    back.onclick = () => { state.page--; draw(); };
    on.onclick = () => { state.page++; draw(); };
    save.onclick = () => {
      // a field that a spreadsheet would take for a formula begins with an apostrophe
      const field = text => String(text).replace(/[\t\r\n]/g, " ").replace(/^[=+\-@]/, "'$&");
      const value = (row, name) => NUMBERS.has(name) ? row[at[name]] ?? "" : words(row, name);
      const lines = [columns.map(([, title]) => title), ...chosen().map(row => columns.map(([name]) => field(value(row, name))))];
      const file = new Blob([lines.map(line => `${line.join("\t")}\n`).join("")], {type: "text/tab-separated-values"});
      const address = URL.createObjectURL(file);
      Object.assign(link("", address), {download: "clones.tsv"}).click();
      setTimeout(() => URL.revokeObjectURL(address), 1000);
    };
    // #airrvec_clones?evidence=called&search=InfluenzaA
    const follow = href => {
      const [name, query] = href.split("?");
      if (name !== "#airrvec_clones" || query === undefined) return false;
      const values = Object.fromEntries(new URLSearchParams(query));
      choose({...ALL, ...values, expanded: values.expanded === "1"});
      document.dispatchEvent(new CustomEvent("airrvec-unfold", {detail: place}));
      document.getElementById("airrvec_clones")?.scrollIntoView();
      return true;
    };
    document.addEventListener("click", event => {
      const href = event.target.closest?.('a[href^="#airrvec_clones?"]')?.getAttribute("href");
      if (href && follow(href)) { event.preventDefault(); history.replaceState(null, "", href); }
    });
    window.airrvecClones = {search: text => choose({...ALL, search: text}).length};
    draw();
    follow(location.hash);
  });
})();
