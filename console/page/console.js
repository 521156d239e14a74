// The page of the console. It requests from the server what it shows, one request of each kind at a time, and sends
// the next one when the answer has arrived: so nothing queues up on either side, and a slow link shows fewer frames
// instead of late ones.

import { Link } from "/link.js";
import { Player, Recorder, read } from "/record.js";
import { Scene } from "/scene.js";

const DRIVE_EVERY_MS = 100;
const RETRY_MS = 2000;
const PANES_MAX = 6;
const SAMPLES_MAX = 900;
const $ = (id) => document.getElementById(id);
const link = new Link();
const fromMoon = (send) => link.up(send);

const state = { now: null, hasToken: false, paths: { ways: {}, places: [] }, frames: [], ground: null, route: [], routeTimer: 0 };

// ---- The link ------------------------------------------------------------------------------------------------------

let socket = null;
const open = new Map(); // requests without an answer yet, by kind and topic or rover
// What is sent again only when it changes, kept to be shown when it is chosen again: the rocks around each rover, and
// the points of each topic, of which a paused run sends none.
const rocks = new Map(), points = new Map();

function connect() {
  open.clear();
  socket = new WebSocket(`${location.origin.replace(/^http/, "ws")}/socket`);
  socket.binaryType = "arraybuffer";
  socket.onopen = () => {
    $("link").textContent = "";
    beginAnew();
    const token = new URLSearchParams(location.hash.slice(1)).get("token") ?? sessionStorage.getItem("token");
    if (token) showToken(token);
    for (const kind of Object.values(KINDS)) kind.begin?.();
  };
  socket.onclose = () => {
    if (session.player) return;
    $("link").textContent = "no connection; trying again …";
    // The server answers a wrong token by closing the connection.
    lostControl(isTokenOpen ? "the token is not that of this run" : undefined);
    setTimeout(() => { if (!session.player) connect(); }, RETRY_MS);
  };
  socket.onmessage = ({ data }) => hear(data);
}

/** Forgets what was shown, for another connection or another position in a session. */
function beginAnew() {
  link.begin();
  Object.assign(state, { now: null, ground: null, groundNumber: 0, frames: [], paths: { ways: {}, places: [] } });
  seen.clear();
  shown.clear();
  series.forEach((plot) => plot.clear());
  forgetScene();
}

/** Forgets ground, rocks and points. */
function forgetScene() {
  rocks.clear();
  points.clear();
  scene.forget();
}

function say(message) {
  if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
}

/** Sends a request unless the same one has no answer yet. */
function ask(about, message) {
  if (open.has(about) || socket?.readyState !== WebSocket.OPEN) return;
  open.set(about, message);
  say(message);
}

const isOfRover = (message) => message.rover === roverNow()?.rover;

/** For each kind of answer: how to show it, the next request and its delay in ms, and how to handle a refusal. */
const KINDS = {
  state: { begin: () => askState(0), show: take, next: ({ number }) => askState(number) },
  frames: { begin: () => askFrames(), show: ({ frames }) => { state.frames = frames; }, next: () => askFrames(), afterMs: () => 150 },
  paths: { begin: () => askPaths(), show: showPaths, next: () => askPaths(), afterMs: () => 5000 },
  boxes: { show: (message) => panes.filter((pane) => boxesTopic(pane.topic) === message.topic).forEach((pane) => pane.takeBoxes(message)) },
  image: {
    begin: () => panes.forEach((pane) => pane.ask()),
    show: showImage,
    next: ({ topic, number }) => { seen.set(topic, number); askImage(topic); },
    afterMs: () => Number($("rate").value),
    refused: (topic, text) => { panes.filter((pane) => pane.wants(topic)).forEach((pane) => pane.fail(text)); soon(`image ${topic}`, RETRY_MS, () => askImage(topic)); },
  },
  points: {
    begin: () => askCloud(),
    show: ({ topic, payload }) => { points.set(topic, new Float32Array(payload)); showPoints(); },
    next: ({ topic, number }) => { if (topic === $("cloud").value) askCloud(number); },
    afterMs: () => 100,
    refused: () => soon("points", RETRY_MS, askCloud),
  },
  ground: {
    begin: () => askGround(),
    show: showGround,
    next: (message) => { if (isOfRover(message)) { state.groundNumber = message.number; askGround(); } },
    afterMs: () => 3000,
    refused: () => soon("ground", RETRY_MS, askGround),
  },
  rocks: {
    begin: () => askRocks(0),
    show: ({ rover, payload }) => { rocks.set(rover, new Float32Array(payload)); showRocks(); },
    next: (message) => { if (isOfRover(message)) askRocks(message.number); },
    afterMs: () => 1000,
    refused: () => soon("rocks", RETRY_MS, () => askRocks(0)),
  },
};
/** What comes beside pictures, points and ground, on the half of the bandwidth that is kept for it. */
const TELEMETRY = new Set(["state", "frames", "boxes"]);
/** Commands to a rover: their answers come from it, over the link. */
const OF_ROVER = new Set(["drive", "go_to", "halt"]);
const aboutOf = ({ is, topic, rover }) => [is, topic ?? rover].filter((part) => part !== undefined).join(" ");

/** Decodes a message: JSON text, or a header with bytes as `payload`. */
function messageOf(data) {
  if (typeof data === "string") return JSON.parse(data);
  const length = new DataView(data).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(data, 4, length)));
  return { ...header, payload: data.slice(4 + length) };
}

function hear(data) {
  const message = messageOf(data), kind = KINDS[message.is], about = aboutOf(message);
  if (message.is === "answer") {
    const show = () => takeAnswer(message);
    return OF_ROVER.has(message.about) ? link.down("telemetry", data.length, show, () => {}) : show();
  }
  if (!kind) return;
  open.delete(about);
  keep(data);
  const next = () => soon(`next ${about}`, kind.afterMs?.() ?? 0, () => kind.next(message));
  link.down(TELEMETRY.has(message.is) ? "telemetry" : "bulk", data.byteLength ?? data.length, () => kind.show(message), kind.next ? next : () => {});
}

