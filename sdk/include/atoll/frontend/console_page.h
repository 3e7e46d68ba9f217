/// A page that a plugin brings to the console (frontends/console). Service "atoll.console_page/1"; there may be any number, which
/// come and go with their plugins. The console has a link to each, and shows it at /console/#/page/INSTANCE.
///
/// A page is a module of JavaScript, the first of files(), which exports show():
///
///     import {get, poll} from "../../api.js";
///     import {element, table} from "../../dom.js";
///
///     export function show(view, signal, status) {
///       const list = element("div", {});
///       view.append(element("h2", {}, "Hello"), list);
///       poll(async () => list.replaceChildren(element("p", {}, (await get("/v2/hello", signal)).text)), 5000, signal, status);
///     }
///
/// `view` is the empty element that it fills, `signal` an AbortSignal that ends its life, `status` a function that is told of each
/// outcome: null, or the error. What the modules of the console offer a page (api.js, dom.js, acts.js) is said in
/// docs/console.md.
///
/// What it shows and does are calls of the server that anybody may make, such as those of the plugin's own atoll.http_routes/1.
/// It runs with the rights of whoever looks at it, under the console's Content-Security-Policy: no code in
/// HTML, nothing from another origin. Texts from outside go into text nodes and nowhere else, as element() does it.
#pragma once

#include <span>
#include <string_view>

namespace atl {

/// A file that is part of a plugin.
struct ConsoleFile {
  /// [a-z0-9_.-]+, and ends with ".js" or ".css": "pools.js".
  std::string_view name;
  std::string_view content;
  /// The same, compressed by gzip; empty: it is sent as it is.
  std::string_view gzip;
};

/// Service "atoll.console_page/1". What its functions return is constant, and lives as long as the service is held. [any]
class ConsolePage {
 public:
  static constexpr std::string_view kInterfaceId = "atoll.console_page/1";

  /// On the link: "Pools".
  virtual std::string_view title() const noexcept = 0;
  /// At least one, each with another name. They are served below /console/pages/INSTANCE/ to everybody who may have the
  /// console's own files, so there is no secret in them.
  virtual std::span<const ConsoleFile> files() const noexcept = 0;

 protected:
  ~ConsolePage() = default;
};

}  // namespace atl
