// Kernels of the embedding, in WebAssembly: four numbers at once, which plain JavaScript cannot do. The functions
// below write the module, about a thousand bytes, when the page needs it; airrvec/model/cpu/kernels.py is the model.
// Arrays are transposed, (d, columns): one column per token. Sizes of steps from row to row are in bytes.
"use strict";

const LANES = 4, BYTES = 4;
const ROWS = 4, VECTORS = 2; // a block of a product, summed in registers: 4 rows of 2 times 4 columns
const EPSILON = 1e-5; // of the layer norms
// 2^f for f from -1/2 to 1/2, by Chebyshev interpolation; highest power first, relative error 1e-7.
const POWER_OF_TWO = [0.0013390863, 0.009676032, 0.05550357, 0.24022107, 0.6931472, 1.0000001];

// Numbers as WebAssembly writes them: LEB128, seven bits a byte.
function integer(value) {
  const bytes = [];
  for (;;) {
    const byte = value & 127;
    value >>= 7;
    if ((value === 0 && !(byte & 64)) || (value === -1 && byte & 64)) return [...bytes, byte];
    bytes.push(byte | 128);
  }
}
function length(value) {
  return value < 128 ? [value] : [value & 127 | 128, ...length(value >> 7)];
}
const counted = bytes => [...length(bytes.length), ...bytes];
const section = (number, parts) => [number, ...counted([...length(parts.length), ...parts.flat()])];

// Instructions. Operands come first, as on the stack.
const op = (...code) => (...operands) => [...operands.flat(), ...code];
const vector = number => op(0xfd, ...length(number));
const add = op(0x6a), times = op(0x6c), minus = op(0x6b), below = op(0x49);
const vectorAdd = vector(0xe4), vectorMinus = vector(0xe5), vectorTimes = vector(0xe6), vectorDivide = vector(0xe7);
const vectorMaximum = vector(0xeb), root = vector(0xe3), truncated = vector(0xf8), converted = vector(0xfa);
const shifted = vector(0xab), integersAdd = vector(0xae), spread = vector(0x13), toFloat = op(0xb2);
const constant = value => [0x41, ...integer(value)];
const vectorConstant = value => [0xfd, 12, ...new Uint8Array(new Float32Array(LANES).fill(value).buffer)];
const load = (address, offset = 0) => [...address, 0xfd, 0, 2, ...length(offset)];
const loadSpread = (address, offset = 0) => [...address, 0xfd, 9, 2, ...length(offset)]; // one number, four times
const store = (address, value, offset = 0) => [...address, ...value, 0xfd, 11, 2, ...length(offset)];
const loop = (condition, ...body) => [0x02, 0x40, 0x03, 0x40, ...condition, 0x45, 0x0d, 1, ...body.flat(), 0x0c, 0, 0x0b, 0x0b];

// A function: names of its parameters, and what `write` makes of its variables. Parameters and `integers` are
// 32-bit integers; `vectors` hold four float32.
function routine(name, parameters, integers, vectors, write) {
  const names = [...parameters, ...integers, ...vectors];
  const place = word => {
    if (!names.includes(word)) throw new Error(`${name} has no variable ${word}`);
    return names.indexOf(word);
  };
  const get = word => [0x20, place(word)], set = (word, value) => [...value, 0x21, place(word)];
  const raise = (word, value) => set(word, add(get(word), value));
  const locals = [2, ...length(integers.length), 0x7f, ...length(vectors.length), 0x7b];
  const code = counted([...locals, ...write(get, set, raise).flat(), 0x0b]);
  return {name, type: [0x60, ...counted(parameters.map(() => 0x7f)), 0], code};
}

// out (m, columns) = bias + weight (m, n) · x (n, columns); `rectified` makes negative numbers 0.
function product(name, rectified) {
  const parameters = ["weight", "rowStep", "step", "x", "xStep", "bias", "out", "outStep", "m", "n", "columns"];
  const count = (word, number) => Array.from({length: number}, (_, i) => word + i);
  const integers = ["i", "j", "column", "end", "from", "to", ...count("w", ROWS)];
  const vectors = ["number", ...count("x", VECTORS), ...count("total", ROWS * VECTORS)];
  return routine(name, parameters, integers, vectors, (get, set, raise) => {
    const block = (rows, wide) => {
      const places = count("", rows * wide).map(Number).map(i => [Math.floor(i / wide), i % wide, `total${i}`]);
      return [
        ...count("", rows).flatMap(r => set(`w${r}`, add(get("weight"), times(add(get("i"), constant(+r)), get("rowStep"))))),
        ...places.flatMap(([r, , total]) => set(total, loadSpread(add(get("bias"), times(get("i"), constant(BYTES))), BYTES * r))),
        ...set("from", add(get("x"), get("column"))),
        ...set("j", get("n")),
        ...loop(get("j"),
          ...count("", wide).map(c => set(`x${c}`, load(get("from"), LANES * BYTES * c))),
          ...count("", rows).map(r => [
            ...set("number", loadSpread(get(`w${r}`))),
            ...places.filter(place => place[0] === +r).flatMap(([, c, total]) =>
              set(total, vectorAdd(get(total), vectorTimes(get("number"), get(`x${c}`))))),
            ...raise(`w${r}`, get("step")),
          ]),
          raise("from", get("xStep")),
          set("j", minus(get("j"), constant(1)))),
        ...set("to", add(get("out"), add(times(get("i"), get("outStep")), get("column")))),
        ...count("", rows).flatMap(r => [
          ...places.filter(place => place[0] === +r).flatMap(([, c, total]) => store(get("to"),
            rectified ? vectorMaximum(vectorConstant(0), get(total)) : get(total), LANES * BYTES * c)),
          ...raise("to", get("outStep")),
        ]),
        ...raise("i", constant(rows)),
      ];
    };
    // All rows of some columns, then the next columns: these stay in the cache.
    const panel = wide => loop(below(add(get("column"), constant((wide - 1) * LANES * BYTES)), get("end")),
      set("i", constant(0)),
      loop(below(add(get("i"), constant(ROWS - 1)), get("m")), block(ROWS, wide)),
      loop(below(get("i"), get("m")), block(1, wide)),
      raise("column", constant(wide * LANES * BYTES)));
    return [set("end", times(get("columns"), constant(BYTES))), set("column", constant(0)), panel(VECTORS), panel(1)];
  });
}

