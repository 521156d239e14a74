// The view in three dimensions: ground, rocks, rovers, frames and points, drawn by three.js (three/README.md).
// Positions are in the map frame: x east, y north, z up, metres. Each shape has its own origin in 64-bit numbers and
// its vertices relative to that in 32 bits, so that positions kilometres away keep a precision of millimetres.

import * as three from "/three.js";

// Colours are already those of the screen and need no conversion.
three.ColorManagement.enabled = false;

const SKY = new three.Color(0.03, 0.03, 0.04);
const GROUND = new three.Color(0.62, 0.6, 0.57);
const ROCK = new three.Color(0.5, 0.45, 0.4);
const WAY = [1, 0.75, 0.2];
const BOX = [0.45, 0.75, 1];
const LINK = [0.75, 0.75, 0.75];
const AXES = [[[1, 0, 0], [0.9, 0.3, 0.25]], [[0, 1, 0], [0.35, 0.8, 0.35]], [[0, 0, 1], [0.4, 0.6, 1]]];
const AXIS_M = 0.15;
/** Height of ways above the shown ground, which is coarser than the real one. */
const ABOVE_M = 0.05;

/** Direction toward the light, and the fraction of the light that is ambient. */
const LIGHT_FROM = [-0.6, 0.3, 0.5];
const AMBIENT = 0.25;

const FIELD_DEG = 51.6;
const BEGIN = { aroundRad: -2.2, upRad: 0.5, distanceM: 7 };
const UP_RAD = [0.05, 1.5];
const DISTANCE_M = [1, 400];
const POINT_PX = 2;
/** Turn of the view by each key, around and up, rad; and the factor of the distance by each zoom key. */
const TURNS = { ArrowLeft: [0.1, 0], ArrowRight: [-0.1, 0], ArrowUp: [0, 0.08], ArrowDown: [0, -0.08] };
const NEARER = { "+": 0.85, "-": 1 / 0.85 };

const vector = (place) => new three.Vector3(...place);
const isOdom = (name) => /(^|\/)odom$/.test(name);

/** The renderer of a canvas; null if the browser has no WebGL 2. */
function rendererOn(canvas) {
  // The context is made here, as three.js would log an error in the browser's console if there is none.
  const context = canvas.getContext("webgl2", { antialias: true, alpha: false });
  if (!context) return null;
  const renderer = new three.WebGLRenderer({ canvas, context });
  renderer.outputColorSpace = three.LinearSRGBColorSpace;
  return renderer;
}

/** An ambient and a directional light; a surface that faces the latter appears in its own colour. */
function lights() {
  // Times π, since three.js divides by π for Lambert's law.
  const side = new three.DirectionalLight(0xffffff, (1 - AMBIENT) * Math.PI);
  side.position.set(...LIGHT_FROM);
  return [side, new three.AmbientLight(0xffffff, AMBIENT * Math.PI)];
}

/** A camera that looks at the origin of the map. */
function eye() {
  const { aroundRad, upRad, distanceM } = BEGIN, camera = new three.PerspectiveCamera(FIELD_DEG);
  camera.up.set(0, 0, 1);
  camera.position.set(Math.cos(upRad) * Math.cos(aroundRad), Math.cos(upRad) * Math.sin(aroundRad), Math.sin(upRad));
  camera.position.multiplyScalar(distanceM);
  return camera;
}

/** Writes `values`, three per vertex, into a geometry whose buffers grow and are reused. */
function put(geometry, name, values) {
  let kept = geometry.getAttribute(name);
  if (!kept || kept.array.length < values.length) {
    // Buffers on the GPU cannot grow, so they are replaced.
    geometry.dispose();
    kept = new three.BufferAttribute(new Float32Array(2 * values.length), 3);
    geometry.setAttribute(name, kept);
  }
  kept.array.set(values);
  kept.needsUpdate = true;
  geometry.setDrawRange(0, values.length / 3);
}

/** The surface of a height field, centred on its middle; a cell with an unknown corner is a hole. */
function surface(rows, columns, resolution_m, heights) {
  const geometry = new three.BufferGeometry(), place = new Float32Array(3 * rows * columns), corners = [];
  const isKnown = (at) => Number.isFinite(heights[at]);
  for (let column = 0; column < columns; column++) for (let row = 0; row < rows; row++) {
    const at = column * rows + row;
    // Row indices grow toward smaller x, column indices toward smaller y.
    const flat = [((rows - 1) / 2 - row) * resolution_m, ((columns - 1) / 2 - column) * resolution_m];
    place.set([...flat, isKnown(at) ? heights[at] : 0], 3 * at);
    if (row + 1 === rows || column + 1 === columns) continue;
    const [a, b, c, d] = [at, at + 1, at + rows, at + rows + 1];
    if ([a, b, c, d].every(isKnown)) corners.push(a, b, c, b, d, c);
  }
  geometry.setAttribute("position", new three.BufferAttribute(place, 3));
  geometry.setIndex(corners);
  geometry.computeVertexNormals();
  return geometry;
}

