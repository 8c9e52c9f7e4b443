// The map of receptors. Words of the user's reach the page as text alone.
"use strict";
const receptorMap = (() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const $ = id => document.getElementById(id);
  const PIXELS = 4096, MOST_ROWS = 200;
  // Okabe and Ito's colours for colour-blind readers; after seven the shape changes.
  const COLOURS = ["#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7", "#B8A800"];
  const SHAPES = ["circle", "triangle", "square"];
  const STYLED = COLOURS.length * SHAPES.length, OTHERS = "#6F7985";
  // Colours that follow the reader's light or dark screen, from the style of the page.
  const shade = name => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  const sixDigits = text => text.length === 4 ? `#${[...text.slice(1)].map(digit => digit + digit).join("")}` : text;
  const MOST_LEVELS = 6; // sizes of points: 1, 2 to 3, 4 to 7, … cells; the last is 64 or more
  const n = data.x.length;
  const canvas = $("map"), context = canvas.getContext("2d", {willReadFrequently: true});
  const search = $("search"), tip = $("tip"), callsSearch = $("calls-search");
  let colour = 0, hidden = new Set(), view = {scale: 1, x: 0, y: 0}, found = null, picked = -1, waiting = false;
  let marks = [], ringed = []; // places of pasted receptors, and the rows of those near the one that is open

  const element = (tag, text, className) => {
    const made = document.createElement(tag);
    if (text !== undefined) made.textContent = text;
    if (className) made.className = className;
    return made;
  };
  const number = value => value.toLocaleString("en");
  const word = (column, row) => column.codes[row] < 0 ? "" : column.values[column.codes[row]];
  // All values of a receptor that has several, such as the samples of a public receptor.
  const words = (column, row) => column.details && column.details[row] || word(column, row);

  const capital = text => text.charAt(0).toUpperCase() + text.slice(1);
  // Numbers of several units do not add up; a cell with one chain counts with the pair that has it.
  const counted = row => data.cells[row] === null ? word(data.units, row) || "not counted"
    : data.cells[row] ? number(data.cells[row]) : "none: counted with the pair of this chain";

  // Groups of the legend: the values that have a style, all others, and none.
  function groups() {
    const {values, codes} = data.colours[colour];
    const counts = new Array(values.length + 1).fill(0);
    for (const code of codes) counts[code < 0 ? values.length : code]++;
    const few = values.length <= STYLED ? values.length : STYLED - 1;
    const made = values.slice(0, few).map((name, i) => (
      {key: i, name, n: counts[i], colour: COLOURS[i % COLOURS.length], shape: SHAPES[Math.floor(i / COLOURS.length)]}));
    const rest = counts.slice(few, values.length).reduce((a, b) => a + b, 0);
    if (rest) made.push({key: few, name: `${number(values.length - few)} others`, n: rest, colour: OTHERS, shape: "circle"});
    for (const group of made) if (group.name === "several") group.colour = sixDigits(shade("ink"));
    if (counts[values.length]) made.push({key: -1, name: "none", n: counts[values.length], colour: sixDigits(shade("none")), shape: "circle"});
    return {made, few, of: row => codes[row] < 0 ? -1 : Math.min(codes[row], few)};
  }
  let legend;

  const bySize = $("size"), levels = data.cells.map(cells => Math.min(MOST_LEVELS, Math.floor(Math.log2(Math.max(1, cells)))));
  const growth = row => bySize.checked ? 1 + .4 * levels[row] : 1;

  function haystack() {
    const columns = [...data.colours, ...Object.values(data.fields)];
    return Array.from({length: n}, (_, row) => [data.ids[row], ...columns.map(column => words(column, row))].join("\n").toLowerCase());
  }
  let texts = null;
  function lookUp() {
    const wanted = search.value.trim().toLowerCase();
    if (!wanted) { found = null; return; }
    texts = texts || haystack();
    found = new Uint8Array(n);
    for (let row = 0; row < n; row++) found[row] = texts[row].includes(wanted) ? 1 : 0;
  }
  const visible = row => !hidden.has(legend.of(row));

  // From the data's numbers to the canvas; half a row of points is free on each side.
  function project() {
    const width = canvas.clientWidth, height = canvas.clientHeight;
    const unit = (Math.min(width, height) - 30) / PIXELS * view.scale;
    const left = width / 2 + view.x - unit * middle[0], top = height / 2 + view.y + unit * middle[1];
    const place = (x, y) => [left + unit * x, top - unit * y];
    return {unit, x: row => left + unit * data.x[row], y: row => top - unit * data.y[row], place, left, top};
  }
  const extent = values => [values.reduce((a, b) => Math.min(a, b), PIXELS), values.reduce((a, b) => Math.max(a, b), 0)];
  const middle = [data.x, data.y].map(values => { const [low, high] = extent(values); return (low + high) / 2; });

  function trace(pen, shape, x, y, r) {
    if (shape === "circle") { pen.moveTo(x + r, y); pen.arc(x, y, r, 0, 7); }
    else if (shape === "square") pen.rect(x - r, y - r, 2 * r, 2 * r);
    else { pen.moveTo(x, y - 1.3 * r); pen.lineTo(x + 1.2 * r, y + r); pen.lineTo(x - 1.2 * r, y + r); pen.closePath(); }
  }
  function drawDensity(at) {
    const {size, values} = data.density, side = at.unit * PIXELS / size;
    context.fillStyle = shade("soft");
    values.forEach((value, i) => {
      if (!value) return;
      context.globalAlpha = .05 + .35 * value / 255;
      context.fillRect(at.left + side * Math.floor(i / size), at.top - side * (i % size + 1), side + .5, side + .5);
    });
  }
  // Pixels about the middle of a point, and how much of each it covers. Points are written pixel by pixel:
  // as paths or pictures 50,000 of them would take several times as long.
  function stamp(shape, r) {
    const half = Math.ceil(1.4 * r) + 1, side = 2 * half, picture = document.createElement("canvas"), made = {dx: [], dy: [], cover: []};
    picture.width = picture.height = side;
    const pen = picture.getContext("2d");
    trace(pen, shape, half, half, r);
    pen.fill();
    pen.getImageData(0, 0, side, side).data.forEach((value, i) => {
      if (i % 4 !== 3 || !value) return;
      made.dx.push((i >> 2) % side - half);
      made.dy.push(Math.floor((i >> 2) / side) - half);
      made.cover.push(value / 255);
    });
    return made;
  }
  function blend(pixels, at, rgb, alpha) {
    pixels[at] += (rgb >> 16) * alpha - pixels[at] * alpha;
    pixels[at + 1] += (rgb >> 8 & 255) * alpha - pixels[at + 1] * alpha;
    pixels[at + 2] += (rgb & 255) * alpha - pixels[at + 2] * alpha;
  }
  function draw() {
    waiting = false;
    const ratio = window.devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    if (!canvas.width || !canvas.height) return;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.globalAlpha = 1;
    context.fillStyle = shade("paper");
    context.fillRect(0, 0, width, height);
    const at = project(), radius = Math.min(7, Math.max(1.3, 60 / Math.sqrt(n + 100)) * Math.sqrt(view.scale) + 1);
    if (data.density) drawDensity(at);
    const image = context.getImageData(0, 0, canvas.width, canvas.height);
    const groups = legend.made.filter(group => !hidden.has(group.key));
    // Points without a name lie behind the others. These come by their receptor_id, so that no group hides another.
    const paint = (wanted, alpha, r) => {
      const looks = new Map(groups.map(({key, shape, colour}) => [key, {shape, stamps: [], rgb: parseInt(colour.slice(1), 16)}]));
      for (const behind of [true, false]) for (let row = 0; row < n; row++) {
        const key = legend.of(row), look = looks.get(key);
        if (!look || behind !== (key === -1 || key === legend.few) || !wanted(row)) continue;
        const level = bySize.checked ? levels[row] : 0, rgb = look.rgb;
        const {dx, dy, cover} = look.stamps[level] ??= stamp(look.shape, r * growth(row) * ratio);
        const left = Math.round(at.x(row) * ratio), top = Math.round(at.y(row) * ratio);
        for (let i = 0; i < dx.length; i++) {
          const x = left + dx[i], y = top + dy[i];
          if (x >= 0 && y >= 0 && x < image.width && y < image.height)
            blend(image.data, 4 * (y * image.width + x), rgb, alpha * cover[i]);
        }
      }
    };
    paint(row => !found || !found[row], found ? .12 : .8, radius);
    if (found) paint(row => found[row], 1, radius + 1.2);
    context.putImageData(image, 0, 0);
    drawMarks(at, radius);
    if (picked >= 0) {
      context.strokeStyle = shade("ink");
      context.lineWidth = 2;
      context.beginPath();
      context.arc(at.x(picked), at.y(picked), radius * growth(picked) + 4, 0, 7);
      context.stroke();
    }
    context.globalAlpha = 1;
  }
  // Pasted receptors are diamonds with their numbers; the nearest receptors of the open one have rings.
  function drawMarks(at, radius) {
    context.lineWidth = 2;
    context.strokeStyle = shade("ink");
    for (const row of ringed) {
      context.beginPath();
      context.arc(at.x(row), at.y(row), radius * growth(row) + 2, 0, 7);
      context.stroke();
    }
    context.font = "bold 12px system-ui, sans-serif";
    context.strokeStyle = shade("paper");
    for (const {place, label, open} of [...marks].sort((a, b) => a.open - b.open)) {
      const [x, y] = at.place(...place), r = open ? 8 : 6;
      context.beginPath();
      for (const [dx, dy] of [[0, -r], [r, 0], [0, r], [-r, 0]]) context.lineTo(x + dx, y + dy);
      context.closePath();
      context.fillStyle = shade("ink");
      context.fill();
      context.lineWidth = 2;
      context.stroke();
      context.lineWidth = 3;
      context.strokeText(label, x + r + 2, y + 4);
      context.fillText(label, x + r + 2, y + 4);
    }
  }
  const redraw = () => { if (!waiting) { waiting = true; requestAnimationFrame(draw); } };

  function count() {
    let shown = 0, matching = 0;
    for (let row = 0; row < n; row++) if (visible(row)) { shown++; if (found && found[row]) matching++; }
    $("count").textContent = found ? `${number(matching)} of ${number(shown)} match` : `${number(shown)} shown`;
  }
  function icon(group) {
    const made = document.createElement("canvas");
    made.width = made.height = 28;
    made.style.width = made.style.height = "14px";
    made.style.minHeight = "0";
    made.style.border = "0";
    made.style.flex = "none";
    const pen = made.getContext("2d");
    pen.fillStyle = group.colour;
    pen.beginPath();
    trace(pen, group.shape, 14, 14, 10);
    pen.fill();
    return made;
  }
  function drawLegend() {
    $("legend-title").textContent = data.colours[colour].title;
    $("legend").replaceChildren(...legend.made.map(group => {
      const button = element("button");
      button.type = "button";
      button.title = group.name;
      button.dataset.key = group.key;
      button.setAttribute("aria-pressed", !hidden.has(group.key));
      button.append(icon(group), element("span", group.name, "name"), element("span", number(group.n), "n"));
      button.onclick = () => { hidden.has(group.key) ? hidden.delete(group.key) : hidden.add(group.key); update(); };
      button.ondblclick = () => { hidden = new Set(legend.made.map(other => other.key).filter(key => key !== group.key)); update(); };
      const item = element("li");
      item.append(button);
      return item;
    }));
  }
  // A legend that is made anew would lose the second click of two, and the keyboard's place.
  function update() {
    for (const button of $("legend").querySelectorAll("button"))
      button.setAttribute("aria-pressed", !hidden.has(Number(button.dataset.key)));
    count();
    redraw();
    remember();
  }
  function choose(index) {
    colour = index;
    hidden = new Set();
    legend = groups();
    $("colour").value = index;
    drawLegend();
    update();
  }
  function remember() {
    const state = new URLSearchParams({colour: data.colours[colour].title});
    if (search.value) state.set("search", search.value);
    history.replaceState(null, "", `#${state}`);
  }

  function show(row) {
    const list = element("dl");
    const line = (name, value) => { if (value) list.append(element("dt", name), element("dd", value)); };
    const field = name => word(data.fields[name], row);
    for (const [locus, name] of [["tra", "α"], ["trb", "β"]]) {
      line(name, [field(`${locus}_v_call`), field(`${locus}_j_call`)].filter(Boolean).join(" "));
      line("", field(`${locus}_junction_aa`));
      if (field(`${locus}_junction_aa`)) list.lastElementChild.style.gridColumn = "2";
    }
    for (const column of data.colours) line(column.title, words(column, row));
    line(capital(data.cells[row] && word(data.units, row) || "cells"), counted(row));
    tip.replaceChildren(list);
    tip.hidden = false;
    const at = project(), box = canvas.getBoundingClientRect();
    const x = at.x(row), y = at.y(row);
    tip.style.left = `${Math.max(4, Math.min(box.width - tip.offsetWidth - 4, x + 14))}px`;
    tip.style.top = `${Math.max(4, y + 14 + tip.offsetHeight > box.height ? y - tip.offsetHeight - 14 : y + 14)}px`;
  }
  function pick(row) {
    if (row === picked) return;
    picked = row;
    row < 0 ? tip.hidden = true : show(row);
    redraw();
  }
  const look = () => canvas.scrollIntoView({block: "center"});
  // Show a receptor, wherever the map was moved to.
  function go(row) {
    const {clientWidth: width, clientHeight: height} = canvas, at = project(), x = at.x(row), y = at.y(row);
    if (x < 0 || y < 0 || x > width || y > height) view = {...view, x: view.x + width / 2 - x, y: view.y + height / 2 - y};
    look();
    picked = -1;
    pick(row);
  }
  function nearest(event, reach) {
    const box = canvas.getBoundingClientRect(), at = project();
    const x = event.clientX - box.left, y = event.clientY - box.top;
    let best = -1, least = reach * reach;
    for (let row = 0; row < n; row++) {
      const square = (at.x(row) - x) ** 2 + (at.y(row) - y) ** 2;
      if (square < least && visible(row) && (!found || found[row])) { least = square; best = row; }
    }
    return best;
  }
  function zoom(factor, clientX, clientY) {
    const box = canvas.getBoundingClientRect(), scale = Math.min(200, Math.max(.5, view.scale * factor));
    const x = clientX - box.left - box.width / 2, y = clientY - box.top - box.height / 2, by = scale / view.scale;
    view = {scale, x: x - (x - view.x) * by, y: y - (y - view.y) * by};
    picked = -1;
    tip.hidden = true;
    redraw();
  }
  const pointers = new Map();
  canvas.onpointerdown = event => { canvas.setPointerCapture(event.pointerId); pointers.set(event.pointerId, event); pick(nearest(event, 14)); };
  canvas.onpointerup = canvas.onpointercancel = event => pointers.delete(event.pointerId);
  canvas.onpointerleave = () => { if (!pointers.size) pick(-1); };
  canvas.onpointermove = event => {
    const before = pointers.get(event.pointerId);
    if (!before) {
      if (event.movementX || event.movementY) pick(nearest(event, 10)); // scrolling moves no mouse
      return;
    }
    const others = [...pointers.values()].filter(other => other.pointerId !== event.pointerId);
    pointers.set(event.pointerId, event);
    if (others.length) {
      const apart = one => Math.hypot(one.clientX - others[0].clientX, one.clientY - others[0].clientY) || 1;
      zoom(apart(event) / apart(before), (event.clientX + others[0].clientX) / 2, (event.clientY + others[0].clientY) / 2);
    } else if (event.clientX !== before.clientX || event.clientY !== before.clientY) {
      view = {...view, x: view.x + event.clientX - before.clientX, y: view.y + event.clientY - before.clientY};
      pick(-1);
      redraw();
    }
  };
  canvas.addEventListener("wheel", event => { event.preventDefault(); zoom(Math.exp(-event.deltaY / 400), event.clientX, event.clientY); }, {passive: false});

  // The table of annotations.
  const calls = data.calls, isNumber = calls ? calls.names.map((_, i) => calls.rows.some(row => typeof row[i] === "number")) : [];
  function matching() {
    const wanted = callsSearch.value.trim().toLowerCase();
    return calls.rows.filter(row => row.some(value => value !== null && String(value).toLowerCase().includes(wanted)));
  }
  function drawCalls() {
    const rows = matching();
    $("calls").replaceChildren(...rows.slice(0, MOST_ROWS).map(values => {
      const line = element("tr");
      values.forEach((value, i) => line.append(element("td", value === null ? "" : value, isNumber[i] ? "number" : "")));
      line.onclick = () => {
        const row = data.ids.indexOf(values[calls.names.indexOf("receptor_id")]);
        if (row >= 0) go(row);
      };
      return line;
    }));
    $("calls-count").textContent = `${number(rows.length)} of ${number(calls.n)}`;
    $("calls-hint").textContent = (rows.length > MOST_ROWS ? `The first ${MOST_ROWS} are shown; the file holds all ${number(rows.length)}. ` : "")
      + (calls.n > calls.rows.length ? `Only the ${number(calls.rows.length)} with most cells are listed; all are in annotation/. ` : "")
      + "A click shows the receptor on the map.";
  }
  function csv(rows) {
    // A cell that begins as a formula would be run by a spreadsheet.
    const cell = value => {
      let text = value === null ? "" : String(value).replace(/[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]/g, " ");
      if (typeof value === "string" && /^[=+\-@\t\r]/.test(text)) text = `'${text}`;
      return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
    };
    return [calls.names, ...rows].map(row => row.map(cell).join(",")).join("\n") + "\n";
  }
  function save(name, text, type) {
    const link = element("a");
    link.href = URL.createObjectURL(new Blob([text], {type}));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  // Begin.
  $("about").textContent = `${number(data.n)} receptors by ${data.model} vectors, laid out by ${data.method}: receptors with similar vectors lie near each other. `
    + "Distances between groups have no meaning; the axes have no unit."
    + (data.density ? ` ${number(n)} of the ${number(data.n)} receptors, a random sample, are points, with colours and search; grey is the density of all.` : "");
  if (!n || !data.colours.length) { $("about").textContent = "No receptor of this run has a vector."; return null; }
  data.colours.forEach((column, i) => { const option = element("option", column.title); option.value = i; $("colour").append(option); });
  $("colour").onchange = event => choose(Number(event.target.value));
  bySize.onchange = redraw;
  search.oninput = () => { lookUp(); picked = -1; tip.hidden = true; update(); };
  $("all").onclick = () => { hidden = new Set(); update(); };
  $("none").onclick = () => { hidden = new Set(legend.made.map(group => group.key)); update(); };
  $("reset").onclick = () => { search.value = ""; found = null; view = {scale: 1, x: 0, y: 0}; picked = -1; tip.hidden = true; choose(colour); };
  if (calls) {
    $("annotation").hidden = false;
    $("calls-head").append(...calls.titles.map((title, i) => element("th", title, isNumber[i] ? "number" : "")));
    callsSearch.oninput = drawCalls;
    $("download").onclick = () => save("annotated_receptors.csv", csv(matching()), "text/csv");
    drawCalls();
  }
  const state = new URLSearchParams(location.hash.slice(1));
  search.value = state.get("search") || "";
  lookUp();
  const asked = data.colours.findIndex(column => column.title === state.get("colour"));
  choose(asked >= 0 ? asked : data.colours[data.first] ? data.first : 0);
  matchMedia("(prefers-color-scheme: dark)").onchange = () => { legend = groups(); drawLegend(); redraw(); };
  new ResizeObserver(redraw).observe(canvas);
  const mark = (places, rows) => { marks = places; ringed = rows; redraw(); };
  return {data, element, number, word, words, show: go, look, mark, save};
})();
