// A request made from a model's metadata: sent from here, or copied for a shell or for Python.
import {post} from "./api.js";
import {element, name, readsOnly} from "./dom.js";

const first = (type) => (type === "BYTES" ? "text" : type === "BOOL" ? false : 0);

/** The values of an input before anybody has changed them: dimensions that are free are 1. */
function proposed({name: input, datatype, shape}) {
  const dims = shape.map((size) => (size < 0 ? 1 : size));
  const count = dims.reduce((product, size) => product * size, 1);
  return {name: input, datatype, shape: dims, data: Array(Math.min(count, 10000)).fill(first(datatype))};
}

/** In single quotes, in which a shell reads nothing but their end. */
const shellText = (text) => `'${text.replaceAll("'", "'\\''")}'`;

export function asCurl(url, body) {
  return `curl -sS ${shellText(url)} \\\n  -H 'content-type: application/json' \\\n  --data-binary ${shellText(JSON.stringify(body))}\n`;
}

/** In ASCII alone. */
const text = (value) => JSON.stringify(value).replace(/[\u007f-\uffff]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
/** A code of half a character is none in Python. */
const python = (value) => (/[\ud800-\udfff]/.test(value) ? `json.loads(${text(text(value))})` : text(value));

/** JSON's texts are Python's, too; values are read as JSON, as true and false are none of Python's. */
export function asPython(host, model, version, body) {
  const lines = ["import json", "", "import numpy as np", "import tritonclient.http as http", "from tritonclient.utils import triton_to_np_dtype", "",
    `client = http.InferenceServerClient(${text(host)})`, "inputs = []"];
  for (const input of body.inputs) {
    lines.push(`inputs.append(http.InferInput(${python(input.name)}, ${JSON.stringify(input.shape)}, ${text(input.datatype)}))`,
      `data = np.array(json.loads(${text(JSON.stringify(input.data))}), dtype=triton_to_np_dtype(${text(input.datatype)}))`,
      `inputs[-1].set_data_from_numpy(data.reshape(${JSON.stringify(input.shape)}))`);
  }
  lines.push(`answer = client.infer(${python(model)}, inputs, model_version=${text(version || "")})`,
    "for output in answer.get_response()[\"outputs\"]:", "    print(output[\"name\"], answer.as_numpy(output[\"name\"]))", "");
  return lines.join("\n");
}

/** Whether frontends/openai makes completions of it. */
const isText = (metadata) => [[metadata.inputs, "text_input"], [metadata.outputs, "text_output"]].every(([tensors, wanted]) =>
  tensors.some((tensor) => tensor.name === wanted && tensor.datatype === "BYTES"));

export function asOpenAi(origin, model, prompt) {
  return ["import json", "", "from openai import OpenAI", "", "# The server needs frontends/openai; the key is any text where it asks for none.",
    `client = OpenAI(base_url=${text(`${origin}/v1`)}, api_key="none")`,
    `answer = client.chat.completions.create(model=${python(model)}, messages=[{"role": "user", "content": ${python(prompt)}}])`,
    "print(answer.choices[0].message.content)", ""].join("\n");
}

/** \param acts  whether a request may be sent from here; if not, it may be copied */
export function requestForm(metadata, path, acts, signal) {
  const inputs = metadata.inputs.map((input) => ({input, given: proposed(input)}));
  const fields = inputs.map(({input, given}) => {
    const shape = element("input", {value: JSON.stringify(given.shape), spellcheck: false});
    const data = element("textarea", {rows: 2, value: JSON.stringify(given.data), spellcheck: false});
    return {given, shape, data, block: element("div", {className: "row"},
      element("label", {}, element("span", {}, "Shape of ", name(input.name)), shape),
      element("label", {}, element("span", {}, `Values (${input.datatype}) of `, name(input.name)), data))};
  });
  const shown = element("pre", {tabIndex: 0, hidden: true, role: "status"});
  const say = (text) => {
    shown.hidden = false;
    shown.textContent = text;
  };
  const body = () => ({inputs: fields.map(({given, shape, data}) =>
    ({...given, shape: JSON.parse(shape.value), data: JSON.parse(data.value)}))});
  const guarded = (act) => async () => {
    try {
      await act(body());
    } catch (error) {
      if (!signal.aborted) say(error.message);
    }
  };
  const copy = (make) => guarded(async (request) => {
    const text = make(request);
    say(text);
    await navigator.clipboard?.writeText(text).catch(() => {});
  });
  const version = path.includes("/versions/") ? path.slice(path.lastIndexOf("/") + 1) : "";
  const button = (id, text, act) => element("button", {type: "button", id, onclick: act}, text);
  return element("section", {}, element("h3", {}, "Request"), ...fields.map((field) => field.block),
    element("div", {className: "row"},
      ...(acts ? [button("send", "Send", guarded(async (request) => {
        say("…");
        say(JSON.stringify(await post(`${path}/infer`, request, signal), null, 2));
      }))] : []),
      button("curl", "Copy as curl", copy((request) => asCurl(`${location.origin}${path}/infer`, request))),
      button("python", "Copy as tritonclient", copy((request) => asPython(location.host, metadata.name, version, request))),
      ...(isText(metadata) ? [button("openai", "Copy as openai", copy((request) =>
        asOpenAi(location.origin, metadata.name, String(request.inputs.find((input) => input.name === "text_input").data.flat()[0]))))] : [])),
    ...(acts ? [] : [readsOnly()]), shown);
}
