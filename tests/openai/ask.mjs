// Asks the server at BASE_URL in all the ways of OpenAI's client that the test compares, and prints what came as JSON.
import {createRequire} from "node:module";

const [clientFolder, baseURL] = process.argv.slice(2);
const OpenAI = createRequire(clientFolder + "/")("openai").default;
const client = new OpenAI({baseURL, apiKey: "none", maxRetries: 0, timeout: 60_000});
const script = (object) => [{role: "user", content: JSON.stringify(object)}];

async function collected(stream) {
  const texts = [], reasons = [];
  let usage = null;
  for await (const chunk of stream) {
    if (chunk.choices[0]?.delta?.content) texts.push(chunk.choices[0].delta.content);
    if (chunk.choices[0]?.finish_reason) reasons.push(chunk.choices[0].finish_reason);
    usage = chunk.usage ?? usage;
  }
  return {texts, reasons, usage};
}

async function failure(asks) {
  try {
    await asks();
  } catch (error) {
    return {kind: error.constructor.name, status: error.status, code: error.code, param: error.param, type: error.type};
  }
  return null;
}

const call = '<tool_call>{"name": "weather", "arguments": {"city": "Paris"}}</tool_call>';
const tools = [{type: "function", function: {name: "weather", parameters: {type: "object", properties: {city: {type: "string"}}}}}];
const found = {};
found.models = (await client.models.list()).data.map((model) => model.id);
found.chat = await client.chat.completions.create({model: "scripted", messages: script({pieces: ["Hello", " World"], reason: "stop"})});
found.stream = await collected(await client.chat.completions.create({
  model: "scripted", messages: script({pieces: ["Zw", "ölf", " 🙂"]}), stream: true, stream_options: {include_usage: true}}));
found.cut = await client.chat.completions.create({model: "scripted", messages: script({pieces: ["a", "b", "c"]}), max_completion_tokens: 2});
found.tool = (await client.chat.completions.create({model: "scripted", messages: script({pieces: [call]}), tools})).choices[0];
const run = client.chat.completions.stream({model: "scripted", messages: script({pieces: [call.slice(0, 40), call.slice(40)]}), tools});
found.streamedTool = (await run.finalChatCompletion()).choices[0].message.tool_calls[0].function;
found.completion = await client.completions.create({model: "scripted", prompt: JSON.stringify({pieces: ["x", "y"]}), max_tokens: 9, n: 2});
found.response = (await client.responses.create({model: "scripted", input: JSON.stringify({pieces: ["one", " two"]})})).output_text;
const events = [];
for await (const event of await client.responses.create({model: "scripted", input: JSON.stringify({pieces: ["one", " two"]}), stream: true}))
  events.push(event.type);
found.events = events;
// The client asks for base64 by itself, and decodes it.
found.embeddings = (await client.embeddings.create({model: "embeds", input: ["banana", ""]})).data.map((one) => one.embedding);
found.floats = (await client.embeddings.create({model: "embeds", input: "banana", encoding_format: "float"})).data[0].embedding;
found.unknown = await failure(() => client.chat.completions.create({model: "nothing", messages: script({pieces: []})}));
found.wrong = await failure(() => client.chat.completions.create({model: "scripted", messages: script({pieces: ["a"]}), temperature: 3}));
const left = await client.chat.completions.create({model: "scripted", messages: script({pieces: ["a"], waits: true}), stream: true});
for await (const chunk of left) if (chunk.choices[0]?.delta?.content) break;  // ends the request
found.left = left.controller.signal.aborted;
console.log(JSON.stringify(found));