export class Scene {
  constructor(canvas) {
    this.canvas = canvas;
    this.target = new three.Vector3();
    this.camera = eye();
    this.ground = new three.Mesh(new three.BufferGeometry(), new three.MeshLambertMaterial({ color: GROUND, side: three.DoubleSide }));
    this.stone = { geometry: new three.IcosahedronGeometry(), material: new three.MeshLambertMaterial({ color: ROCK }) };
    this.rocks = new three.InstancedMesh(this.stone.geometry, this.stone.material, 0);
    const drawn = { vertexColors: true, size: POINT_PX, sizeAttenuation: false };
    this.allRocks = new Float32Array();
    this.points = new three.Points(new three.BufferGeometry(), new three.PointsMaterial(drawn));
    this.lines = new three.LineSegments(new three.BufferGeometry(), new three.LineBasicMaterial({ vertexColors: true }));
    // They change so often that computing their bounds for culling would cost more than drawing them.
    this.points.frustumCulled = this.lines.frustumCulled = false;
    this.world = new three.Scene();
    this.world.background = SKY;
    this.world.add(...lights(), this.ground, this.rocks, this.points, this.lines);
    this.renderer = rendererOn(canvas);
    if (this.renderer) this.listen();
  }

  /** Whether the browser can draw the view. */
  get isShown() { return this.renderer !== null; }

  /** Lets mouse, fingers and keys turn the view and change the distance. */
  listen() {
    const controls = new three.OrbitControls(this.camera, this.canvas);
    controls.target = this.target;
    controls.enablePan = false;
    controls.rotateSpeed = 0.5;
    controls.zoomSpeed = 2;
    [controls.minDistance, controls.maxDistance] = DISTANCE_M;
    [controls.maxPolarAngle, controls.minPolarAngle] = UP_RAD.map((up) => Math.PI / 2 - up);
    this.canvas.addEventListener("keydown", (e) => {
      const turn = TURNS[e.key], nearer = NEARER[e.key];
      if (turn) {
        controls.rotateLeft(-turn[0]);
        controls.rotateUp(turn[1]);
      } else if (nearer) {
        controls.dollyIn(nearer);
      } else {
        return;
      }
      e.preventDefault();
      e.stopPropagation();
    });
    this.controls = controls;
  }

  setGround({ middle_m, resolution_m, cells: [rows, columns] }, heights) {
    const base_m = heights.find(Number.isFinite) ?? 0;
    this.field = { middle_m, resolution_m, rows, columns, heights };
    this.ground.geometry.dispose();
    this.ground.geometry = surface(rows, columns, resolution_m, heights.map((height) => height - base_m));
    this.ground.position.set(...middle_m, base_m);
    this.setRocks(this.allRocks);
  }

  /** Removes ground, rocks and points, which belong to another run or position in a session. */
  forget() {
    this.field = null;
    this.ground.geometry.dispose();
    this.ground.geometry = new three.BufferGeometry();
    this.setRocks(new Float32Array());
    this.setPoints(new Float32Array());
  }

  /** The height of the shown ground at x, y; NaN beside it. */
  groundAt(x, y) {
    if (!this.field) return NaN;
    const { middle_m, resolution_m, rows, columns, heights } = this.field;
    const row = (rows - 1) / 2 - (x - middle_m[0]) / resolution_m, column = (columns - 1) / 2 - (y - middle_m[1]) / resolution_m;
    const [r, c] = [Math.floor(row), Math.floor(column)], [u, v] = [row - r, column - c];
    if (r < 0 || c < 0 || r + 1 >= rows || c + 1 >= columns) return NaN;
    const height = (dr, dc) => heights[(c + dc) * rows + r + dr];
    return (1 - v) * ((1 - u) * height(0, 0) + u * height(1, 0)) + v * ((1 - u) * height(0, 1) + u * height(1, 1));
  }

  /** Shows the rocks (x, y, z and diameter of each) on the shown ground. */
  setRocks(rocks) {
    this.allRocks = rocks;
    const each = Array.from({ length: Math.floor(rocks.length / 4) }, (_, rock) => rocks.slice(4 * rock, 4 * rock + 4));
    const shown = each.filter(([x, y]) => Number.isFinite(this.groundAt(x, y)));
    const first = vector(shown[0]?.slice(0, 3) ?? [0, 0, 0]), matrix = new three.Matrix4();
    this.world.remove(this.rocks);
    this.rocks.dispose();
    this.rocks = new three.InstancedMesh(this.stone.geometry, this.stone.material, shown.length);
    shown.forEach(([x, y, z, diameter], rock) => {
      const radius = diameter / 2;
      matrix.makeScale(radius, radius, radius).setPosition(x - first.x, y - first.y, z - first.z);
      this.rocks.setMatrixAt(rock, matrix);
    });
    this.rocks.position.copy(first);
    this.world.add(this.rocks);
  }

