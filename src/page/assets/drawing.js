// The field on the canvas, by WebGL2: as a map and as a surface, from one texture of pairs (re, im).

/**
 * Display parameters of a field.
 * @typedef {object} Look
 * @property {number} mode       kModes
 * @property {boolean} isDb
 * @property {number} perDecade
 * @property {number} reference
 * @property {number} low        bottom of the scale, in dB or in the unit
 * @property {number} high
 * @property {number} phase      phase of the animation, radians
 * @property {boolean} smooth    linear between pixels
 * @property {number} opacity    below 1 over a picture
 * @property {boolean} fades     values below the start are transparent
 * @property {number} start      position on the scale, 0 to 1
 * @property {number} full       position from which the opacity is whole
 */

export const kModes = { magnitude: 0, phase: 1, real: 2, levelDifference: 3, phaseDifference: 4 };
const kTables = { magnitude: 0, phase: 1, signed: 2 };
const kColours = 256;
/** Points of the surface along its longer side. */
const kSurfacePoints = 96;

const kCommon = `#version 300 es
precision highp float;
precision highp int;
precision highp sampler2D;
uniform sampler2D field;
uniform sampler2D kept;
uniform sampler2D colours;
uniform ivec2 size;
uniform int mode;
uniform bool is_db;
uniform bool is_smooth;
uniform float per_decade;
uniform float reference;
uniform float low;
uniform float high;
uniform vec2 turn;

vec2 texel(sampler2D from, ivec2 at) { return texelFetch(from, clamp(at, ivec2(0), size - 1), 0).rg; }

vec2 value_at(sampler2D from, vec2 place) {
  vec2 p = place * vec2(size) - 0.5;
  if (!is_smooth) return texel(from, ivec2(floor(p + 0.5)));
  ivec2 i = ivec2(floor(p));
  vec2 f = p - floor(p);
  vec2 top = mix(texel(from, i), texel(from, i + ivec2(1, 0)), f.x);
  vec2 bottom = mix(texel(from, i + ivec2(0, 1)), texel(from, i + ivec2(1, 1)), f.x);
  return mix(top, bottom, f.y);
}

float level_of(float magnitude) { return per_decade * log(max(magnitude, 1e-37) / reference) * 0.43429448190325176; }

float cycle(float angle) { return fract(angle / 6.283185307179586 + 0.5); }

bool is_number(vec2 v) { return !(isnan(v.x) || isnan(v.y) || isinf(v.x) || isinf(v.y)); }

// Where the value lies on the scale, 0 to 1; below 0 what has no value.
float position(vec2 place) {
  vec2 v = value_at(field, place);
  if (!is_number(v)) return -1.0;
  float t;
  if (mode == 0) {
    float m = length(v);
    t = ((is_db ? level_of(m) : m) - low) / (high - low);
  } else if (mode == 1) {
    t = cycle(atan(v.y, v.x));
  } else if (mode == 2) {
    t = 0.5 + 0.5 * (v.x * turn.x - v.y * turn.y) / high;
  } else {
    vec2 w = value_at(kept, place);
    if (!is_number(w)) return -1.0;
    t = mode == 3 ? ((level_of(length(v)) - level_of(length(w))) - low) / (high - low)
                  : cycle(atan(v.y * w.x - v.x * w.y, v.x * w.x + v.y * w.y));
  }
  return clamp(t, 0.0, 1.0);
}

vec3 colour_of(float t) {
  int row = mode == 0 ? 0 : (mode == 1 || mode == 4) ? 1 : 2;
  return texelFetch(colours, ivec2(int(t * 255.0 + 0.5), row), 0).rgb;
}
`;

const kMapVertex = `#version 300 es
void main() {
  vec2 corner = vec2(gl_VertexID == 1 ? 3.0 : -1.0, gl_VertexID == 2 ? 3.0 : -1.0);
  gl_Position = vec4(corner, 0.0, 1.0);
}`;

const kMapFragment = `${kCommon}
uniform mat3 to_field;   // pixels of the canvas, from its top left corner, to 0 .. 1 over the field
uniform float canvas_height;
uniform float opacity;
uniform bool fades;
uniform float start;
uniform float full;
out vec4 result;
void main() {
  vec3 p = to_field * vec3(gl_FragCoord.x, canvas_height - gl_FragCoord.y, 1.0);
  vec2 place = p.xy / p.z;
  result = vec4(0.0);
  if (any(lessThan(place, vec2(0.0))) || any(greaterThan(place, vec2(1.0)))) return;
  float t = position(place);
  if (t < 0.0) return;
  float alpha = fades ? opacity * smoothstep(start, full, t) : opacity;
  result = vec4(colour_of(t) * alpha, alpha);
}`;

