#include "frontends/console/brought/brought_pages.h"

#include <algorithm>
#include <utility>

#include "atoll/lib/json_writer.h"

namespace atl::frontends::console {

std::optional<BroughtFile> find_brought(Registry& registry, std::string_view path) {
  const size_t slash = path.find('/');
  if (slash == std::string_view::npos || slash == 0) return std::nullopt;
  Result<Service<ConsolePage>> page = registry.find<ConsolePage>(std::string(path.substr(0, slash)));
  if (!page.ok()) return std::nullopt;
  const std::string_view name = path.substr(slash + 1);
  for (const ConsoleFile& file : page.value()->files()) {
    if (file.name == name && is_servable(name)) {
      PageFile found = page_file(file);
      return BroughtFile{std::move(page).value(), std::move(found)};
    }
  }
  return std::nullopt;
}

std::string pages_json(Registry& registry, const ProcessStart& start) {
  return object_json([&](CheckedWriter& json) {
    write_member(json, "run", start.run);
    write_array(json, "pages", registry.list(ConsolePage::kInterfaceId), [&](const ServiceInfo& info) {
      const Result<Service<ConsolePage>> page = registry.find<ConsolePage>(info.instance);
      if (!page.ok() || page.value()->files().empty()) return;  // it has just gone
      write_object(json, [&] {
        write_member(json, "instance", info.instance);
        write_member(json, "title", page.value()->title());
        write_member(json, "script", page.value()->files()[0].name);
      });
    });
  });
}

}  // namespace atl::frontends::console
