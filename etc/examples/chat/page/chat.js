// A chat with a model of the server that this page comes from, by OpenAI's API. The messages stay in this page.

const find = (id) => document.getElementById(id);
const messages = [];
let request = null; // the answer that is being read

function show(role, text) {
  const box = document.createElement("div");
  box.className = `message ${role}`;
  box.textContent = text;
  find("messages").append(box);
  box.scrollIntoView({ block: "end" });
  return box;
}

/** What the server says of a call that it refused. */
async function refusal(response) {
  const text = await response.text();
  try {
    return JSON.parse(text).error.message;
  } catch {
    return `${response.status} ${response.statusText} ${text}`.trim();
  }
}

/** Adds text to a box at most once a frame: a fast model has many tokens in one, and each change lays the page out again. */
function writer(box) {
  let unseen = "";
  return (piece) => {
    if (!unseen) {
      requestAnimationFrame(() => {
        box.append(unseen);
        unseen = "";
        box.scrollIntoView({ block: "end" });
      });
    }
    unseen += piece;
  };
}

async function listModels() {
  const response = await fetch("/v1/models");
  if (!response.ok) throw new Error(await refusal(response));
  const { data } = await response.json();
  find("model").replaceChildren(...data.map((model) => new Option(model.id)));
  find("state").textContent = data.length ? "" : "The server has no language model.";
}

/** Yields the JSON of each event of an answer that is streamed. */
async function* events(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const line of lines) {
      // Lines that begin with ':' only keep the connection open.
      if (!line.startsWith("data: ")) continue;
      if (line === "data: [DONE]") return;
      yield JSON.parse(line.slice(6));
    }
  }
}

async function ask() {
  const begun = performance.now();
  let first = null;
  let usage = null;
  const box = show("assistant", "");
  const write = writer(box);
  const answer = { role: "assistant", content: "" };
  try {
    const response = await fetch("/v1/chat/completions", {
      method: "POST",
      headers: { "content-type": "application/json" },
      signal: request.signal,
      body: JSON.stringify({
        model: find("model").value,
        messages,
        temperature: Number(find("temperature").value),
        max_tokens: 1000, // a small model may find no end
        stream: true,
        stream_options: { include_usage: true },
      }),
    });
    if (!response.ok) throw new Error(await refusal(response));
    for await (const event of events(response)) {
      if (event.error) throw new Error(event.error.message);
      usage = event.usage ?? usage;
      const piece = event.choices[0]?.delta.content;
      if (!piece) continue;
      first ??= performance.now();
      answer.content += piece;
      write(piece);
    }
  } catch (error) {
    if (error.name !== "AbortError") {
      if (!answer.content) box.remove();
      show("error", error.message);
    }
  }
  if (answer.content) messages.push(answer);
  const seconds = (performance.now() - begun) / 1000;
  const words = [];
  if (first !== null) words.push(`first words after ${((first - begun) / 1000).toFixed(2)} s`);
  if (usage?.completion_tokens) words.push(`${usage.completion_tokens} tokens, ${(usage.completion_tokens / seconds).toFixed(1)} a second`);
  find("state").textContent = words.join("; ");
}

async function send() {
  const text = find("text").value.trim();
  if (!text || request) return;
  find("text").value = "";
  messages.push({ role: "user", content: text });
  show("user", text);
  request = new AbortController();
  find("send").hidden = true;
  find("stop").hidden = false;
  find("state").textContent = "...";
  await ask();
  request = null;
  find("send").hidden = false;
  find("stop").hidden = true;
  find("text").focus();
}

find("form").addEventListener("submit", (event) => {
  event.preventDefault();
  send();
});
find("text").addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  send();
});
find("stop").addEventListener("click", () => request?.abort());
find("clear").addEventListener("click", () => {
  request?.abort();
  messages.length = 0;
  find("messages").replaceChildren();
});

listModels().catch((error) => show("error", error.message));
