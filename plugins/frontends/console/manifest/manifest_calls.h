/// The calls that show options, compare manifests with what runs, and have the file applied.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "atoll/core/gate.h"
#include "atoll/core/host.h"
#include "atoll/core/kernel_control.h"
#include "atoll/frontend/http_routes.h"
#include "frontends/console/process_facts.h"

namespace atl::frontends::console {

// Whoever calls has been let in, and may see and do this for the whole server. [any]

void answer_options(Host& host, HttpExchange& exchange, const ProcessStart& start);
/// Answers later, on the control thread. \param text  of a manifest; without one it is the file
void compare_manifest(Host& host, HttpExchange& exchange, Pass pass, std::optional<std::string> text,
                      const ProcessStart& start);
/// \param since  the number of the last entry of the timeline
void apply_manifest(Host& host, HttpExchange& exchange, uint64_t since, const ProcessStart& start);

}  // namespace atl::frontends::console
