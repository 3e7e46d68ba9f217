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

/// Whoever calls has been let in, and may see and do this for the whole server. [any]
class ManifestCalls {
 public:
  /// \param host  outlives this object
  explicit ManifestCalls(Host& host) : host_(host) {}

  void answer_options(HttpExchange& exchange, const ProcessStart& start) const;
  /// Answers later, on the control thread. \param text  of a manifest; without one it is the file
  void compare(HttpExchange& exchange, Pass pass, std::optional<std::string> text,
               const ProcessStart& start) const;
  /// \param since  the number of the last entry of the timeline
  void apply(HttpExchange& exchange, uint64_t since, const ProcessStart& start) const;

 private:
  Host& host_;
};

}  // namespace atl::frontends::console