const kSurfaceVertex = `${kCommon}
uniform ivec2 points;
uniform vec2 half_size;
uniform mat4 camera;
uniform float mirror;
out vec3 where;
out float shown;
void main() {
  ivec2 at = ivec2(gl_VertexID % points.x, gl_VertexID / points.x);
  vec2 place = (vec2(at) + 0.5) / vec2(points);
  float t = position(place);
  shown = t;
  where = vec3((place * 2.0 - 1.0) * half_size * vec2(mirror, 1.0), 0.55 * (max(t, 0.0) - 0.5));
  gl_Position = camera * vec4(where, 1.0);
}`;

const kSurfaceFragment = `${kCommon}
in vec3 where;
in float shown;
out vec4 result;
void main() {
  if (shown < 0.0) discard;
  vec3 normal = normalize(cross(dFdx(where), dFdy(where)));
  float light = 0.62 + 0.38 * abs(dot(normal, normalize(vec3(-0.4, -0.5, 0.8))));
  result = vec4(colour_of(clamp(shown, 0.0, 1.0)) * light, 1.0);
}`;

/** @param {WebGL2RenderingContext} gl @param {string} vertex @param {string} fragment */
function programOf(gl, vertex, fragment) {
  const program = /** @type {WebGLProgram} */ (gl.createProgram());
  for (const [type, text] of /** @type {[number, string][]} */ ([[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]])) {
    const shader = /** @type {WebGLShader} */ (gl.createShader(type));
    gl.shaderSource(shader, text);
    gl.compileShader(shader);
    if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS) && !gl.isContextLost()) {
      throw new Error(`a shader was not compiled: ${gl.getShaderInfoLog(shader)}`);
    }
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  if (!gl.getProgramParameter(program, gl.LINK_STATUS) && !gl.isContextLost()) {
    throw new Error(`the shaders do not fit together: ${gl.getProgramInfoLog(program)}`);
  }
  /** @type {Map<string, WebGLUniformLocation | null>} */
  const places = new Map();
  /** @param {string} name */
  const place = (name) => {
    if (!places.has(name)) places.set(name, gl.getUniformLocation(program, name));
    return places.get(name) ?? null;
  };
  return { program, place };
}

/** @typedef {ReturnType<typeof programOf>} Program */

export class Drawing {
  /** @param {HTMLCanvasElement} canvas @param {Record<string, number[][]>} colours */
  constructor(canvas, colours) {
    this.canvas = canvas;
    this.colours = colours;
    const gl = canvas.getContext("webgl2", { antialias: false, alpha: true, depth: true, preserveDrawingBuffer: false });
    if (!gl) throw new Error("this browser has no WebGL2, which the picture needs");
    this.gl = gl;
    const info = gl.getExtension("WEBGL_debug_renderer_info");
    /** True if the processor draws, not a GPU. */
    this.isSoftware = info !== null && /SwiftShader|llvmpipe|softpipe/i.test(String(gl.getParameter(info.UNMASKED_RENDERER_WEBGL)));
    this.restored = () => {};
    canvas.addEventListener("webglcontextlost", (event) => event.preventDefault());
    canvas.addEventListener("webglcontextrestored", () => {
      this.build();
      this.restored();
    });
    this.build();
  }