// Replaces scores (keys, columns) by 2^(score - largest), divided by their sum over the keys.
const softmax = () => routine("softmax", ["scores", "step", "keys", "columns"], ["j", "at", "start", "end"],
  ["largest", "sum", "x", "whole", "power"], (get, set, raise) => {
    const keys = (...body) => [...set("at", get("start")), ...set("j", get("keys")),
      ...loop(get("j"), ...body, raise("at", get("step")), set("j", minus(get("j"), constant(1))))];
    const [highest, ...lower] = POWER_OF_TWO;
    return [
      set("start", get("scores")),
      set("end", add(get("start"), times(get("columns"), constant(BYTES)))),
      loop(below(get("start"), get("end")),
        set("largest", load(get("start"))),
        keys(set("largest", vectorMaximum(get("largest"), load(get("at"))))),
        set("sum", vectorConstant(0)),
        keys(
          // 2^-125 is as good as 0. The integer part sets the exponent's bits, a polynomial gives the rest.
          set("x", vectorMaximum(vectorMinus(load(get("at")), get("largest")), vectorConstant(-125))),
          set("whole", truncated(vectorMinus(get("x"), vectorConstant(.5)))),
          set("x", vectorMinus(get("x"), converted(get("whole")))),
          set("power", vectorConstant(highest)),
          lower.flatMap(value => set("power", vectorAdd(vectorTimes(get("power"), get("x")), vectorConstant(value)))),
          set("power", integersAdd(get("power"), shifted(get("whole"), constant(23)))),
          store(get("at"), get("power")),
          set("sum", vectorAdd(get("sum"), get("power")))),
        set("sum", vectorDivide(vectorConstant(1), get("sum"))),
        keys(store(get("at"), vectorTimes(load(get("at")), get("sum")))),
        raise("start", constant(LANES * BYTES))),
    ];
  });

// Replaces x by the layer norm of x + y over the d numbers of each column (d, columns).
const addAndNormalise = () => routine("addAndNormalise", ["x", "y", "step", "scale", "shift", "d", "columns"],
  ["j", "at", "other", "place", "end", "column"], ["mean", "sum", "z"], (get, set, raise) => {
    const rows = (...body) => [...set("at", add(get("x"), get("column"))), ...set("other", add(get("y"), get("column"))),
      ...set("place", constant(0)), ...set("j", get("d")),
      ...loop(get("j"), ...body, raise("at", get("step")), raise("other", get("step")), raise("place", constant(BYTES)),
        set("j", minus(get("j"), constant(1))))];
    const overD = value => vectorDivide(value, spread(toFloat(get("d"))));
    return [
      set("column", constant(0)),
      set("end", times(get("columns"), constant(BYTES))),
      loop(below(get("column"), get("end")),
        set("sum", vectorConstant(0)),
        rows(
          set("z", vectorAdd(load(get("at")), load(get("other")))),
          store(get("at"), get("z")),
          set("sum", vectorAdd(get("sum"), get("z")))),
        set("mean", overD(get("sum"))),
        set("sum", vectorConstant(0)),
        rows(
          set("z", vectorMinus(load(get("at")), get("mean"))),
          store(get("at"), get("z")),
          set("sum", vectorAdd(get("sum"), vectorTimes(get("z"), get("z"))))),
        set("sum", vectorDivide(vectorConstant(1), root(vectorAdd(overD(get("sum")), vectorConstant(EPSILON))))),
        rows(store(get("at"), vectorAdd(
          vectorTimes(vectorTimes(load(get("at")), get("sum")), loadSpread(add(get("scale"), get("place")))),
          loadSpread(add(get("shift"), get("place")))))),
        raise("column", constant(LANES * BYTES))),
    ];
  });

// The compiled kernels, which work on `memory`.
function compiled(memory) {
  const routines = [product("product", false), product("productRectified", true), softmax(), addAndNormalise()];
  const named = text => counted([...text].map(letter => letter.charCodeAt(0)));
  const module = new WebAssembly.Module(new Uint8Array([
    ..."\0asm", 1, 0, 0, 0].map(byte => typeof byte === "string" ? byte.charCodeAt(0) : byte).concat(
    section(1, routines.map(({type}) => type)),
    section(2, [[...named("page"), ...named("memory"), 2, 0, 1]]),
    section(3, routines.map((_, i) => [i])),
    section(7, routines.map(({name}, i) => [...named(name), 0, i])),
    section(10, routines.map(({code}) => code)))));
  return new WebAssembly.Instance(module, {page: {memory}}).exports;
}
