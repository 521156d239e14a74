// The view in three dimensions: ground, rocks, rovers, frames and points, by WebGL 2 and nothing else. Places are in the
// map frame (x east, y north, z up, metres) less an origin near the rover, so that numbers of 32 bits hold millimetres.

const SHADED_VERTEX = `#version 300 es
uniform mat4 clip_from_map; in vec3 place; in vec3 normal; out vec3 facing;
void main() { facing = normal; gl_Position = clip_from_map * vec4(place, 1.0); }`;
const SHADED_FRAGMENT = `#version 300 es
precision mediump float; uniform vec3 colour; in vec3 facing; out vec4 shade;
void main() { float light = 0.25 + 0.75 * max(dot(normalize(facing), normalize(vec3(-0.6, 0.3, 0.5))), 0.0);
  shade = vec4(colour * light, 1.0); }`;
const PLAIN_VERTEX = `#version 300 es
uniform mat4 clip_from_map; uniform float size; in vec3 place; in vec3 colour; out vec3 tint;
void main() { tint = colour; gl_PointSize = size; gl_Position = clip_from_map * vec4(place, 1.0); }`;
const PLAIN_FRAGMENT = `#version 300 es
precision mediump float; in vec3 tint; out vec4 shade; void main() { shade = vec4(tint, 1.0); }`;
const AXES = [[[1, 0, 0], [0.9, 0.3, 0.25]], [[0, 1, 0], [0.35, 0.8, 0.35]], [[0, 0, 1], [0.4, 0.6, 1]]];

