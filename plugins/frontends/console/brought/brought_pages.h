/// Pages that other plugins bring (atoll.console_page/1).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "atoll/core/registry.h"
#include "atoll/frontend/console_page.h"
#include "frontends/console/page_files.h"
#include "frontends/console/process_facts.h"

namespace atl::frontends::console {

/// A file of such a page, which lives as long as its provider is held.
struct BroughtFile {
  Service<ConsolePage> page;
  PageFile file;
};
/// \param path  "INSTANCE/FILE" \returns none: there is no such instance, or it has no such file. [any]
std::optional<BroughtFile> find_brought(Registry& registry, std::string_view path);

/// GET /v2/console/pages. [any]
std::string pages_json(Registry& registry, const ProcessStart& start);

}  // namespace atl::frontends::console