  build() {
    const gl = this.gl;
    this.map = programOf(gl, kMapVertex, kMapFragment);
    this.surface = programOf(gl, kSurfaceVertex, kSurfaceFragment);
    this.field = this.texture();
    this.kept = this.texture();
    this.size = [1, 1];
    this.table = this.texture();
    const bytes = new Uint8Array(4 * kColours * 3);
    for (const [name, row] of Object.entries(kTables)) {
      this.colours[name].forEach((colour, i) => bytes.set([...colour, 255], 4 * (row * kColours + i)));
    }
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA8, kColours, 3, 0, gl.RGBA, gl.UNSIGNED_BYTE, bytes);
    this.indices = { points: [0, 0], count: 0, buffer: gl.createBuffer() };
    gl.bindVertexArray(gl.createVertexArray());
    this.setField(new Float32Array(2), 1, 1);
    this.setKept(new Float32Array(2));
  }

  texture() {
    const gl = this.gl;
    const texture = gl.createTexture();
    gl.bindTexture(gl.TEXTURE_2D, texture);
    for (const filter of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_2D, filter, gl.NEAREST);
    for (const wrap of [gl.TEXTURE_WRAP_S, gl.TEXTURE_WRAP_T]) gl.texParameteri(gl.TEXTURE_2D, wrap, gl.CLAMP_TO_EDGE);
    return texture;
  }

  /** @param {Float32Array} pairs @param {number} columns @param {number} rows */
  setField(pairs, columns, rows) {
    this.size = [columns, rows];
    this.upload(this.field ?? null, pairs);
  }

  /** @param {Float32Array} pairs   the values to compare with, in the field's size */
  setKept(pairs) {
    this.upload(this.kept ?? null, pairs);
  }

  /** @param {WebGLTexture | null} texture @param {Float32Array} pairs */
  upload(texture, pairs) {
    const gl = this.gl;
    const [columns, rows] = /** @type {number[]} */ (this.size);
    gl.bindTexture(gl.TEXTURE_2D, texture);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RG32F, columns, rows, 0, gl.RG, gl.FLOAT, pairs);
  }

  /** @param {Program} program @param {Look} look */
  use(program, look) {
    const gl = this.gl;
    gl.useProgram(program.program);
    [this.field, this.kept, this.table].forEach((texture, unit) => {
      gl.activeTexture(gl.TEXTURE0 + unit);
      gl.bindTexture(gl.TEXTURE_2D, texture ?? null);
    });
    gl.activeTexture(gl.TEXTURE0);
    gl.uniform1i(program.place("field"), 0);
    gl.uniform1i(program.place("kept"), 1);
    gl.uniform1i(program.place("colours"), 2);
    gl.uniform2i(program.place("size"), this.size?.[0] ?? 1, this.size?.[1] ?? 1);
    gl.uniform1i(program.place("mode"), look.mode);
    gl.uniform1i(program.place("is_db"), look.isDb ? 1 : 0);
    gl.uniform1i(program.place("is_smooth"), look.smooth ? 1 : 0);
    gl.uniform1f(program.place("per_decade"), look.perDecade);
    gl.uniform1f(program.place("reference"), look.reference);
    gl.uniform1f(program.place("low"), look.low);
    gl.uniform1f(program.place("high"), look.high);
    gl.uniform2f(program.place("turn"), Math.cos(look.phase), Math.sin(look.phase));
  }

  clear() {
    const gl = this.gl;
    gl.viewport(0, 0, this.canvas.width, this.canvas.height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
  }

  /**
   * Draws the field as a map.
   * @param {Look} look
   * @param {import("./geometry.js").Matrix} toField   from pixels of the canvas to 0 .. 1 over the field
   */
  drawMap(look, toField) {
    const gl = this.gl;
    const program = /** @type {Program} */ (this.map);
    this.clear();
    gl.disable(gl.DEPTH_TEST);
    this.use(program, look);
    gl.uniformMatrix3fv(program.place("to_field"), true, toField);
    gl.uniform1f(program.place("canvas_height"), this.canvas.height);
    gl.uniform1f(program.place("opacity"), look.opacity);
    gl.uniform1i(program.place("fades"), look.fades ? 1 : 0);
    gl.uniform1f(program.place("start"), look.start);
    gl.uniform1f(program.place("full"), look.full);
    gl.drawArrays(gl.TRIANGLES, 0, 3);
  }

  /**
   * Draws the field as a surface.
   * @param {Look} look
   * @param {Float32Array} camera   4 x 4, columns first
   * @param {number} width          width of the field
   * @param {number} height         height of the field
   * @param {boolean} mirror
   */
  drawSurface(look, camera, width, height, mirror) {
    const gl = this.gl;
    const program = /** @type {Program} */ (this.surface);
    const longer = Math.max(width, height);
    const points = [width, height].map((side) => Math.max(2, Math.round((kSurfacePoints * side) / longer)));
    this.clear();
    gl.enable(gl.DEPTH_TEST);
    this.use(program, look);
    gl.uniform2i(program.place("points"), points[0], points[1]);
    gl.uniform2f(program.place("half_size"), width / longer, height / longer);
    gl.uniformMatrix4fv(program.place("camera"), false, camera);
    gl.uniform1f(program.place("mirror"), mirror ? -1 : 1);
    gl.drawElements(gl.TRIANGLES, this.meshOf(points), gl.UNSIGNED_SHORT, 0);
  }

  /**
   * Makes two triangles per cell; returns the number of indices.
   * @param {number[]} points  at most 96 x 96
   */
  meshOf(points) {
    const gl = this.gl;
    const indices = this.indices;
    if (!indices) return 0;
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, indices.buffer);
    if (indices.points[0] === points[0] && indices.points[1] === points[1]) return indices.count;
    const list = [];
    for (let y = 0; y + 1 < points[1]; ++y) {
      for (let x = 0; x + 1 < points[0]; ++x) {
        const i = y * points[0] + x;
        list.push(i, i + 1, i + points[0], i + 1, i + points[0] + 1, i + points[0]);
      }
    }
    indices.points = points;
    indices.count = list.length;
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, new Uint16Array(list), gl.STATIC_DRAW);
    return indices.count;
  }

  /**
   * Reads a pixel that was just drawn, in the same task; x and y in pixels of the canvas from its top left corner.
   * @param {number} x
   * @param {number} y
   */
  readPixel(x, y) {
    const bytes = new Uint8Array(4);
    this.gl.readPixels(Math.floor(x), this.canvas.height - 1 - Math.floor(y), 1, 1, this.gl.RGBA, this.gl.UNSIGNED_BYTE, bytes);
    return [...bytes];
  }
}