const timers = new Map();
/** Calls `call` after `ms`; replaces a pending call of the same name. */
function soon(name, ms, call) {
  clearTimeout(timers.get(name));
  timers.set(name, setTimeout(call, ms));
}

const askState = (after) => ask("state", { do: "state", after });
const askFrames = () => ask("frames", { do: "frames" });
const askPaths = () => ask("paths", { do: "paths" });
function askImage(topic) {
  if (document.hidden || !panes.some((pane) => pane.wants(topic))) return;
  ask(`image ${topic}`, { do: "image", topic, after: seen.get(topic) ?? 0, look: $("look").value });
}
function askGround() {
  const rover = roverNow()?.rover;
  if (rover === undefined || document.hidden) return soon("ground", 1000, askGround);
  ask(`ground ${rover}`, { do: "ground", rover, span: $("span").value, after: state.groundNumber ?? 0 });
}
function askRocks(after) {
  const rover = roverNow()?.rover;
  if (rover === undefined) return soon("rocks", 1000, () => askRocks(after));
  ask(`rocks ${rover}`, { do: "rocks", rover, after });
}
function askCloud(after = 0) {
  const topic = $("cloud").value;
  if (topic) ask(`points ${topic}`, { do: "points", topic, after });
}

function showPaths(message) {
  state.paths = message;
  fill($("click"), [...CLICKS, ...message.spawnables.map(({ uri, name }) => [`spawn ${uri}`, `puts there: ${name}`])]);
  const scenarios = message.scenarios ?? [];
  $("scenarios").hidden = !scenarios.length;
  fill($("scenario"), scenarios.map(({ uri, name }) => [uri, name]));
  showAbout();
}

/** Shows the chosen scenario's description. */
function showAbout() {
  const chosen = state.paths.scenarios?.find(({ uri }) => uri === $("scenario").value);
  $("scenario-about").textContent = chosen?.about ?? "";
}

const rocksNow = () => rocks.get(roverNow()?.rover) ?? new Float32Array();
const showRocks = () => scene.setRocks(rocksNow());
const showPoints = () => scene.setPoints(points.get($("cloud").value) ?? new Float32Array());

function showGround(message) {
  if (!isOfRover(message)) return;
  state.ground = { ...message, heights: new Float32Array(message.payload), picture: null };
  scene.setGround(message, state.ground.heights);
}

/** Handles the answer to a command, or the refusal of a request. */
function takeAnswer({ about, to, ok, text }) {
  const kind = KINDS[about];
  if (kind) {
    if (open.delete(`${about} ${to}`)) kind.refused?.(to, text);
    return;
  }
  if (about === "token") return ok ? gotControl() : lostControl(text);
  if (about === "go_to") return fromThere(ok, text);
  $("outcome").textContent = `${to}: ${ok ? text || "done" : `refused: ${text}`}`;
}

// ---- The state -----------------------------------------------------------------------------------------------------

const roverNow = () => state.now?.rovers.find((rover) => rover.rover === $("rover").value) ?? state.now?.rovers[0];
const number = (value, digits) => (Number.isFinite(value) ? value.toFixed(digits) : "–");

function take(message) {
  const before = state.now;
  // When the delay is switched off, newer messages overtake those that are still under way.
  if (before && message.number < before.number) return;
  state.now = message;
  takeRun(message);
  if (before && message.time_s < before.time_s) {
    state.paths.ways = {};
    series.forEach((plot) => plot.clear());
  }
  $("time").textContent = `${number(message.time_s, 1)} s`;
  $("pace").textContent = message.pace === null ? "–" : `${number(message.pace, 2)}×`;
  $("run").textContent = message.run ?? "–";
  $("clients").textContent = message.clients;
  fill($("rover"), message.rovers.map((rover) => [rover.rover, rover.name]));
  fill($("cloud"), [["", "none"], ...message.points.map((topic) => [topic, topic])]);
  panes.forEach((pane) => pane.offer(message.images));
  const rover = roverNow();
  if (rover) takeRover(rover, message);
  showHealth(message);
  showLamps(message.lamps);
  if (!state.hasToken) $("control-note").textContent = message.has_control ? "Control needs the token." : "Control is off. It is switched on by --console-control of selene run, or --control of selene console.";
  $("token-form").hidden = !message.has_control || state.hasToken;
}

/** Forgets everything shown when the run has changed, as another run is another world. */
function takeRun({ run_id: id, scenario }) {
  if (!id) return;
  if (state.runId && state.runId !== id) {
    letGo();
    panes.forEach((pane) => pane.forget());
    seen.clear();
    shown.clear();
    series.forEach((plot) => plot.clear());
    Object.assign(state, { ground: null, groundNumber: 0, paths: { ways: {}, places: [] } });
    forgetScene();
    $("outcome").textContent = `the run has switched to ${scenario}`;
  }
  state.runId = id;
  $("scenario-now").textContent = `now: ${scenario}`;
}

/** Loads another scenario in place of this world, after a confirmation. */
function goOver() {
  const name = $("scenario").selectedOptions[0]?.text;
  if (name === undefined || !confirm(`End this world and switch to ${name}?`)) return;
  letGo();
  $("outcome").textContent = `loading ${name} …`;
  say({ do: "load", uri: $("scenario").value });
}

/** Actions of a click on the map. */
const CLICKS = [["go", "sends the rover there"], ["route", "adds to its route"], ["rock", "puts a rock there"]];

/** Whether a wheel turns, by the limit of the terminal's mean slip. */
const isTurning = ({ rate_rad_s }) => Math.abs(rate_rad_s) > 0.02;

