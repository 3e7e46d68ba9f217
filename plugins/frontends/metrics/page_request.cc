#include "frontends/metrics/page_request.h"

#include <algorithm>

#include "frontends/common/http/accept_item.h"
#include "frontends/common/http/header_name.h"
#include "frontends/metrics/protobuf_format.h"

namespace atl::frontends::metrics {

PageFormat accepted_format(std::string_view accept) noexcept {
  int protobuf = 0;
  int text = 0;
  http::AcceptItem item;
  while (http::next_accept_item(&accept, &item)) {
    if (is_named(item.name, "text/plain")) text = std::max(text, item.weight);
    if (is_named(item.name, "application/vnd.google.protobuf") &&
        item.parameter("proto") == "io.prometheus.client.MetricFamily" &&
        item.parameter("encoding") == "delimited") {
      protobuf = std::max(protobuf, item.weight);
    }
  }
  return protobuf > 0 && protobuf >= text ? PageFormat::kProtobuf : PageFormat::kText;
}

std::string_view content_type(PageFormat format) noexcept {
  return format == PageFormat::kProtobuf ? protobuf::kContentType : "text/plain; charset=utf-8";
}

std::optional<bool> find_page(std::string_view path) noexcept {
  if (path.ends_with('/')) path.remove_suffix(1);
  if (path == kPagePath) return false;
  if (path == kSummaryPath) return true;
  return std::nullopt;
}

}  // namespace atl::frontends::metrics
