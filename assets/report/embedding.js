// The model of the run in the browser: receptors → vectors, and the nearest of those held. It runs in workers, after
// kernels.js. Equal names do the same as in airrvec/model/cpu/inference.py and airrvec/model/tokens.py.
"use strict";

const AMINO_ACIDS = "ACDEFGHIKLMNPQRSTVWY", CLS = 2, FIRST_AMINO_ACID = 3;
const TOKENS_PER_BATCH = 400; // few enough that the widest array stays in a core's cache
const MOST_TOKENS = 256; // of a receptor; two junctions of 60 residues and four germline loops have fewer
const HELD_PER_BLOCK = 1024, QUERIES_AT_ONCE = 32, SPARE = 6; // candidates beyond those wanted
// An odd number of cache lines from row to row: with a power of two all rows would share a few places of the cache.
const stride = columns => Math.ceil(columns / 32) * 32 + 16;

// Memory of the kernels, handed out from the beginning and never returned.
class Heap {
  constructor() {
    this.memory = new WebAssembly.Memory({initial: 1});
    this.end = 16;
  }
  // The address of so many float32.
  take(count) {
    const address = this.end;
    this.end += Math.ceil(count / 16) * 64;
    const missing = this.end - this.memory.buffer.byteLength;
    if (missing > 0) this.memory.grow(Math.ceil(missing / 65536));
    return address;
  }
  put(numbers) {
    const address = this.take(numbers.length);
    this.view(address, numbers.length).set(numbers);
    return address;
  }
  // Valid until the next `take`, which may move the memory.
  view(address, count) { return new Float32Array(this.memory.buffer, address, count); }
}

class Network {
  // `shape`: d, heads, wide, layers, pooling, relative, loops, words, places; `weights`: float32 in the order of
  // airrvec/figures/map_page.py.
  constructor(shape, weights) {
    Object.assign(this, shape);
    this.heap = new Heap();
    this.kernels = compiled(this.heap.memory);
    let at = 0;
    const next = count => weights.slice(at, at += count);
    const {d, wide} = this;
    this.ofWord = next(d * this.words);
    this.ofPlace = next(d * this.places);
    this.layers = Array.from({length: shape.layers}, () => this.layer(next, d, wide));
    if (at !== weights.length) throw new Error("the weights do not have the model's shape");
    const columns = this.columns = stride(TOKENS_PER_BATCH + MOST_TOKENS);
    this.nothing = this.heap.put(new Float32Array(Math.max(2 * d, MOST_TOKENS)));
    for (const [name, rows] of [["x", d], ["y", d], ["cls", d], ["query", d], ["keyValue", 2 * d], ["expanded", wide]])
      this[name] = this.heap.take(rows * columns);
    this.scoreColumns = stride(MOST_TOKENS);
    this.scores = this.heap.take(MOST_TOKENS * this.scoreColumns);
  }

  layer(next, d, wide) {
    const qkv = next(3 * d * d), qkvBias = next(3 * d), out = next(d * d), outBias = next(d);
    const size = d / this.heads, scale = Math.LOG2E / Math.sqrt(size); // softmax by powers of two
    const put = numbers => this.heap.put(numbers);
    // The keys' bias adds the same number to all scores of a query. The values' bias passes the softmax unchanged.
    for (let i = 0; i < d; i++) for (let j = 0; j < d; j++) outBias[i] += out[i * d + j] * qkvBias[2 * d + j];
    return {
      query: put(qkv.subarray(0, d * d).map(value => value * scale)), queryBias: put(qkvBias.subarray(0, d).map(value => value * scale)),
      keyValue: put(qkv.subarray(d * d)),
      out: put(out), outBias: put(outBias),
      expand: put(next(wide * d)), expandBias: put(next(wide)),
      contract: put(next(d * wide)), contractBias: put(next(d)),
      norm1: [put(next(d)), put(next(d))], norm2: [put(next(d)), put(next(d))],
    };
  }

  // `<cls>` and the residues of a receptor's loops: pairs of residue and loop, and positions.
  tokens(loops) {
    const words = [CLS * (this.loops.length + 1)], places = [0], factors = [this.relative ? 0 : 1];
    loops.forEach((loop, number) => {
      for (let i = 0; i < loop.length; i++) {
        const residue = AMINO_ACIDS.indexOf(loop[i]);
        if (residue < 0) continue; // a gap of the germline counts as a position but has no token
        words.push((FIRST_AMINO_ACID + residue) * (this.loops.length + 1) + number + 1);
        places.push(this.relative ? 0 : i + 1);
        factors.push(!this.relative ? 1 : loop.length === 1 ? .5 : i / (loop.length - 1));
      }
    });
    return {words, places, factors};
  }