  /** Shows points of a lidar, coloured by their height above the point that the camera looks at. */
  setPoints(points) {
    const { target } = this, place = new Float32Array(points.length), colour = new Float32Array(points.length);
    for (let at = 0; at + 2 < points.length; at += 3) {
      const from = [points[at] - target.x, points[at + 1] - target.y, points[at + 2] - target.z];
      const height = Math.min(1, Math.max(0, 0.5 + from[2] / 3));
      place.set(from, at);
      colour.set([0.2 + 0.8 * height, 0.9 - 0.3 * height, 1 - 0.8 * height], at);
    }
    this.show(this.points, place, colour);
  }

  /** Shows lines: the axes of frames, a box around each rover's frames, and the rovers' paths. */
  setLines(frames, rovers, ways, showsFrames) {
    const place = [], colour = [], { target } = this;
    const line = (a, b, tint) => {
      place.push(a.x - target.x, a.y - target.y, a.z - target.z, b.x - target.x, b.y - target.y, b.z - target.z);
      colour.push(...tint, ...tint);
    };
    if (showsFrames) this.axes(frames, line);
    for (const rover of rovers) this.box(rover, frames, line);
    const along = ([x, y]) => {
      const ground_m = this.groundAt(x, y);
      return new three.Vector3(x, y, Number.isFinite(ground_m) ? ground_m + ABOVE_M : target.z - 0.1);
    };
    for (const way of ways) {
      const places = way.map(along);
      for (let at = 1; at < places.length; at++) line(places[at - 1], places[at], WAY);
    }
    this.show(this.lines, place, colour);
  }

  /** Draws the axes of each frame, and a line to it from its parent frame. */
  axes(frames, line) {
    const known = new Map(frames.map((frame) => [frame[0], vector(frame[2])]));
    for (const [name, parent, , attitude] of frames) {
      if (isOdom(name)) continue;
      const at = known.get(name), turn = new three.Quaternion(...attitude);
      for (const [axis, tint] of AXES) line(at, vector(axis).applyQuaternion(turn).multiplyScalar(AXIS_M).add(at), tint);
      if (known.has(parent) && !isOdom(parent)) line(known.get(parent), at, LINK);
    }
  }

  /** Draws the smallest box along a rover's own axes that contains its frames. */
  box(rover, frames, line) {
    const prefix = rover.frame.includes("/") ? rover.frame.slice(0, rover.frame.lastIndexOf("/") + 1) : "";
    // Frames of a rover without a namespace have no slash in their names.
    const isOwn = (name) => (prefix ? name.startsWith(prefix) : !name.includes("/"));
    const own = frames.filter(([name]) => isOwn(name) && !/(^|\/)(odom|map)$/.test(name));
    const at = vector(rover.at_m), turn = new three.Quaternion(...rover.attitude), back = turn.clone().conjugate();
    const { min, max } = own.reduce((box, frame) => box.expandByPoint(vector(frame[2]).sub(at).applyQuaternion(back)),
      new three.Box3(vector([-0.1, -0.1, -0.1]), vector([0.1, 0.1, 0.1])));
    const corner = (bits) => new three.Vector3(...["x", "y", "z"].map((axis, bit) => (bits >> bit & 1 ? max : min)[axis]))
      .applyQuaternion(turn).add(at);
    for (let bits = 0; bits < 8; bits++) for (let bit = 0; bit < 3; bit++) {
      if (!(bits >> bit & 1)) line(corner(bits), corner(bits | 1 << bit), BOX);
    }
  }

  /** Shows coloured points or lines whose positions are relative to the point that the camera looks at. */
  show(shape, place, colour) {
    put(shape.geometry, "position", place);
    put(shape.geometry, "color", colour);
    shape.position.copy(this.target);
    shape.visible = place.length > 0;
  }

  /** Points the camera at a position, from the same direction and distance as before. */
  lookAt(place) {
    if (!place.every(Number.isFinite)) return;
    const by = vector(place).sub(this.target);
    this.target.add(by);
    this.camera.position.add(by);
  }

  /** Resizes the drawing to the canvas's size on the page and the screen's resolution. */
  fit() {
    const { renderer, canvas, camera } = this, ratio = Math.min(window.devicePixelRatio || 1, 2);
    const [width, height] = [canvas.clientWidth, canvas.clientHeight].map((side) => Math.max(1, side));
    if (renderer.getPixelRatio() !== ratio) renderer.setPixelRatio(ratio);
    const size = renderer.getSize(new three.Vector2());
    if (size.x !== width || size.y !== height) renderer.setSize(width, height, false);
    const far = Math.max(200, 8 * camera.position.distanceTo(this.target));
    Object.assign(camera, { aspect: width / height, near: Math.max(far / 4000, 0.02), far });
    camera.updateProjectionMatrix();
  }

  draw() {
    if (!this.isShown) return;
    this.controls.update();
    this.fit();
    this.renderer.render(this.world, this.camera);
  }
}
