// Shaders: points of four shapes, and thin lines.

const POINT_VERTEX = `#version 300 es
in vec2 position; // 0..1 over the grid
in vec4 colour;   // alpha 0: hidden
in vec2 mark;     // size factor times 64, shape
uniform vec2 centre;
uniform vec2 zoom;     // clip units for the whole grid
uniform float radius;  // device pixels
uniform float opacity;
out vec4 tint;
flat out int shape;
flat out float size;
void main() {
  gl_Position = vec4((position - centre) * zoom, 0.0, 1.0);
  if (colour.a == 0.0) gl_Position = vec4(2.0, 2.0, 2.0, 1.0);
  float r = radius * mark.x / 64.0;
  size = 2.0 * r + 2.0;
  gl_PointSize = size;
  shape = int(mark.y + 0.5);
  float a = colour.a * opacity * min(1.0, r * r * 1.6); // a point below a pixel is faint, not gone
  tint = vec4(colour.rgb, a);
}`;

const POINT_FRAGMENT = `#version 300 es
precision mediump float;
in vec4 tint;
flat in int shape;
flat in float size;
uniform vec3 rim;
out vec4 pixel;
float inside(vec2 p, float r) { // pixels from the edge, positive inside
  if (shape == 1) return min(r * 0.62 - p.y, (r * 1.15 + p.y - 1.9 * abs(p.x)) * 0.5);
  if (shape == 2) return r * 0.84 - max(abs(p.x), abs(p.y));
  if (shape == 3) return (r * 1.18 - abs(p.x) - abs(p.y)) * 0.75;
  return r - length(p);
}
void main() {
  vec2 p = (gl_PointCoord - 0.5) * size;
  float r = size * 0.5 - 1.0;
  float depth = inside(p, max(r, 0.7));
  float cover = clamp(depth + 0.5, 0.0, 1.0);
  if (cover <= 0.0) discard;
  float body = r > 3.5 ? clamp(depth - 0.4, 0.0, 1.0) : 1.0;
  float a = tint.a * cover;
  pixel = vec4(mix(rim, tint.rgb, mix(0.25, 1.0, body)) * a, a);
}`;

const LINE_VERTEX = `#version 300 es
in vec2 position;
uniform vec2 centre;
uniform vec2 zoom;
void main() {
  gl_Position = vec4((position - centre) * zoom, 0.0, 1.0);
}`;

const LINE_FRAGMENT = `#version 300 es
precision mediump float;
uniform vec4 colour;
out vec4 pixel;
void main() {
  pixel = vec4(colour.rgb * colour.a, colour.a);
}`;

function linkProgram(gl, vertex, fragment) {
  const program = gl.createProgram();
  for (const [type, source] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
    const shader = gl.createShader(type);
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  if (!gl.getProgramParameter(program, gl.LINK_STATUS) && !gl.isContextLost()) {
    throw new Error("the graphics card refuses the shaders: " + gl.getProgramInfoLog(program));
  }
  const uniforms = {};
  for (let i = 0; i < gl.getProgramParameter(program, gl.ACTIVE_UNIFORMS); i++) {
    const { name } = gl.getActiveUniform(program, i);
    uniforms[name] = gl.getUniformLocation(program, name);
  }
  return { program, uniforms, at: (name) => gl.getAttribLocation(program, name) };
}