const sub = (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
const add = (a, b) => [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
const scale = (a, k) => [a[0] * k, a[1] * k, a[2] * k];
const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const unit = (a) => scale(a, 1 / Math.max(Math.hypot(...a), 1e-9));
/** `v` turned by the quaternion [x, y, z, w]. */
export function turned([x, y, z, w], v) {
  const t = scale(cross([x, y, z], v), 2);
  return add(add(v, scale(t, w)), cross([x, y, z], t));
}

/** Columns of clip from map for an eye that looks at `target`. */
function camera(eye, target, aspect, far) {
  const back = unit(sub(eye, target)), right = unit(cross([0, 0, 1], back)), up = cross(back, right);
  const f = 1 / Math.tan(0.45), near = Math.max(far / 4000, 0.02);
  const rows = [scale(right, f / aspect), scale(up, f), scale(back, (far + near) / (near - far)), scale(back, -1)];
  const last = rows.map((row, i) => -dot(row, eye) + (i === 2 ? (2 * far * near) / (near - far) : 0));
  const columns = [];
  for (let column = 0; column < 3; column++) for (let row = 0; row < 4; row++) columns.push(rows[row][column]);
  return new Float32Array([...columns, ...last]);
}

export class Scene {
  constructor(canvas) {
    this.canvas = canvas;
    this.gl = canvas.getContext("webgl2", { antialias: true });
    this.angle = [-2.2, 0.5];
    this.distance = 7;
    this.origin = null;
    this.target = [0, 0, 0];
    this.shapes = {};
    if (!this.gl) return;
    this.programs = { shaded: this.program(SHADED_VERTEX, SHADED_FRAGMENT, ["place", "normal"]),
      plain: this.program(PLAIN_VERTEX, PLAIN_FRAGMENT, ["place", "colour"]) };
    canvas.addEventListener("webglcontextlost", (event) => { event.preventDefault(); this.gl = null; });
    this.listen();
  }

  program(vertex, fragment, attributes) {
    const { gl } = this, program = gl.createProgram();
    for (const [kind, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, text);
      gl.compileShader(shader);
      if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(shader));
      gl.attachShader(program, shader);
    }
    attributes.forEach((name, at) => gl.bindAttribLocation(program, at, name));
    gl.linkProgram(program);
    return program;
  }

  listen() {
    const { canvas } = this;
    let last = null;
    canvas.addEventListener("pointerdown", (e) => { last = [e.clientX, e.clientY]; canvas.setPointerCapture(e.pointerId); });
    canvas.addEventListener("pointerup", () => { last = null; });
    canvas.addEventListener("pointercancel", () => { last = null; });
    canvas.addEventListener("pointermove", (e) => {
      if (!last) return;
      this.turn(0.008 * (last[0] - e.clientX), 0.008 * (e.clientY - last[1]));
      last = [e.clientX, e.clientY];
    });
    canvas.addEventListener("wheel", (e) => { e.preventDefault(); this.zoom(Math.exp(0.001 * e.deltaY)); }, { passive: false });
    canvas.addEventListener("keydown", (e) => {
      const turns = { ArrowLeft: [0.1, 0], ArrowRight: [-0.1, 0], ArrowUp: [0, 0.08], ArrowDown: [0, -0.08] }[e.key];
      if (turns) this.turn(...turns);
      else if (e.key === "+") this.zoom(0.85);
      else if (e.key === "-") this.zoom(1.18);
      else return;
      e.preventDefault();
      e.stopPropagation();
    });
  }

  turn(around, up) {
    this.angle = [this.angle[0] + around, Math.min(1.5, Math.max(0.05, this.angle[1] + up))];
  }

  zoom(by) {
    this.distance = Math.min(400, Math.max(1, this.distance * by));
  }

  /** Keeps a shape: `arrays` of three numbers a vertex, for the program's two attributes. */
  keep(name, program, mode, place, other, extra = {}) {
    const { gl } = this;
    if (!gl) return;
    const old = this.shapes[name];
    const shape = old ?? { array: gl.createVertexArray(), buffers: [gl.createBuffer(), gl.createBuffer()] };
    gl.bindVertexArray(shape.array);
    [place, other].forEach((values, at) => {
      gl.bindBuffer(gl.ARRAY_BUFFER, shape.buffers[at]);
      gl.bufferData(gl.ARRAY_BUFFER, values instanceof Float32Array ? values : new Float32Array(values), gl.DYNAMIC_DRAW);
      gl.enableVertexAttribArray(at);
      gl.vertexAttribPointer(at, 3, gl.FLOAT, false, 0, 0);
    });
    this.shapes[name] = Object.assign(shape, { program, mode, count: place.length / 3, ...extra });
  }

  /** Forgets all shapes: another run, or places far from the origin. */
  beginAt(place) {
    this.origin = place;
    for (const shape of Object.values(this.shapes)) shape.count = 0;
  }

  setGround({ middle_m, resolution_m, cells: [rows, columns] }, heights) {
    if (!this.origin) return;
    const at = (row, column) => {
      const x = middle_m[0] + ((rows - 1) / 2 - row) * resolution_m - this.origin[0];
      const y = middle_m[1] + ((columns - 1) / 2 - column) * resolution_m - this.origin[1];
      return [x, y, heights[column * rows + row] - this.origin[2]];
    };
    const place = [], normal = [];
    for (let row = 0; row + 1 < rows; row++) {
      for (let column = 0; column + 1 < columns; column++) {
        const [a, b, c, d] = [at(row, column), at(row + 1, column), at(row, column + 1), at(row + 1, column + 1)];
        if (![a, b, c, d].every((corner) => Number.isFinite(corner[2]))) continue;
        let up = unit(cross(sub(b, c), sub(d, a)));
        if (up[2] < 0) up = scale(up, -1);
        for (const corner of [a, b, c, b, d, c]) { place.push(...corner); normal.push(...up); }
      }
    }
    this.keep("ground", "shaded", this.gl?.TRIANGLES, place, normal, { colour: [0.62, 0.6, 0.57] });
  }

  setRocks(rocks) {
    if (!this.origin) return;
    const place = [], normal = [], tips = [[1, 0, 0], [0, 1, 0], [-1, 0, 0], [0, -1, 0]];
    for (let at = 0; at + 3 < rocks.length; at += 4) {
      const middle = sub([rocks[at], rocks[at + 1], rocks[at + 2]], this.origin), radius = rocks[at + 3] / 2;
      for (let side = 0; side < 4; side++) for (const up of [1, -1]) {
        const corners = [tips[side], tips[(side + 1) % 4], [0, 0, up]];
        const facing = unit(corners.reduce(add));
        for (const corner of corners) { place.push(...add(middle, scale(corner, radius))); normal.push(...facing); }
      }
    }
    this.keep("rocks", "shaded", this.gl?.TRIANGLES, place, normal, { colour: [0.5, 0.45, 0.4] });
  }

  setPoints(points) {
    if (!this.origin) return;
    const place = new Float32Array(points.length), colour = new Float32Array(points.length);
    for (let at = 0; at < points.length; at += 3) {
      for (let axis = 0; axis < 3; axis++) place[at + axis] = points[at + axis] - this.origin[axis];
      const height = Math.min(1, Math.max(0, 0.5 + place[at + 2] / 3));
      colour.set([0.2 + 0.8 * height, 0.9 - 0.3 * height, 1 - 0.8 * height], at);
    }
    this.keep("points", "plain", this.gl?.POINTS, place, colour);
  }

  /** Lines: frames with their axes, a box about each rover's frames, and the ways. */
  setLines(frames, rovers, ways, showsFrames) {
    if (!this.origin) return;
    const place = [], colour = [];
    const line = (a, b, tint) => { place.push(...sub(a, this.origin), ...sub(b, this.origin)); colour.push(...tint, ...tint); };
    const known = new Map(frames.map((frame) => [frame[0], frame]));
    if (showsFrames) for (const [name, parent, at, attitude] of frames) {
      if (/(^|\/)odom$/.test(name)) continue;
      for (const [axis, tint] of AXES) line(at, add(at, turned(attitude, scale(axis, 0.15))), tint);
      if (known.has(parent) && !/(^|\/)odom$/.test(parent)) line(known.get(parent)[2], at, [0.75, 0.75, 0.75]);
    }
    for (const rover of rovers) this.box(rover, frames, line);
    for (const way of ways) for (let at = 1; at < way.length; at++) {
      const z = this.target[2] + this.origin[2] - 0.1;
      line([...way[at - 1].slice(0, 2), z], [...way[at].slice(0, 2), z], [1, 0.75, 0.2]);
    }
    this.keep("lines", "plain", this.gl?.LINES, place, colour);
  }

  /** The least box along a rover's own axes that holds its frames. */
  box(rover, frames, line) {
    const prefix = rover.frame.includes("/") ? rover.frame.slice(0, rover.frame.lastIndexOf("/") + 1) : "";
    const own = frames.filter(([name]) => name.startsWith(prefix) && !/(^|\/)(odom|map)$/.test(name));
    const [x, y, z, w] = rover.attitude, back = [-x, -y, -z, w];
    const least = [-0.1, -0.1, -0.1], greatest = [0.1, 0.1, 0.1];
    for (const [, , at] of own) turned(back, sub(at, rover.at_m)).forEach((value, axis) => {
      least[axis] = Math.min(least[axis], value);
      greatest[axis] = Math.max(greatest[axis], value);
    });
    const corner = (bits) => add(rover.at_m, turned(rover.attitude, [0, 1, 2].map((axis) => (bits >> axis & 1 ? greatest : least)[axis])));
    for (let bits = 0; bits < 8; bits++) for (let axis = 0; axis < 3; axis++) {
      if (!(bits >> axis & 1)) line(corner(bits), corner(bits | 1 << axis), [0.45, 0.75, 1]);
    }
  }

  /** Looks at a place. */
  lookAt(place) {
    if (!this.origin || Math.hypot(...sub(place, this.origin)) > 2000) this.beginAt(place);
    this.target = sub(place, this.origin);
  }

  draw() {
    const { gl, canvas } = this;
    if (!gl) return;
    const ratio = Math.min(window.devicePixelRatio || 1, 2);
    const [width, height] = [canvas.clientWidth, canvas.clientHeight].map((side) => Math.max(1, Math.round(side * ratio)));
    if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
    gl.viewport(0, 0, width, height);
    gl.clearColor(0.03, 0.03, 0.04, 1);
    gl.enable(gl.DEPTH_TEST);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    const [around, up] = this.angle, d = this.distance;
    const eye = add(this.target, [d * Math.cos(up) * Math.cos(around), d * Math.cos(up) * Math.sin(around), d * Math.sin(up)]);
    const matrix = camera(eye, this.target, width / height, Math.max(200, 8 * d));
    for (const shape of Object.values(this.shapes)) {
      if (!shape.count) continue;
      const program = this.programs[shape.program];
      gl.useProgram(program);
      gl.uniformMatrix4fv(gl.getUniformLocation(program, "clip_from_map"), false, matrix);
      if (shape.colour) gl.uniform3fv(gl.getUniformLocation(program, "colour"), shape.colour);
      else gl.uniform1f(gl.getUniformLocation(program, "size"), 2 * ratio);
      gl.bindVertexArray(shape.array);
      gl.drawArrays(shape.mode, 0, shape.count);
    }
  }
}
