// Receptors that a reader pastes: embedded here, by the run's model, and compared with those of the map.
"use strict";
const asked = (() => {
  const $ = id => document.getElementById(id);
  const model = JSON.parse($("model").textContent);
  if (!model || !receptorMap) return null;
  $("ask").hidden = false;
  if (model.absent) {
    $("ask-about").textContent = model.absent;
    $("ask-form").hidden = true;
    return null;
  }
  const {data, element, number, word, words} = receptorMap;
  const K = 10, SAMPLE = 200, MOST_SHOWN = 100, MOST_WORKERS = 4, NEAREST_FOR_PLACE = 3;
  const modelLoci = ["tra", "trb"].filter(locus => model.shape.loops.some(loop => loop.endsWith(locus.at(-1))));
  const compared = Array.from({length: model.compared}, (_, i) => Math.floor(i * data.x.length / model.compared));
  const columns = data.colours.filter(({title}) => !/^(V gene|Chain pairing|Species)/.test(title));
  const species = $("ask-species"), state = $("ask-state"), bar = $("ask-progress");
  let crew = null, answers = [], stop = null;

  // A worker with the model, and the promises of what it was asked to do.
  class Helper {
    constructor() {
      const sources = [...document.querySelectorAll("script[type='text/plain']")].map(script => script.textContent);
      this.worker = new Worker(URL.createObjectURL(new Blob(sources, {type: "text/javascript"})));
      this.waiting = new Map();
      this.worker.onmessage = ({data: {id, done, result, failed}}) => {
        const {keep, fail, progress} = this.waiting.get(id);
        if (done !== undefined) return progress(done);
        this.waiting.delete(id);
        return failed === undefined ? keep(result) : fail(new Error(failed));
      };
      this.worker.onerror = event => { for (const {fail} of this.waiting.values()) fail(new Error(event.message)); };
      const bytes = Uint8Array.from(atob(model.weights), letter => letter.charCodeAt(0));
      this.ready = this.do("begin", {shape: model.shape, weights: new Float32Array(bytes.buffer)});
    }
    do(work, message, progress = () => {}) {
      return new Promise((keep, fail) => {
        const id = this.waiting.size ? Math.max(...this.waiting.keys()) + 1 : 0;
        this.waiting.set(id, {keep, fail, progress});
        this.worker.postMessage({id, work, ...message});
      });
    }
  }

  // Several workers, with equal shares of the receptors.
  class Crew {
    constructor() {
      const count = Math.max(1, Math.min(MOST_WORKERS, (navigator.hardwareConcurrency || 2) - 1));
      this.helpers = Array.from({length: count}, () => new Helper());
      this.held = new Map(); // name → what is known of the receptors held under it
    }
    async all(make, progress = () => {}) {
      const done = this.helpers.map(() => 0);
      await Promise.all(this.helpers.map(helper => helper.ready));
      return Promise.all(this.helpers.map((helper, i) => make(helper, i, count => {
        done[i] = count;
        progress(done.reduce((a, b) => a + b));
      })));
    }
    async embed(receptors, progress) {
      const share = Math.ceil(receptors.length / this.helpers.length);
      const parts = await this.all((helper, i, tell) =>
        helper.do("embed", {receptors: receptors.slice(i * share, (i + 1) * share)}, tell), progress);
      const vectors = new Float32Array(receptors.length * model.shape.d);
      parts.forEach((part, i) => vectors.set(part, i * share * model.shape.d));
      return vectors;
    }
    // Keep the vectors of rows of the map, by some loci alone.
    async hold(name, rows, loci, progress) {
      await this.all((helper, i, tell) => {
        const mine = rows.filter((_, place) => place % this.helpers.length === i);
        return helper.do("hold", {name, rows: mine, receptors: mine.map(row => loopsOfRow(row, loci))}, tell);
      }, progress);
    }
    async nearest(name, queries, k, progress) {
      const parts = await this.all((helper, _, tell) => helper.do("nearest", {name, queries, k}, tell), progress);
      return parts[0].map((_, i) => parts.flatMap(part => part[i]).sort((a, b) => a[1] - b[1] || a[0] - b[0]).slice(0, k));
    }
    end() { for (const {worker} of this.helpers) worker.terminate(); }
  }

  const loopsOf = (chainOf, loci) => model.shape.loops.map(loop => {
    const chain = loci.includes(`tr${loop.at(-1)}`) && chainOf(`tr${loop.at(-1)}`);
    return !chain ? "" : loop.startsWith("cdr3") ? chain.junction || "" : chain.cdrs ? chain.cdrs[Number(loop[3]) - 1] : "";
  });
  const speciesOfRow = row => data.species.values[data.species.codes ? data.species.codes[row] : 0];
  const field = (row, locus, name) => word(data.fields[`${locus}_${name}`], row);
  function loopsOfRow(row, loci) {
    const {genes, loops} = model.species[speciesOfRow(row)];
    return loopsOf(locus => ({junction: field(row, locus, "junction_aa"), cdrs: loops[genes[field(row, locus, "v_call")]]}), loci);
  }
  const chainName = (row, locus) => ["v_call", "junction_aa", "j_call"].map(name => field(row, locus, name)).filter(Boolean).join(" ");
  const pastedName = (receptor, locus) => receptor[locus] ? [receptor[locus].v, receptor[locus].junction].filter(Boolean).join(" ") : "";
  const chainWords = loci => loci.length > 1 ? "αβ pairs" : `${pasted.GREEK[loci[0]]} chains`;

  // The receptors of the map with these chains: how many, and the median distance of some to the nearest other.
  async function holding(loci, tell) {
    const name = [species.value, ...loci].join(" ");
    if (crew.held.has(name)) return crew.held.get(name);
    const rows = compared.filter(row => speciesOfRow(row) === species.value && loci.every(locus => field(row, locus, "junction_aa")));
    await crew.hold(name, rows, loci, done => tell(`Embedding ${chainWords(loci)} of the run`, done, rows.length));
    const some = rows.filter((_, i) => i % Math.ceil(rows.length / SAMPLE) === 0);
    const near = await crew.nearest(name, await crew.embed(some.map(row => loopsOfRow(row, loci))), 2);
    const others = near.map((found, i) => found.find(([row]) => row !== some[i])?.[1]).filter(distance => distance !== undefined);
    const made = {name, n: rows.length, median: others.sort((a, b) => a - b)[others.length >> 1]};
    crew.held.set(name, made);
    return made;
  }

  // Where Python would place it: the mean of the three nearest, by inverse distance.
  function place(nearest) {
    const some = nearest.slice(0, NEAREST_FOR_PLACE), weights = some.map(([, distance]) => 1 / (distance + 1e-6));
    const total = weights.reduce((a, b) => a + b, 0);
    return [data.x, data.y].map(axis => some.reduce((sum, [row], i) => sum + weights[i] / total * axis[row], 0));
  }

  // Answers of all receptors, in the order of their lines.
  async function answer(receptors, tell) {
    crew = crew || new Crew();
    const groups = new Map();
    for (const receptor of receptors) {
      const key = receptor.loci.join(" ");
      if (!groups.has(key)) groups.set(key, []);
      groups.get(key).push(receptor);
    }
    const made = [];
    for (const group of groups.values()) {
      const {loci} = group[0], {name, n, median} = await holding(loci, tell);
      const vectors = await crew.embed(group.map(receptor => loopsOf(locus => receptor[locus], loci)),
        done => tell("Embedding", done, group.length));
      const found = n ? await crew.nearest(name, vectors, K, done => tell("Searching", done, group.length * crew.helpers.length)) : [];
      group.forEach((receptor, i) => made.push({receptor, loci, n, median, nearest: found[i] || [],
        vector: vectors.subarray(i * model.shape.d, (i + 1) * model.shape.d)}));
    }
    return made.sort((a, b) => a.receptor.line - b.receptor.line);
  }

  function table(found) {
    const made = element("table"), head = element("tr"), body = element("tbody");
    head.append(...["", "Distance", "α chain", "β chain", "Cells", ...columns.map(({title}) => title)].map((title, i) => {
      const cell = element("th", title, i === 1 || i === 4 ? "number" : "");
      cell.scope = "col";
      return cell;
    }));
    found.nearest.forEach(([row, distance], i) => {
      const line = element("tr"), button = element("button", i + 1, "small"), cell = element("td");
      button.type = "button";
      button.setAttribute("aria-label", `Show neighbour ${i + 1} on the map`);
      button.onclick = () => receptorMap.show(row);
      cell.append(button);
      line.append(cell, element("td", distance.toFixed(3), "number"), element("td", chainName(row, "tra")), element("td", chainName(row, "trb")),
        element("td", data.cells[row] === null ? "" : number(data.cells[row]), "number"), ...columns.map(column => element("td", words(column, row))));
      body.append(line);
    });
    const header = element("thead"), scroll = element("div", undefined, "scroll");
    header.append(head);
    made.append(header, body);
    scroll.append(made);
    return scroll;
  }
  function answerItem(found) {
    const {receptor, loci, nearest} = found, item = element("details"), summary = element("summary");
    item.name = "answer";
    summary.append(element("b", `Line ${receptor.line}`), ` ${["tra", "trb"].map(locus => pastedName(receptor, locus)).filter(Boolean).join(" · ")} `,
      element("span", nearest.length ? `nearest ${nearest[0][1].toFixed(3)}` : `no ${chainWords(loci)} in the run`, "soft"));
    item.append(summary);
    item.ontoggle = () => {
      if (!item.open) return;
      if (item.children.length === 1 && nearest.length) {
        const button = element("button", "Show on the map");
        button.type = "button";
        button.onclick = () => receptorMap.look();
        item.append(element("p", scaleWords(found), "hint"), table(found), button);
      }
      mark(found);
    };
    return item;
  }
  // What a distance means: how near the run's receptors are to each other, and how far its clusters reach.
  function radiusWords(loci) {
    const [radius, chance] = loci.length > 1 && model.radii[species.value] || [];
    return radius === undefined ? ""
      : ` The clusters of this run join pairs within ${radius.toFixed(3)}, where a pair has ${chance} neighbours by chance.`;
  }
  const scaleWords = ({loci, n, median}) => `Compared with ${number(n)} ${chainWords(loci)} of the ${number(data.n)} receptors of the run`
    + (median === undefined ? "." : `. For scale: half of these ${chainWords(loci)} have another one within ${median.toFixed(3)}. Vectors have length 1; 0 is the same receptor, 2 the largest distance.${radiusWords(loci)}`);
  function mark(open) {
    const shown = answers.slice(0, MOST_SHOWN).filter(found => found.nearest.length);
    receptorMap.mark(shown.map(found => ({place: place(found.nearest), label: String(found.receptor.line), open: found === open})),
      open ? open.nearest.map(([row]) => row) : []);
  }

  function tell(what, done, of) {
    state.textContent = `${what}: ${number(done)} of ${number(of)}`;
    bar.max = of;
    bar.value = done;
  }
  function clear() {
    answers = [];
    $("refused").replaceChildren();
    $("answers").replaceChildren();
    $("ask-save").disabled = true;
    state.textContent = "";
    mark(null);
  }
  function working(yes) {
    state.setAttribute("aria-live", yes ? "off" : "polite"); // a screen reader would read each step
    $("ask-find").disabled = yes;
    bar.hidden = $("ask-stop").hidden = !yes;
    if (!yes && document.activeElement === document.body) $("ask-find").focus({preventScroll: true});
  }
  async function find() {
    clear();
    const {receptors, refused} = pasted.read($("pasted").value, model.species[species.value], model.longest, modelLoci);
    $("refused").append(...refused.slice(0, MOST_SHOWN).map(({line, problem}) => element("li", `Line ${line}: ${problem}.`)));
    if (refused.length > MOST_SHOWN) $("refused").append(element("li", `And ${number(refused.length - MOST_SHOWN)} other lines.`));
    const counted = (n, noun) => `${number(n)} ${noun}${n === 1 ? "" : "s"}`;
    const read = `${counted(receptors.length, "receptor")} read, ${counted(refused.length, "line")} not read. `;
    if (!receptors.length) { state.textContent = refused.length ? read : "Paste a receptor first."; return; }
    working(true);
    try {
      const stopped = new Promise((_, fail) => { stop = () => fail(new Error("stopped")); });
      answers = await Promise.race([answer(receptors, tell), stopped]);
      $("answers").append(...answers.slice(0, MOST_SHOWN).map(found => answerItem(found)));
      $("answers").firstElementChild.open = true;
      working(false); // before the result, so that it is read out
      state.textContent = read + (answers.length > MOST_SHOWN ? `The first ${MOST_SHOWN} are shown; the file holds all.` : "");
      $("ask-save").disabled = false;
    } catch (error) {
      if (crew) crew.end();
      crew = null;
      working(false);
      state.textContent = error.message === "stopped" ? "Stopped." : `This browser cannot embed receptors: ${error.message}`;
    }
  }

  function tsv() {
    // A cell that begins as a formula would be run by a spreadsheet, an escape sequence by a terminal.
    const cell = value => String(value).replace(/[\x00-\x1f\x7f-\x9f]/g, " ").replace(/^(?=[=+@-])/, "'");
    const head = ["line", "alpha_chain", "beta_chain", "compared", "rank", "distance", "nearest_receptor_id", "nearest_alpha_chain",
      "nearest_beta_chain", "n_cells", ...columns.map(({title}) => title)];
    const lines = answers.flatMap(({receptor, loci, nearest}) => nearest.map(([row, distance], i) => [
      receptor.line, pastedName(receptor, "tra"), pastedName(receptor, "trb"), chainWords(loci), i + 1, distance.toFixed(5), data.ids[row],
      chainName(row, "tra"), chainName(row, "trb"), data.cells[row] ?? "", ...columns.map(column => words(column, row))]));
    return [head, ...lines].map(line => line.map(cell).join("\t")).join("\n") + "\n";
  }

  const names = Object.keys(model.species);
  species.append(...names.map(name => { const option = element("option", model.species[name].title); option.value = name; return option; }));
  $("ask-species-label").hidden = names.length < 2;
  $("ask-about").textContent = `Paste receptors, one a line: V gene and junction of an α chain, a β chain or both. The page embeds them with the model of the run, ${model.model}, `
    + "and shows the nearest receptors of the map: pairs among pairs, a single chain among all receptors with such a chain."
    + (model.compared < data.x.length ? ` To keep this quick, ${number(model.compared)} of the ${number(data.n)} receptors are compared.` : "");
  $("ask-form").onsubmit = event => { event.preventDefault(); find(); };
  $("pasted").onkeydown = event => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) $("ask-form").requestSubmit(); };
  $("ask-stop").onclick = () => stop();
  $("ask-clear").onclick = () => { $("pasted").value = ""; clear(); $("pasted").focus(); };
  $("ask-save").onclick = () => receptorMap.save("nearest_receptors.tsv", tsv(), "text/tab-separated-values");
  return {Helper, answers: () => answers, read: text => pasted.read(text, model.species[species.value], model.longest, modelLoci), loopsOf};
})();
