// Draws with the mouse, makes of the drawing what the model was trained on, and asks the server.
"use strict";

// As scikit-learn's digits were made: a bitmap of 32 x 32, of which each block of 4 x 4 is one of 64 values, its number of
// black pixels.
const SIZE = 32;
const BLOCK = 4;
const MARGIN = 1;
const BRUSH = 1.6; // radius, in pixels of the bitmap
const DIGITS = 10;

const byId = (id) => document.getElementById(id);
const canvas = byId("canvas");
const scale = canvas.width / SIZE;
let strokes = []; // each a list of points, in pixels of the bitmap
let drawing = false;
let asked = 0; // number of the newest question: answers to older ones are not shown

function toPoint(event) {
  const box = canvas.getBoundingClientRect();
  return { x: ((event.clientX - box.left) / box.width) * SIZE, y: ((event.clientY - box.top) / box.height) * SIZE };
}

function draw(context, unit, place) {
  context.fillStyle = "white";
  context.fillRect(0, 0, SIZE * unit, SIZE * unit);
  context.strokeStyle = context.fillStyle = "black";
  context.lineWidth = 2 * BRUSH * unit;
  context.lineCap = context.lineJoin = "round";
  for (const stroke of strokes) {
    context.beginPath();
    for (const point of stroke) {
      const { x, y } = place(point);
      context.lineTo(x * unit, y * unit);
    }
    // A single click is a dot.
    if (stroke.length === 1) {
      const { x, y } = place(stroke[0]);
      context.lineTo(x * unit + 0.01, y * unit);
    }
    context.stroke();
  }
}

// Brings the drawing to the middle, as large as the bitmap is.
function fit() {
  const points = strokes.flat();
  const xs = points.map((point) => point.x);
  const ys = points.map((point) => point.y);
  const left = Math.min(...xs), right = Math.max(...xs), top = Math.min(...ys), bottom = Math.max(...ys);
  const room = SIZE - 2 * (MARGIN + BRUSH);
  const zoom = room / Math.max(right - left, bottom - top, 1);
  return ({ x, y }) => ({
    x: (x - (left + right) / 2) * zoom + SIZE / 2,
    y: (y - (top + bottom) / 2) * zoom + SIZE / 2,
  });
}

function pixels() {
  const small = document.createElement("canvas");
  small.width = small.height = SIZE;
  const context = small.getContext("2d", { willReadFrequently: true });
  draw(context, 1, fit());
  const { data } = context.getImageData(0, 0, SIZE, SIZE);
  const image = new Array((SIZE / BLOCK) ** 2).fill(0);
  for (let y = 0; y < SIZE; ++y) {
    for (let x = 0; x < SIZE; ++x) {
      if (data[4 * (y * SIZE + x)] < 128) ++image[Math.floor(y / BLOCK) * (SIZE / BLOCK) + Math.floor(x / BLOCK)];
    }
  }
  return image;
}

function show(probabilities) {
  const best = probabilities.indexOf(Math.max(...probabilities));
  byId("digit").textContent = probabilities.length === 0 ? "" : String(best);
  for (let digit = 0; digit < DIGITS; ++digit) {
    const percent = 100 * (probabilities[digit] ?? 0);
    byId(`bar${digit}`).style.width = `${percent}%`;
    byId(`percent${digit}`).textContent = probabilities.length === 0 ? "" : `${percent.toFixed(1)} %`;
  }
}

async function ask() {
  const question = ++asked;
  const request = { inputs: [{ name: "image", datatype: "FP32", shape: [1, 64], data: pixels() }], outputs: [{ name: "probabilities" }] };
  const begin = performance.now();
  let message = "", latency = "", probabilities = [];
  try {
    const reply = await fetch(`${byId("server").value}/v2/models/digits/infer`, { method: "POST", body: JSON.stringify(request) });
    const answer = await reply.json();
    if (reply.ok) {
      probabilities = answer.outputs[0].data;
      latency = `answered in ${(performance.now() - begin).toFixed(1)} ms`;
    } else {
      message = answer.error;
    }
  } catch (error) {
    message = `${byId("server").value} cannot be asked (${error.message}). Does it run, and does its option ` +
      `cors_allowed_origins have ${location.origin}?`;
  }
  if (question !== asked) return;
  byId("message").textContent = message;
  byId("latency").textContent = latency;
  show(probabilities);
}

function clear() {
  strokes = [];
  ++asked;
  draw(canvas.getContext("2d"), scale, (point) => point);
  for (const id of ["message", "latency"]) byId(id).textContent = "";
  show([]);
}

canvas.addEventListener("pointerdown", (event) => {
  canvas.setPointerCapture(event.pointerId);
  drawing = true;
  strokes.push([toPoint(event)]);
  draw(canvas.getContext("2d"), scale, (point) => point);
});
canvas.addEventListener("pointermove", (event) => {
  if (!drawing) return;
  strokes.at(-1).push(toPoint(event));
  draw(canvas.getContext("2d"), scale, (point) => point);
});
for (const end of ["pointerup", "pointercancel"]) {
  canvas.addEventListener(end, () => {
    if (!drawing) return;
    drawing = false;
    ask();
  });
}
byId("clear").addEventListener("click", clear);

for (let digit = 0; digit < DIGITS; ++digit) {
  byId("bars").insertAdjacentHTML(
    "beforeend",
    `<span>${digit}</span><div class="bar"><div id="bar${digit}"></div></div><span id="percent${digit}"></span>`);
}
byId("server").value = new URLSearchParams(location.search).get("server") ?? "http://127.0.0.1:8000";
clear();
