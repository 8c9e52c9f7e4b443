// Pasted lines → receptors, or why not. Names of genes are those that airrvec/input/calls.py accepts, of a table in the
// page; words of a line come in any order.
"use strict";
const pasted = (() => {
  const LOCI = {A: "tra", B: "trb"}, GREEK = {tra: "α", trb: "β"};
  const BETWEEN = /[\s,;|"']+/, NOTHING = /^(none|nan?|null|unknown|[-.]|[\d.]+)$/i;
  const GENE = /^(?:(?:homsap|human|musmus|mouse|h|m)_?)?TC?R([A-Z])(?=.*\d)/i, LABEL = /^(?:TR([AB])|(alpha|α)|(beta|β))$/i;
  const AMINO_ACIDS = "ACDEFGHIKLMNPQRSTVWY";

  // One spelling of a name: TCRBV06-02*01 and TRBV6-2*01, TRAV14DV4 and TRAV14/DV4 are the same.
  function spelling(word) {
    const [gene, allele = ""] = word.toUpperCase().replace(/\([\d.]+\)$/, "").replace(/:(\d\d)$/, "*$1").split("*");
    const plain = gene.replace(/^[A-Z]*?_?TC?R(?=[A-Z]+\d)/, "TR").replace(/([A-Z-])0+(?=\d)/g, "$1").replaceAll("/", "");
    return {gene: plain, allele: /^0*$/.test(allele) ? "" : `*${allele.padStart(2, "0")}`};
  }
  const tables = new Map();
  function table(genes) {
    if (!tables.has(genes)) tables.set(genes, new Map(Object.keys(genes).map(name => {
      const {gene, allele} = spelling(name);
      return [gene + allele, name];
    })));
    return tables.get(genes);
  }
  // The name in the table, of the gene if it lacks the allele; TRBV19-1 is TRBV19, as Adaptive writes it.
  function known(word, genes) {
    const {gene, allele} = spelling(word), names = table(genes);
    return [gene + allele, gene, gene.replace(/-1$/, "") + allele, gene.replace(/-1$/, "")].map(name => names.get(name)).find(Boolean);
  }
  function edits(a, b) {
    let last = Array.from({length: b.length + 1}, (_, j) => j);
    for (let i = 1; i <= a.length; i++) {
      const row = [i];
      for (let j = 1; j <= b.length; j++) row.push(Math.min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] !== b[j - 1])));
      last = row;
    }
    return last[b.length];
  }
  function nearestName(word, genes) {
    const {gene} = spelling(word);
    const names = Object.keys(genes).filter(name => genes[name] >= 0 && !name.includes("*"));
    const same = (a, b) => [...a].findIndex((letter, i) => letter !== b[i]) + 1 || a.length + 1; // where they part
    const away = name => edits(gene, spelling(name).gene) - same(gene, name) / 100;
    return names.reduce((best, name) => away(name) < away(best) ? name : best);
  }

  // Thousands of lines have a few hundred genes: each is read once.
  const readBefore = new WeakMap();
  function readGene(word, species) {
    if (!readBefore.has(species)) readBefore.set(species, new Map());
    const before = readBefore.get(species);
    if (!before.has(word)) before.set(word, readNewGene(word, species));
    return before.get(word);
  }
  function readNewGene(word, {genes, loops, frames}) {
    const locus = LOCI[word.match(GENE)[1].toUpperCase()], name = known(word, genes);
    if (!locus && !name) return {problem: `${word} is no gene of an α or β chain`};
    if (/^TR[AB]J/.test(spelling(word).gene)) return {locus, segment: "J"}; // it names the chain, no model reads it
    if (!name) return {locus, segment: "V", problem: `${word} is not a V gene listed by IMGT; the nearest name is ${nearestName(word, genes)}`};
    if (genes[name] < 0) return {locus, segment: "V", problem: `${word} is a pseudogene according to IMGT`};
    if (frames.includes(name)) return {locus, segment: "V", problem: `${word} is an open reading frame according to IMGT`};
    return {locus: locus || "tra", segment: "V", v: name, cdrs: loops[genes[name]]}; // TRDV genes known here are α genes too
  }
  function junctionProblem(word, longest, ends) {
    if (word.includes("*")) return `${word} holds a stop codon (*)`;
    if (/[_~#]/.test(word)) return `${word} is out of frame (_)`;
    if (word.length > longest) return `the junction has more than ${longest} residues`;
    const other = [...word].find(letter => !AMINO_ACIDS.includes(letter));
    if (other) return `${word} holds ${other}, which is no amino acid`;
    const begun = word.startsWith("C");
    if (begun && (/.[FW]$/.test(word) || ends.some(end => word.endsWith(end)))) return null;
    const whole = `${begun ? "" : "C"}${word}F`;
    return `${word} is no junction from C to F or W; if the conserved ends are missing, write ${whole}`;
  }

  // A receptor, { tra, trb }, each { v, cdrs, junction } or absent; or { problem }.
  function readLine(text, genes, longest) {
    const words = text.split(BETWEEN).filter(word => word && !NOTHING.test(word)).flatMap(word =>
      word.includes("/") && !known(word, genes.genes) ? word.split("/").filter(part => part && !NOTHING.test(part)) : [word]);
    const chains = {}, junctions = [], problems = [];
    for (const word of words) {
      const label = word.match(LABEL);
      if (label) { chains[label[1] ? LOCI[label[1].toUpperCase()] : label[2] ? "tra" : "trb"] ??= {}; continue; }
      if (!GENE.test(word)) {
        const upper = word.toUpperCase(), problem = junctionProblem(upper, longest, genes.ends);
        if (problem) problems.push(problem); else junctions.push(upper);
        continue;
      }
      const {problem, locus, segment, v, cdrs} = readGene(word, genes);
      if (!locus) return {problem};
      const chain = chains[locus] ??= {};
      if (segment === "V" && !chain.v) Object.assign(chain, {v, cdrs, problem}); // of several, the first functional one
    }
    const loci = Object.keys(chains), wrong = loci.find(locus => chains[locus].problem);
    if (wrong) return {problem: chains[wrong].problem};
    if (junctions.length < loci.length || !junctions.length) {
      const lacking = loci.length > 1 && junctions.length ? "there is one junction for two chains" : "there is no junction";
      return {problem: problems[0] || lacking};
    }
    if (!loci.length) return {problem: `${junctions[0]} has no V or J gene, which tell the chain`};
    if (junctions.length > loci.length)
      return {problem: `there are ${junctions.length} junctions, and genes of ${loci.length === 1 ? "one chain" : "two chains"}`};
    return Object.fromEntries(loci.map((locus, i) => [locus, {v: chains[locus].v, cdrs: chains[locus].cdrs, junction: junctions[i]}]));
  }

  // Receptors with their line numbers, those that `loci` of the model cannot read left out; and lines refused.
  function read(text, genes, longest, loci) {
    const receptors = [], refused = [];
    text.split(/\r\n?|\n/).forEach((line, i) => {
      if (!line.trim()) return;
      const found = readLine(line, genes, longest), chains = Object.keys(found).filter(locus => loci.includes(locus));
      if (!found.problem && !chains.length) found.problem = `the model reads ${GREEK[loci[0]]} chains only`;
      if (found.problem) refused.push({line: i + 1, problem: found.problem});
      else receptors.push({line: i + 1, ...found, loci: loci.filter(locus => chains.includes(locus))});
    });
    return {receptors, refused};
  }
  return {read, known, GREEK};
})();
