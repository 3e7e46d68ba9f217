// Which page is shown: the part of the address behind '#'.
import {get} from "./api.js";
import {element, name} from "./dom.js";
import {show as showEnsemble} from "./ensemble.js";
import {show as showEnsembles} from "./ensembles.js";
import {caller, logout, showLogin} from "./login.js";
import {show as showLines} from "./lines.js";
import {show as showManifest} from "./manifest.js";
import {show as showMemory} from "./memory.js";
import {show as showModel} from "./model.js";
import {show as showModels} from "./models.js";
import {show as showOptions} from "./options.js";
import {show as showOverview} from "./overview.js";
import {show as showPlugins} from "./plugins.js";
import {show as showSequences} from "./sequences.js";
import {showLog, showTrace} from "./settings.js";
import {show as showTenants} from "./tenants.js";
import {show as showTimeline} from "./timeline.js";
import {show as showTraces} from "./traces.js";
import {show as showWaiting} from "./waiting.js";

const view = document.getElementById("view");
const state = document.getElementById("state");
const who = document.getElementById("who");
const brought = document.getElementById("brought");
let page = new AbortController();

/** Under the head: whether the page is live. */
function status(error) {
  if (error !== null && error.status === 401) {
    page.abort();
    page = new AbortController();
    state.textContent = "not logged in";
    who.replaceChildren();
    return showLogin(view, page.signal, route);
  }
  state.textContent = error === null ? `live, ${new Date().toLocaleTimeString("en-GB")}` : `not live: ${error.message}`;
  state.className = error === null ? "" : "error";
}

/** An address that nobody can read stays as it is. */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Links to the pages that plugins bring; whoever is not logged in yet sees none. */
async function showLinks(signal) {
  try {
    const {pages} = await get("/v2/console/pages", signal);
    if (signal.aborted) return;
    const shown = [...brought.children].map((link) => link.hash).join(" ");
    const links = pages.map((one) => element("a", {href: `#/page/${one.instance}`}, name(one.title)));
    if (links.map((link) => link.hash).join(" ") !== shown) brought.replaceChildren(...links);
    markLink();
  } catch {
    // The page itself says what is wrong.
  }
}

/** A page that a plugin brings. */
async function showBrought(signal, instance) {
  try {
    const {pages} = await get("/v2/console/pages", signal);
    const found = pages.find((one) => one.instance === instance);
    if (found === undefined) {
      view.append(element("p", {}, "No plugin brings this page. It goes when its instance is taken out of the manifest."));
      return status(null);
    }
    const {show} = await import(`./pages/${found.instance}/${found.script}`);
    if (!signal.aborted) show(view, signal, status);
  } catch (error) {
    if (!signal.aborted) status(error);
  }
}

function markLink() {
  const [path] = (location.hash.slice(1) || "/overview").split("?");
  const [, kind] = path.split("/");
  for (const link of document.querySelectorAll("nav a")) {
    if (link.hash === `#/${kind}` || link.hash === `#${path}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

async function leave() {
  page.abort();
  try {
    await logout();
  } finally {
    route();
  }
}

function route() {
  if (location.hash === "#view") return view.focus();
  page.abort();
  page = new AbortController();
  view.replaceChildren();
  state.textContent = "";
  who.replaceChildren(...(caller() === "" ? [] : [name(caller()), " ", element("button", {type: "button", id: "logout", onclick: leave}, "Log out")]));
  const [path, query = ""] = (location.hash.slice(1) || "/overview").split("?");
  const [, kind, ...rest] = path.split("/");
  markLink();
  showLinks(page.signal);
  if (kind === "overview") showOverview(view, page.signal, status);
  else if (kind === "models") showModels(view, page.signal, status, new URLSearchParams(query));
  else if (kind === "model") showModel(view, page.signal, status, decoded(rest[0] || ""), decoded(rest[1] || ""));
  else if (kind === "ensembles") showEnsembles(view, page.signal, status);
  else if (kind === "ensemble") showEnsemble(view, page.signal, status, decoded(rest[0] || ""), decoded(rest[1] || ""));
  else if (kind === "plugins") showPlugins(view, page.signal, status);
  else if (kind === "options") showOptions(view, page.signal, status, decoded(rest[0] || ""));
  else if (kind === "manifest") showManifest(view, page.signal, status);
  else if (kind === "timeline") showTimeline(view, page.signal, status);
  else if (kind === "traces") showTraces(view, page.signal, status, decoded(rest[0] || ""));
  else if (kind === "waiting") showWaiting(view, page.signal, status);
  else if (kind === "memory") showMemory(view, page.signal, status);
  else if (kind === "sequences") showSequences(view, page.signal, status);
  else if (kind === "tenants") showTenants(view, page.signal, status);
  else if (kind === "page") showBrought(page.signal, decoded(rest[0] || ""));
  else if (kind === "lines") showLines(view, page.signal, status);
  else if (kind === "trace") showTrace(view, page.signal, status);
  else if (kind === "log") showLog(view, page.signal, status);
  else view.append(element("p", {}, "There is no such page."));
}

addEventListener("hashchange", route);
route();