  // Vectors of receptors, each a list of the model's loops: (n, d), of length 1; NaN without a loop.
  embed(receptors, progress = () => {}) {
    const vectors = new Float32Array(receptors.length * this.d).fill(NaN);
    let batch = [], waiting = 0;
    const flush = done => {
      if (batch.length) this.forward(batch, waiting, vectors);
      batch = [];
      waiting = 0;
      progress(done);
    };
    receptors.forEach((loops, row) => {
      const tokens = this.tokens(loops), count = tokens.words.length;
      if (count < 2) return;
      if (count > MOST_TOKENS) throw new Error(`a receptor has more than ${MOST_TOKENS} residues`);
      if (waiting + count > TOKENS_PER_BATCH) flush(row);
      batch.push({row, first: waiting, count, ...tokens});
      waiting += count;
    });
    flush(receptors.length);
    return vectors;
  }

  forward(batch, columns, vectors) {
    const {d, heap} = this, x = heap.view(this.x, d * this.columns);
    for (const {first, words, places, factors} of batch) for (let t = 0; t < words.length; t++)
      for (let i = 0; i < d; i++)
        x[i * this.columns + first + t] = this.ofWord[i * this.words + words[t]] + factors[t] * this.ofPlace[i * this.places + places[t]];
    const last = this.layers.at(-1);
    for (const layer of this.layers) if (layer !== last) this.apply(layer, batch, columns, this.x, false);
    if (this.pooling === "cls") {
      const cls = heap.view(this.cls, d * this.columns);
      batch.forEach(({first}, number) => {
        for (let i = 0; i < d; i++) cls[i * this.columns + number] = x[i * this.columns + first];
      });
      this.apply(last, batch, columns, this.cls, true);
    }
    const pooled = heap.view(this.pooling === "cls" ? this.cls : this.x, d * this.columns);
    batch.forEach(({row, first, count}, number) => {
      const vector = vectors.subarray(row * d, (row + 1) * d);
      for (let i = 0; i < d; i++) {
        if (this.pooling === "cls") { vector[i] = pooled[i * this.columns + number]; continue; }
        let sum = 0;
        for (let t = 1; t < count; t++) sum += pooled[i * this.columns + first + t];
        vector[i] = sum / (count - 1);
      }
      const norm = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0));
      for (let i = 0; i < d; i++) vector[i] /= norm;
    });
  }

  // One layer; with `clsOnly` the queries are the `<cls>` of each receptor, a column each in `into`.
  apply(layer, batch, columns, into, clsOnly) {
    const {d, wide, kernels, y} = this, wanted = clsOnly ? batch.length : columns;
    const multiply = (weight, bias, from, to, m, n, count, name = "product") =>
      kernels[name](weight, BYTES * n, BYTES, from, BYTES * this.columns, bias, to, BYTES * this.columns, m, n, count);
    multiply(layer.query, layer.queryBias, into, this.query, d, d, wanted);
    multiply(layer.keyValue, this.nothing, this.x, this.keyValue, 2 * d, d, columns);
    this.attend(batch, clsOnly);
    multiply(layer.out, layer.outBias, y, this.query, d, d, wanted);
    kernels.addAndNormalise(into, this.query, BYTES * this.columns, ...layer.norm1, d, wanted);
    multiply(layer.expand, layer.expandBias, into, this.expanded, wide, d, wanted, "productRectified");
    multiply(layer.contract, layer.contractBias, this.expanded, y, d, wide, wanted);
    kernels.addAndNormalise(into, y, BYTES * this.columns, ...layer.norm2, d, wanted);
  }

  // Attention of the queries, into `y`. Columns are computed in fours: those too many belong to the next receptor,
  // which overwrites them, or to nobody.
  attend(batch, clsOnly) {
    const {d, heads, kernels} = this, size = d / heads, step = BYTES * this.columns, wide = BYTES * this.scoreColumns;
    batch.forEach(({first, count}, number) => {
      const queries = clsOnly ? 1 : count, column = BYTES * (clsOnly ? number : first), keys = BYTES * first;
      for (let head = 0; head < heads; head++) {
        const row = head * size * step;
        kernels.product(this.keyValue + row + keys, BYTES, step, this.query + row + column, step,
          this.nothing, this.scores, wide, count, size, queries);
        kernels.softmax(this.scores, wide, count, queries);
        kernels.product(this.keyValue + d * step + row + keys, step, BYTES, this.scores, wide,
          this.nothing, this.y + row + column, step, size, count, queries);
      }
    });
  }
}

