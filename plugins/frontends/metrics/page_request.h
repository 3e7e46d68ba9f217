/// Which page a collector asks for.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "frontends/metrics/page.h"

namespace atl::frontends::metrics {

inline constexpr std::string_view kPagePath = "/metrics";
inline constexpr std::string_view kSummaryPath = "/metrics/summary";

struct PageRequest {
  PageFormat format = PageFormat::kText;
  bool is_summary =
      false;  ///< a few sums of the whole server, of which the cost does not depend on its models
};

/// Gives the page as of now.
using MakePage = std::function<std::string(const PageRequest&)>;

/// What a collector wants: protobuf, if its Accept lists that with at least the weight of text. \param accept  the header's
/// value; of several headers the values with ',' between them
PageFormat accepted_format(std::string_view accept) noexcept;
std::string_view content_type(PageFormat format) noexcept;
/// Whether the path is one of the summary; nothing: it is of no page.
std::optional<bool> find_page(std::string_view path) noexcept;

}  // namespace atl::frontends::metrics
