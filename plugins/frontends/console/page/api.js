// Calls of the server, and asking again and again. Nothing here but calls that docs/console.md names.

/**
 * Pages of other sites cannot send these: their browser asks the server first, which allows nothing. The second one tells this page
 * from others that are open, for as long as it is.
 */
const OWN = {"x-atoll-console": "1", "x-atoll-viewer": [...crypto.getRandomValues(new Uint8Array(12))].map((byte) => byte.toString(16).padStart(2, "0")).join("")};

async function call(path, options) {
  const reply = await fetch(path, {cache: "no-store", credentials: "same-origin", ...options, headers: {...OWN, ...options.headers}});
  const text = await reply.text();
  let body;
  try {
    body = JSON.parse(text || "{}");
  } catch {
    body = {error: text.slice(0, 500)};
  }
  if (!reply.ok) throw Object.assign(new Error(`${reply.status}: ${body.error || reply.statusText}`), {status: reply.status});
  return body;
}

export const get = (path, signal) => call(path, {signal});

export const post = (path, body, signal) =>
  call(path, {method: "POST", body: JSON.stringify(body), headers: {"content-type": "application/json"}, signal});

/** A body that is no JSON. */
export const postText = (path, body, signal) => call(path, {method: "POST", body, headers: {"content-type": "application/toml"}, signal});

export const remove = (path, signal) => call(path, {method: "DELETE", signal});

/** Whether the server knows who calls. Where it does not, nothing is shown that changes or uses anything. */
export async function mayAct(signal) {
  try {
    return (await get("/v2/console/caller", signal)).may_act;
  } catch (error) {
    if (signal.aborted || error.status === 401) throw error;
    return false;
  }
}

/** "load" or "unload": the repository call, as anybody else would make it. */
export const control = (act, name, signal) => post(`/v2/repository/models/${encodeURIComponent(name)}/${act}`, {}, signal);

/** "/v2/models/NAME/versions/VERSION" */
export const modelPath = (name, version) =>
  `/v2/models/${encodeURIComponent(name)}` + (version ? `/versions/${encodeURIComponent(version)}` : "");

/** Calls `ask` at once and each `ms` until the signal, and not while the page is hidden; `show` gets true or a failure. */
export function poll(ask, ms, signal, show) {
  let timer = 0;
  let running = false;
  const next = async () => {
    clearTimeout(timer);
    if (signal.aborted || document.hidden || running) return;
    running = true;
    try {
      await ask();
      if (!signal.aborted) show(null);
    } catch (error) {
      if (!signal.aborted) show(error);
    }
    running = false;
    if (!signal.aborted) timer = setTimeout(next, ms);
  };
  document.addEventListener("visibilitychange", next, {signal});
  signal.addEventListener("abort", () => clearTimeout(timer));
  next();
  return next;
}