function takeRover(rover, message) {
  for (const { rover: name, at_m } of message.rovers) {
    const way = (state.paths.ways[name] ??= []);
    const last = way.at(-1);
    if (!last || Math.hypot(last[0] - at_m[0], last[1] - at_m[1]) > 0.1) way.push(at_m.slice(0, 2));
  }
  const battery = Object.values(rover.batteries)[0];
  const of = (key, wheels = rover.wheels) => wheels.map((wheel) => wheel[key]).filter(Number.isFinite);
  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
  // A wheel at rest has no slip: the ratio of two speeds near zero says nothing.
  const slips = of("slip", rover.wheels.filter(isTurning)).map((slip) => 100 * Math.abs(slip));
  const values = {
    speed: [rover.speed_m_s],
    slip: [mean(slips), slips.length ? Math.max(...slips) : NaN],
    sinkage: [1000 * mean(of("sinkage_m")), 1000 * Math.max(...of("sinkage_m"))],
    torque: [mean(of("drive_torque_n_m").map(Math.abs))],
    attitude: rover.roll_pitch_yaw_deg.slice(0, 2),
    battery: [battery ? 100 * battery.charge : NaN],
    pace: [message.pace ?? NaN],
  };
  series.forEach((plot) => plot.add(message.time_s, values[plot.key]));
  const rows = rover.wheels.map((wheel) => [wheel.name, number(isTurning(wheel) ? 100 * wheel.slip : NaN, 1), number(1000 * wheel.sinkage_m, 1),
    number(wheel.drive_torque_n_m, 2), number(wheel.rate_rad_s, 2), wheel.in_contact ? "touches" : "free"]);
  $("wheels").replaceChildren(...rows.map((cells) => {
    const row = document.createElement("tr");
    cells.forEach((text, at) => {
      const cell = document.createElement(at ? "td" : "th");
      if (!at) cell.scope = "row";
      cell.textContent = text;
      row.append(cell);
    });
    return row;
  }));
}

function showHealth({ statuses, refused }) {
  const items = Object.entries(statuses).map(([name, { level, text }]) => ({ level, text: `${name}: ${text || level}` }));
  const key = JSON.stringify(items);
  if (key !== showHealth.key) {
    showHealth.key = key;
    $("health").replaceChildren(...items.map(({ level, text }) => {
      const item = document.createElement("li");
      item.className = level;
      item.textContent = text;
      return item;
    }));
  }
  const told = Object.entries(refused).map(([why, count]) => `${count} ${why}`).join(", ");
  $("refused").textContent = told ? `Refused by the console so far: ${told}.` : "";
}

/** Sets the options of a select element and keeps the chosen one. */
function fill(select, choices) {
  const key = JSON.stringify(choices);
  if (select.dataset.key === key) return;
  const { value } = select;
  select.dataset.key = key;
  select.replaceChildren(...choices.map(([choice, text]) => new Option(text, choice)));
  if (choices.some(([choice]) => choice === value)) select.value = value;
}

// ---- Pictures ------------------------------------------------------------------------------------------------------