// Vectors to search, in blocks of columns, and the rows that they have in the page.
class Held {
  constructor(network, vectors, rows) {
    const {d, heap} = network;
    Object.assign(this, {network, rows, step: stride(HELD_PER_BLOCK)});
    this.blocks = [];
    for (let first = 0; first < rows.length; first += HELD_PER_BLOCK) {
      const count = Math.min(HELD_PER_BLOCK, rows.length - first), address = heap.take(d * this.step);
      const block = heap.view(address, d * this.step);
      for (let c = 0; c < count; c++) for (let i = 0; i < d; i++) block[i * this.step + c] = vectors[(first + c) * d + i];
      this.blocks.push({address, first, count});
    }
    this.queries = heap.take(QUERIES_AT_ONCE * d);
    this.dots = heap.take(QUERIES_AT_ONCE * this.step);
  }

  // For each query, (n, d), the rows and distances of the k nearest, the nearest first.
  nearest(queries, k, progress = () => {}) {
    const {d, heap, kernels} = this.network, step = BYTES * this.step, n = queries.length / d, found = [];
    for (let first = 0; first < n; first += QUERIES_AT_ONCE) {
      const some = queries.subarray(first * d, Math.min(n, first + QUERIES_AT_ONCE) * d), m = some.length / d;
      heap.view(this.queries, some.length).set(some);
      const best = Array.from({length: m}, () => []);
      for (const {address, first: start, count} of this.blocks) {
        kernels.product(this.queries, BYTES * d, BYTES, address, step, this.network.nothing, this.dots, step, m, d, count);
        const dots = heap.view(this.dots, m * this.step);
        for (let query = 0; query < m; query++) select(best[query], dots, query * this.step, count, start, k + SPARE);
      }
      best.forEach((candidates, query) => {
        const exact = candidates.map(([, place]) => [this.rows[place], this.distance(some.subarray(query * d, (query + 1) * d), place)]);
        exact.sort((a, b) => a[1] - b[1] || a[0] - b[0]);
        found.push(exact.slice(0, k));
      });
      progress(first + m);
    }
    return found;
  }

  // The products of vectors lose the last digits of small distances; differences keep them.
  distance(query, place) {
    const {address} = this.blocks[Math.floor(place / HELD_PER_BLOCK)], {d, heap} = this.network;
    const block = heap.view(address, d * this.step), column = place % HELD_PER_BLOCK;
    let sum = 0;
    for (let i = 0; i < d; i++) sum += (query[i] - block[i * this.step + column]) ** 2;
    return Math.sqrt(sum);
  }
}

// Keep the `most` largest numbers, the largest first, in `best`.
function select(best, numbers, from, count, start, most) {
  let least = best.length < most ? -Infinity : best[most - 1][0];
  for (let i = 0; i < count; i++) {
    const value = numbers[from + i];
    if (value <= least) continue;
    let at = best.length;
    while (at > 0 && best[at - 1][0] < value) at--;
    best.splice(at, 0, [value, start + i]);
    if (best.length > most) best.pop();
    if (best.length === most) least = best[most - 1][0];
  }
}

// Messages: { id, work, … } → { id, done } while it goes on, then { id, result } or { id, failed }.
let network, held = {};
const WORK = {
  begin: ({shape, weights}) => { network = new Network(shape, weights); },
  embed: ({receptors}, progress) => network.embed(receptors, progress),
  hold: ({name, receptors, rows}, progress) => { held[name] = new Held(network, network.embed(receptors, progress), rows); },
  nearest: ({name, queries, k}, progress) => held[name].nearest(queries, k, progress),
};
self.onmessage = ({data}) => {
  try {
    const result = WORK[data.work](data, done => self.postMessage({id: data.id, done}));
    self.postMessage({id: data.id, result});
  } catch (error) {
    self.postMessage({id: data.id, failed: error.message});
  }
};