const panes = [];
const seen = new Map(); // number of the latest received picture of each topic
const shown = new Map(); // number of the shown one: when the link is switched off, newer pictures overtake
const boxesTopic = (topic) => topic.replace(/\/[^/]+$/, "/detections");
/** Colours of the classes, as the server draws them. */
const CLASSES = [["ground", "#968c7e"], ["rock", "#e69f00"], ["rover", "#56b4e9"], ["object", "#009e73"]];
/** Legends of ground-truth images, by topic. */
const TRUTHS = [
  [/\/segmentation\//, () => CLASSES],
  [/\/depth\/|range_image/, () => [["near", "#fae850"], ["far", "#301250"]]],
];

async function showImage(message) {
  if (message.number < (shown.get(message.topic) ?? 0)) return;
  shown.set(message.topic, message.number);
  const wanted = panes.filter((pane) => pane.wants(message.topic));
  if (!wanted.length) return;
  const picture = await createImageBitmap(new Blob([message.payload], { type: "image/jpeg" })).catch(() => null);
  wanted.forEach((pane) => (picture ? pane.take(message, picture) : pane.fail("the picture cannot be read")));
}

class Pane {
  constructor() {
    Object.assign(this, { topic: "", over: "", boxes: [], picture: null, truth: null });
    const id = `pane-${Pane.count = (Pane.count ?? 0) + 1}`;
    this.figure = document.createElement("figure");
    this.figure.className = "pane";
    this.select = this.choice(`${id}-topic`, "Picture of");
    this.overSelect = this.choice(`${id}-over`, "Truth over it");
    const close = document.createElement("button");
    close.type = "button";
    close.textContent = "×";
    close.setAttribute("aria-label", "Close this picture");
    this.canvas = document.createElement("canvas");
    this.canvas.setAttribute("role", "img");
    this.canvas.setAttribute("aria-label", "No picture yet");
    this.note = document.createElement("p");
    this.legend = document.createElement("p");
    this.legend.className = "legend";
    const row = document.createElement("div");
    row.className = "row";
    row.append(this.select, this.overSelect, close);
    this.figure.append(row, this.canvas, this.legend, this.note);
    $("panes").append(this.figure);
    this.select.onchange = () => this.choose(this.select.value);
    this.overSelect.onchange = () => this.lay(this.overSelect.value);
    close.onclick = () => { panes.splice(panes.indexOf(this), 1); this.figure.remove(); };
  }

  choice(id, label) {
    const select = document.createElement("select");
    select.id = id;
    select.setAttribute("aria-label", label);
    return select;
  }

  /** Forgets the topic and its picture, as another run or session has other topics. */
  forget() {
    Object.assign(this, { topic: "", over: "", boxes: [], picture: null, truth: null });
    this.canvas.width = this.canvas.height = 0;
    this.note.textContent = "";
    this.legend.replaceChildren();
  }

  wants(topic) { return topic !== "" && (topic === this.topic || topic === this.over); }

  /** Sets the topics to choose from; a pane without a topic takes the first that no other pane shows. */
  offer(topics) {
    fill(this.select, topics.map((topic) => [topic, topic.replace(/^\//, "")]));
    const camera = this.topic.replace(/\/[^/]+$/, "/");
    const truths = topics.filter((topic) => topic !== this.topic && topic.startsWith(camera) && this.topic.endsWith("/image_raw"));
    fill(this.overSelect, [["", "no truth over it"], ...truths.map((topic) => [topic, `with ${topic.slice(camera.length).split("/")[0]}`])]);
    this.overSelect.hidden = !truths.length;
    if (this.topic || !topics.length) return;
    const taken = panes.map((pane) => pane.topic);
    const cameras = topics.filter((topic) => topic.endsWith("/image_raw"));
    this.choose(cameras.concat(topics).find((topic) => !taken.includes(topic)) ?? topics[0]);
  }

  choose(topic) {
    this.topic = this.select.value = topic;
    [this.boxes, this.picture] = [[], null];
    // Also requests the latest picture, which this pane has not shown yet.
    seen.delete(topic);
    this.canvas.setAttribute("aria-label", `Picture of ${topic}`);
    this.note.textContent = "waiting for a picture; a run that is paused makes none";
    this.lay("");
    if (state.now) this.offer(state.now.images);
  }

  /** Overlays a ground-truth image of the same camera on the picture. */
  lay(topic) {
    this.over = topic;
    this.truth = null;
    seen.delete(topic);
    const colours = (TRUTHS.find(([name]) => name.test(topic || this.topic)) ?? [null, () => []])[1]();
    this.legend.replaceChildren(...colours.map(([what, colour]) => {
      const swatch = document.createElement("span"), item = document.createElement("span");
      swatch.className = "swatch";
      swatch.style.backgroundColor = colour;
      item.append(swatch, what);
      return item;
    }));
    this.ask();
    if (this.picture) this.draw();
  }

  ask() {
    [this.topic, this.over].filter(Boolean).forEach(askImage);
    const boxes = boxesTopic(this.topic);
    if ($("boxes").checked && state.now?.boxes.includes(boxes)) ask(`boxes ${boxes}`, { do: "boxes", topic: boxes, after: 0 });
  }

  take(message, picture) {
    if (message.topic === this.over) this.truth = picture;
    if (message.topic === this.topic) {
      [this.header, this.picture] = [message, picture];
      this.note.textContent = `${number(message.time_s, 2)} s · ${message.width} × ${message.height} ${message.encoding} · no. ${message.number}`;
      this.figure.dataset.number = message.number;
      // Boxes are requested with the picture that they belong to.
      const boxes = boxesTopic(this.topic);
      if ($("boxes").checked && state.now?.boxes.includes(boxes)) ask(`boxes ${boxes}`, { do: "boxes", topic: boxes, after: 0 });
    }
    if (this.picture) this.draw();
  }

  takeBoxes({ boxes }) {
    this.boxes = boxes;
    if (this.picture) this.draw();
  }

  draw() {
    const { canvas, picture, header } = this, context = canvas.getContext("2d");
    [canvas.width, canvas.height] = [picture.width, picture.height];
    context.drawImage(picture, 0, 0);
    if (this.truth) {
      context.globalAlpha = Number($("strength").value);
      context.drawImage(this.truth, 0, 0, picture.width, picture.height);
      context.globalAlpha = 1;
    }
    if (!$("boxes").checked) return;
    const k = picture.width / header.width;
    context.lineWidth = 2;
    context.strokeStyle = context.fillStyle = "#f0c040";
    context.font = "12px sans-serif";
    for (const [what, [x, y], [width, height]] of this.boxes) {
      context.strokeRect(k * (x - width / 2), k * (y - height / 2), k * width, k * height);
      context.fillText(what, k * (x - width / 2), k * (y - height / 2) - 3);
    }
  }

  fail(text) { this.note.textContent = text; }
}

function addPane() {
  if (panes.length >= PANES_MAX) {
    $("outcome").textContent = `at most ${PANES_MAX} pictures are shown at once`;
    return;
  }
  panes.push(new Pane());
  if (state.now) panes.at(-1).offer(state.now.images);
}

// ---- Plots ---------------------------------------------------------------------------------------------------------

class Plot {
  constructor(key, title, unit, names, digits, isOptional = false) {
    Object.assign(this, { key, unit, names, digits, isOptional, samples: [] });
    const figure = document.createElement("figure");
    figure.className = "plot";
    const caption = document.createElement("figcaption"), name = document.createElement("span");
    this.figure = figure;
    this.value = document.createElement("output");
    name.append(title);
    if (names.length > 1) name.append(...names.flatMap((of, at) => [" ", this.swatch(at), of]));
    caption.append(name, this.value);
    this.canvas = document.createElement("canvas");
    this.canvas.setAttribute("role", "img");
    this.canvas.setAttribute("aria-label", `${title} over simulated time, ${unit}`);
    figure.append(caption, this.canvas);
    $("plots").append(figure);
  }

  /** The colour of a curve, beside its name. */
  swatch(at) {
    const swatch = document.createElement("span");
    swatch.className = "swatch";
    swatch.style.backgroundColor = `var(--series-${at})`;
    return swatch;
  }

  clear() { this.samples = []; }

  add(time, values) {
    // A rover without a battery has no charge.
    this.figure.hidden = this.isOptional && !this.samples.length && !values.some(Number.isFinite);
    if (this.figure.hidden) return;
    const last = this.samples.at(-1);
    if (last && time - last[0] < 0.1) return;
    this.samples.push([time, ...values]);
    if (this.samples.length > SAMPLES_MAX) this.samples.shift();
    this.value.textContent = `${values.map((value) => number(value, this.digits)).join(" / ")} ${this.unit}`;
  }

  /** Writes the limits of the axes: x, y, alignment and text of each. */
  label(context, style, texts) {
    context.fillStyle = style.getPropertyValue("--soft");
    context.font = "10px sans-serif";
    for (const [x, y, align, text] of texts) {
      context.textAlign = align;
      context.fillText(text, align === "left" ? x + 4 : x - 4, y);
    }
  }

  draw(style) {
    const { canvas, samples } = this, context = fit(canvas);
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    context.clearRect(0, 0, width, height);
    const all = samples.flatMap((sample) => sample.slice(1)).filter(Number.isFinite);
    if (all.length < 2) return;
    const least = Math.min(0, ...all), greatest = Math.max(...all, least + 1e-6);
    const [from, to] = [samples[0][0], Math.max(samples.at(-1)[0], samples[0][0] + 1)];
    const x = (time) => ((time - from) / (to - from)) * (width - 4) + 2;
    const y = (value) => height - 4 - ((value - least) / (greatest - least)) * (height - 8);
    context.strokeStyle = style.getPropertyValue("--line");
    context.strokeRect(2, y(0), width - 4, 0);
    this.label(context, style, [[0, 11, "left", number(greatest, this.digits)], [0, height - 3, "left", number(least, this.digits)],
      [width, height - 3, "right", `${number(from, 0)} to ${number(to, 0)} s`]]);
    this.names.forEach((_, at) => {
      context.strokeStyle = style.getPropertyValue(`--series-${at}`);
      context.beginPath();
      let isDrawing = false;
      for (const sample of samples) {
        const value = sample[at + 1];
        if (!Number.isFinite(value)) { isDrawing = false; continue; }
        context[isDrawing ? "lineTo" : "moveTo"](x(sample[0]), y(value));
        isDrawing = true;
      }
      context.stroke();
    });
  }
}

const series = [
  new Plot("speed", "Speed", "m/s", ["speed"], 3),
  new Plot("slip", "Slip", "%", ["mean", "most"], 1),
  new Plot("sinkage", "Sinkage", "mm", ["mean", "most"], 1),
  new Plot("torque", "Wheel torque, mean", "N m", ["torque"], 2),
  new Plot("attitude", "Attitude", "°", ["roll", "pitch"], 1),
  new Plot("battery", "Battery", "%", ["charge"], 1, true),
  new Plot("pace", "Pace", "×", ["pace"], 2),
];

/** Resizes a canvas to its size on the page and the screen's resolution; returns its context. */
function fit(canvas) {
  const ratio = Math.min(window.devicePixelRatio || 1, 2), context = canvas.getContext("2d");
  const [width, height] = [canvas.clientWidth, canvas.clientHeight].map((side) => Math.round(side * ratio));
  if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
}

// ---- The map from above --------------------------------------------------------------------------------------------

const map = { middle: [0, 0], pixelsPerMetre: 20, cross: null };
const toScreen = ([x, y]) => [$("map").clientWidth / 2 + (x - map.middle[0]) * map.pixelsPerMetre,
  $("map").clientHeight / 2 - (y - map.middle[1]) * map.pixelsPerMetre];
const toMap = ([x, y]) => [map.middle[0] + (x - $("map").clientWidth / 2) / map.pixelsPerMetre,
  map.middle[1] - (y - $("map").clientHeight / 2) / map.pixelsPerMetre];

/** A picture of the ground, shaded as if lit from the side. */
function relief(ground) {
  const { cells: [rows, columns], heights, resolution_m } = ground, picture = document.createElement("canvas");
  [picture.width, picture.height] = [rows, columns];
  const context = picture.getContext("2d"), pixels = context.createImageData(rows, columns);
  const height = (row, column) => heights[Math.min(columns - 1, column) * rows + Math.min(rows - 1, row)];
  for (let column = 0; column < columns; column++) for (let row = 0; row < rows; row++) {
    const here = height(row, column);
    const slope = (here - height(row + 1, column) + (here - height(row, column + 1))) / resolution_m;
    const light = Number.isFinite(slope) ? Math.max(20, Math.min(235, 110 + 160 * slope)) : 0;
    // Row indices grow toward smaller x (left in the picture), column indices toward smaller y (down).
    pixels.data.set([light, light, light * 0.97, 255], 4 * (column * rows + (rows - 1 - row)));
  }
  context.putImageData(pixels, 0, 0);
  return picture;
}

function drawMap() {
  const canvas = $("map"), context = fit(canvas), rover = roverNow();
  if (rover && $("follow").checked) map.middle = rover.at_m.slice(0, 2);
  context.fillStyle = "#1a1b1e";
  context.fillRect(0, 0, canvas.clientWidth, canvas.clientHeight);
  drawGround(context);
  drawRocks(context, canvas);
  drawScale(context, canvas);
  for (const way of Object.values(state.paths.ways)) drawLine(context, way, "#ffc23a", 2);
  const stops = state.paths.places.filter((place) => place.is_waypoint);
  drawLine(context, stops.map((place) => place.at_m), "#7ab8f5aa", 1);
  stops.forEach((place) => drawDot(context, place.at_m, "#7ab8f5", 4));
  if (state.route.length && rover) drawLine(context, [rover.at_m, ...state.route], "#ff6a5e", 1);
  state.route.forEach((place, at) => drawDot(context, place, "#ff6a5e", at ? 4 : 6));
  for (const each of state.now?.rovers ?? []) drawRover(context, each, each === rover);
  if (map.cross && document.activeElement === canvas) drawCross(context, map.cross);
}

function drawGround(context) {
  const { ground } = state;
  if (!ground) return;
  ground.picture ??= relief(ground);
  const [rows, columns] = ground.cells, half = ground.resolution_m / 2;
  const [x, y] = toScreen([ground.middle_m[0] - rows * half, ground.middle_m[1] + columns * half]);
  const k = ground.resolution_m * map.pixelsPerMetre;
  context.drawImage(ground.picture, x, y, rows * k, columns * k);
}

/** Draws the rocks that are at least a pixel wide. */
function drawRocks(context, canvas) {
  const all = rocksNow();
  context.fillStyle = "#c9b8a0b0";
  context.beginPath();
  for (let rock = 0; rock + 3 < all.length; rock += 4) {
    const radius = 0.5 * all[rock + 3] * map.pixelsPerMetre, [x, y] = toScreen([all[rock], all[rock + 1]]);
    const isSeen = x > -radius && y > -radius && x < canvas.clientWidth + radius && y < canvas.clientHeight + radius;
    if (radius < 0.5 || !isSeen) continue;
    context.moveTo(x + radius, y);
    context.arc(x, y, radius, 0, 2 * Math.PI);
  }
  context.fill();
}

function drawScale(context, canvas) {
  const metres = [0.1, 0.5, 1, 5, 10, 50, 100, 500].find((m) => m * map.pixelsPerMetre > 50) ?? 1000;
  const y = canvas.clientHeight - 12;
  context.strokeStyle = context.fillStyle = "#ffffff";
  context.lineWidth = 2;
  context.strokeRect(12, y, metres * map.pixelsPerMetre, 0);
  context.font = "12px sans-serif";
  context.fillText(`${metres} m`, 14, y - 5);
}

function drawLine(context, places, colour, width) {
  context.strokeStyle = colour;
  context.lineWidth = width;
  context.beginPath();
  places.forEach((place, at) => context[at ? "lineTo" : "moveTo"](...toScreen(place)));
  context.stroke();
}

function drawDot(context, place, colour, radius) {
  context.fillStyle = colour;
  context.beginPath();
  context.arc(...toScreen(place), radius, 0, 2 * Math.PI);
  context.fill();
}

function drawRover(context, rover, isChosen) {
  const yaw = (rover.roll_pitch_yaw_deg[2] * Math.PI) / 180, [x, y] = toScreen(rover.at_m);
  context.save();
  context.translate(x, y);
  context.rotate(-yaw);
  context.fillStyle = isChosen ? "#ffffff" : "#b0b4ba";
  context.beginPath();
  context.moveTo(12, 0);
  context.lineTo(-8, 8);
  context.lineTo(-4, 0);
  context.lineTo(-8, -8);
  context.fill();
  context.restore();
  context.fillStyle = "#ffffff";
  context.font = "12px sans-serif";
  context.fillText(rover.name, x + 12, y - 8);
}

function drawCross(context, place) {
  const [x, y] = toScreen(place);
  context.strokeStyle = "#ff6a5e";
  context.lineWidth = 2;
  context.strokeRect(x - 9, y, 18, 0);
  context.strokeRect(x, y - 9, 0, 18);
}

function zoomMap(by) {
  map.pixelsPerMetre = Math.min(400, Math.max(0.5, map.pixelsPerMetre * by));
}

/** Performs the chosen action at a clicked position of the map. */
function choose(place) {
  $("map-at").textContent = `x ${number(place[0], 2)} m, y ${number(place[1], 2)} m`;
  if (!state.hasToken) return;
  const [x_m, y_m] = place, chosen = $("click").value;
  if (chosen === "rock") say({ do: "rock", x_m, y_m, diameter_m: Number($("diameter").value) });
  else if (chosen.startsWith("spawn ")) say({ do: "spawn", uri: chosen.slice(6), x_m, y_m });
  else goTo(place, chosen === "route");
}

function listenToMap() {
  const canvas = $("map");
  let from = null;
  const at = (e) => { const box = canvas.getBoundingClientRect(); return [e.clientX - box.left, e.clientY - box.top]; };
  canvas.addEventListener("pointerdown", (e) => { from = { at: at(e), middle: map.middle, moved: false }; canvas.setPointerCapture(e.pointerId); });
  canvas.addEventListener("pointermove", (e) => {
    if (!from) return;
    const [x, y] = at(e), by = [x - from.at[0], y - from.at[1]];
    if (Math.hypot(...by) > 5) from.moved = true;
    if (!from.moved) return;
    $("follow").checked = false;
    map.middle = [from.middle[0] - by[0] / map.pixelsPerMetre, from.middle[1] + by[1] / map.pixelsPerMetre];
  });
  canvas.addEventListener("pointerup", (e) => { if (from && !from.moved) choose(toMap(at(e))); from = null; });
  canvas.addEventListener("pointercancel", () => { from = null; });
  canvas.addEventListener("wheel", (e) => { e.preventDefault(); zoomMap(Math.exp(-0.001 * e.deltaY)); }, { passive: false });
  canvas.addEventListener("keydown", (e) => {
    const step = 20 / map.pixelsPerMetre;
    const moves = { ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, step], ArrowDown: [0, -step] }[e.key];
    map.cross ??= [...map.middle];
    if (moves) map.cross = [map.cross[0] + moves[0], map.cross[1] + moves[1]];
    else if (e.key === "Enter") choose(map.cross);
    else if (e.key === "+") zoomMap(1.25);
    else if (e.key === "-") zoomMap(0.8);
    else return;
    e.preventDefault();
    e.stopPropagation();
  });
  $("nearer").onclick = () => zoomMap(1.4);
  $("farther").onclick = () => zoomMap(1 / 1.4);
}

// ---- Control -------------------------------------------------------------------------------------------------------

let shownToken = "", isTokenOpen = false;
function showToken(token) {
  shownToken = token;
  isTokenOpen = true;
  say({ do: "token", token });
}

function gotControl() {
  isTokenOpen = false;
  state.hasToken = true;
  sessionStorage.setItem("token", shownToken);
  // The token is removed from the address, which others may see or copy.
  history.replaceState(null, "", location.pathname);
  $("controls").hidden = false;
  $("token-form").hidden = true;
  $("control-note").textContent = "You have control.";
  $("outcome").textContent = "";
}

/** Handles the loss of control: the connection has ended (control is requested again) or the server refused it. */
function lostControl(why) {
  state.hasToken = isTokenOpen = false;
  $("controls").hidden = true;
  if (why !== undefined) {
    sessionStorage.removeItem("token");
    history.replaceState(null, "", location.pathname);
    $("outcome").textContent = why;
  }
  forgetRoute();
}

const keys = new Set();
const KEYS = { w: [1, 0], s: [-1, 0], a: [0, 1], d: [0, -1], ArrowUp: [1, 0], ArrowDown: [-1, 0], ArrowLeft: [0, 1], ArrowRight: [0, -1] };
const hand = { pad: [0, 0], stick: [0, 0], isDriving: false, rover: undefined };

/** Forward speed and turn rate that keys, pad and stick ask for, as fractions, −1 to 1. */
function wanted() {
  const sum = [hand.pad, hand.stick, ...[...keys].map((key) => KEYS[key])].reduce(([a, b], [x, y]) => [a + x, b + y], [0, 0]);
  return sum.map((value) => Math.max(-1, Math.min(1, value)));
}

/** Sends the drive command; called periodically, since a rover stops when commands stop. */
function drive() {
  const rover = roverNow()?.rover, [forward, turn] = wanted();
  const isDriving = forward !== 0 || turn !== 0;
  if (!state.hasToken || rover === undefined) return;
  if (isDriving) {
    forgetRoute();
    hand.rover = rover;
    const message = { do: "drive", rover, forward_m_s: forward * Number($("speed").value), turn_rad_s: turn * Number($("turn").value) };
    fromMoon(() => say(message));
    $("driving").textContent = `driving: ${number(message.forward_m_s, 2)} m/s, ${number(message.turn_rad_s, 2)} rad/s`;
  } else if (hand.isDriving) {
    halt();
  }
  hand.isDriving = isDriving;
}

/** Stops the rover that this page drives, if any; rovers that others drive keep driving. */
function letGo() {
  if (hand.isDriving || state.route.length) halt();
}

function halt() {
  const rover = hand.isDriving || state.route.length ? hand.rover : roverNow()?.rover;
  forgetRoute();
  keys.clear();
  hand.isDriving = false;
  if (state.hasToken && rover !== undefined) fromMoon(() => say({ do: "halt", rover }));
  $("driving").textContent = "standing";
}

/** Sends the rover to a goal, or adds the goal to its route. */
function goTo(place, isAdded = false) {
  if (!isAdded || hand.rover !== roverNow()?.rover) forgetRoute();
  hand.rover = roverNow()?.rover;
  // Rounded to millimetres, as in the message of an arrival, which is compared with it.
  state.route.push(place.map((metres) => Number(metres.toFixed(3))));
  if (state.route.length > 1) return;
  state.routeTimer = setInterval(goOn, DRIVE_EVERY_MS);
  goOn();
}

/** Sends the current goal; called periodically, since a rover stops when commands stop. */
function goOn() {
  const [[x_m, y_m]] = state.route, { rover } = hand, speed_m_s = Number($("speed").value);
  fromMoon(() => say({ do: "go_to", rover, x_m, y_m, speed_m_s }));
  const more = state.route.length > 1 ? `, then ${state.route.length - 1} more` : "";
  $("driving").textContent = `going to x ${number(x_m, 2)}, y ${number(y_m, 2)}${more}`;
}

/** Handles the answer to a goal: an arrival or a refusal. */
function fromThere(ok, text) {
  const [goal] = state.route;
  if (!ok) {
    forgetRoute();
    $("outcome").textContent = `go_to: refused: ${text}`;
  } else if (goal && text === `arrived at x ${goal[0].toFixed(3)} m, y ${goal[1].toFixed(3)} m`) {
    state.route.shift();
    if (!state.route.length) forgetRoute();
    $("outcome").textContent = text;
  }
}

function forgetRoute() {
  clearInterval(state.routeTimer);
  if (state.route.length || !hand.isDriving) $("driving").textContent = "standing";
  state.route = [];
}

function readStick() {
  const pad = [...(navigator.getGamepads?.() ?? [])].find((found) => found?.connected);
  const past = (value) => (Math.abs(value ?? 0) > 0.15 ? -value : 0);
  hand.stick = pad ? [past(pad.axes[1]), past(pad.axes[0])] : [0, 0];
}

const isTyped = (target) => target instanceof Element && target.closest("input, select, textarea") !== null;

function listenToHands() {
  window.addEventListener("keydown", (e) => {
    const key = e.key.length === 1 ? e.key.toLowerCase() : e.key;
    if (!state.hasToken || isTyped(e.target) || e.ctrlKey || e.metaKey || e.altKey) return;
    if ((key === " " && !e.target.closest?.("button")) || key === "Escape") {
      e.preventDefault();
      return halt();
    }
    if (!(key in KEYS)) return;
    e.preventDefault();
    if (keys.has(key)) return;
    keys.add(key);
    drive();
  });
  window.addEventListener("keyup", (e) => {
    const key = e.key.length === 1 ? e.key.toLowerCase() : e.key;
    if (keys.delete(key)) drive();
  });
  window.addEventListener("blur", letGo);
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) return letGo();
    panes.forEach((pane) => pane.ask());
  });
  const pad = $("pad"), knob = $("knob");
  const move = (e) => {
    const box = pad.getBoundingClientRect(), half = box.width / 2;
    const [x, y] = [(e.clientX - box.left - half) / half, (e.clientY - box.top - half) / half].map((v) => Math.max(-1, Math.min(1, v)));
    hand.pad = [-y, -x];
    knob.style.transform = `translate(${x * half * 0.7}px, ${y * half * 0.7}px)`;
  };
  const release = () => { hand.pad = [0, 0]; knob.style.transform = ""; drive(); };
  pad.addEventListener("pointerdown", (e) => { pad.setPointerCapture(e.pointerId); move(e); drive(); });
  pad.addEventListener("pointermove", (e) => { if (pad.hasPointerCapture(e.pointerId)) move(e); });
  pad.addEventListener("pointerup", release);
  pad.addEventListener("pointercancel", release);
  setInterval(() => { readStick(); drive(); }, DRIVE_EVERY_MS);
}

function showLamps(lamps) {
  const key = lamps.map(({ name }) => name).join();
  if (key !== showLamps.key) {
    showLamps.key = key;
    $("lamps").replaceChildren(...lamps.map(({ name }, at) => {
      const label = document.createElement("label"), slider = document.createElement("input");
      slider.id = `lamp-${at}`;
      label.htmlFor = slider.id;
      Object.assign(slider, { type: "range", min: 0, max: 1, step: 0.05 });
      const level = document.createElement("output");
      level.id = `lamp-${at}-level`;
      level.htmlFor = slider.id;
      slider.oninput = () => { level.textContent = number(Number(slider.value), 2); };
      slider.onchange = () => say({ do: "lamp", lamp: name, level: Number(slider.value) });
      label.className = "pair";
      // The parameter `viper.lamps.headlight_left` is the lamp "viper: headlight left".
      label.append(name.replace(".lamps.", ": ").replaceAll("_", " "), slider, level);
      return label;
    }));
  }
  lamps.forEach(({ level }, at) => {
    const slider = $(`lamp-${at}`);
    if (level === null || level === showLamps.levels?.[at] || document.activeElement === slider) return;
    slider.value = level;
    slider.oninput();
  });
  showLamps.levels = lamps.map(({ level }) => level);
}

function listenToControls() {
  $("token-form").onsubmit = (e) => { e.preventDefault(); showToken($("token").value.trim()); $("token").value = ""; };
  $("play").onclick = () => say({ do: "play" });
  $("pause").onclick = () => say({ do: "pause" });
  $("step").onclick = () => {
    const heartbeats = Math.round(Number($("steps").value));
    if (heartbeats >= 1) say({ do: "step", heartbeats });
    else $("outcome").textContent = "step: heartbeats must be 1 or more";
  };
  $("reset").onclick = () => say({ do: "reset" });
  $("set-pace").onchange = () => say({ do: "pace", times: Number($("set-pace").value) });
  $("sun").onclick = () => say({ do: "sun", utc: $("utc").value.trim() });
  $("halt").onclick = halt;
  $("load").onclick = goOver;
  $("scenario").onchange = showAbout;
  $("add-picture").onclick = addPane;
  $("boxes").onchange = $("strength").oninput = () => panes.forEach((pane) => { pane.ask(); if (pane.picture) pane.draw(); });
  $("link-delay").onchange = () => { link.delayMs = Number($("link-delay").value); };
  $("link-loss").onchange = () => { link.loss = Number($("link-loss").value); };
  $("link-rate").onchange = () => link.setRate(Number($("link-rate").value) || Infinity);
  $("cloud").onchange = () => { showPoints(); askCloud(); };
  $("rover").onchange = () => {
    letGo();
    state.ground = null;
    state.groundNumber = 0;
    series.forEach((plot) => plot.clear());
    askGround();
    showRocks();
    askRocks(0);
  };
  $("span").onchange = () => { state.ground = null; };
}

// ---- Sessions ------------------------------------------------------------------------------------------------------

const session = { recorder: null, player: null };

/** Records a received message while a session is being recorded. */
function keep(data) {
  if (session.recorder && !session.recorder.keep(data)) endRecording("the recording is as long as it can be");
}

function toggleRecording() {
  if (session.recorder) return endRecording("the session is saved");
  session.recorder = new Recorder();
  $("record").textContent = "Stop and save";
  $("session-note").textContent = "recording …";
}

function endRecording(why) {
  const file = document.createElement("a");
  file.href = URL.createObjectURL(session.recorder.file());
  file.download = `selene-${number(state.now?.time_s ?? 0, 0)}s.session`;
  file.click();
  setTimeout(() => URL.revokeObjectURL(file.href), 60_000);
  session.recorder = null;
  $("record").textContent = "Record";
  $("session-note").textContent = why;
}

/** Plays a session file in place of the run; ends control. */
async function playBack(file) {
  let messages;
  try {
    messages = read(await file.arrayBuffer());
  } catch (error) {
    $("session-note").textContent = `${file.name}: ${error.message}`;
    return;
  }
  if (session.recorder) endRecording("the session is saved");
  letGo();
  session.player = new Player(messages, (due) => due.forEach(showKept));
  socket.close();
  lostControl();
  beginAnew();
  state.runId = undefined;
  panes.forEach((pane) => pane.forget());
  // These messages were about the run.
  $("outcome").textContent = $("map-at").textContent = "";
  $("player").hidden = false;
  $("position").max = session.player.lengthMs;
  $("link").textContent = "a recorded session";
}

function showKept(data) {
  const message = messageOf(data);
  KINDS[message.is]?.show(message);
}

function play() {
  const { player } = session;
  if (!player) return;
  player.tick();
  if (document.activeElement !== $("position")) $("position").value = player.ms;
  $("session-note").textContent = `${number(player.ms / 1000, 1)} of ${number(player.lengthMs / 1000, 1)} s`;
}

function listenToSession() {
  $("record").onclick = toggleRecording;
  $("play-file").onchange = () => { const [file] = $("play-file").files; if (file) playBack(file); };
  $("position").oninput = () => {
    const ms = Number($("position").value);
    if (ms < session.player.ms) beginAnew();
    session.player.seek(ms);
  };
  $("hold").onclick = () => {
    session.player.isPlaying = !session.player.isPlaying;
    $("hold").textContent = session.player.isPlaying ? "Hold" : "Go on";
  };
  $("back").onclick = () => {
    session.player = null;
    state.runId = undefined;
    panes.forEach((pane) => pane.forget());
    $("player").hidden = true;
    $("play-file").value = $("session-note").textContent = "";
    connect();
  };
}

// ---- Start ---------------------------------------------------------------------------------------------------------

const scene = new Scene($("scene"));
if (!scene.isShown) $("scene-note").textContent = "This browser has no WebGL 2: the view in three dimensions is not shown.";

let drawnAt = 0;
function draw(now) {
  requestAnimationFrame(draw);
  if (now - drawnAt < 45) return;
  drawnAt = now;
  play();
  const rover = roverNow();
  if (rover) {
    scene.lookAt(rover.at_m);
    const ways = [...Object.values(state.paths.ways), ...(state.route.length ? [[rover.at_m, ...state.route]] : [])];
    scene.setLines(state.frames, state.now.rovers, ways, $("show-frames").checked);
  }
  scene.draw();
  drawMap();
  const style = getComputedStyle(document.documentElement);
  series.forEach((plot) => plot.draw(style));
}

addPane();
addPane();
listenToMap();
listenToHands();
listenToControls();
listenToSession();
connect();
requestAnimationFrame(draw);
