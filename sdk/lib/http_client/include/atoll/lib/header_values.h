/// Header fields of a request that a plugin's route has.
#pragma once

#include <strings.h>

#include <string_view>
#include <vector>

#include "atoll/frontend/http_routes.h"

namespace atl {

/// The values of the fields of that name, in their order; borrowed from the exchange. Names count without regard to case.
/// [request, in HttpRoutes::handle()]
inline std::vector<std::string_view> header_values(const HttpExchange& exchange, std::string_view name) {
  std::vector<std::string_view> values;
  for (uint32_t i = 0; i < exchange.header_count(); ++i) {
    const HttpHeader header = exchange.header(i);
    if (header.name.size() == name.size() && ::strncasecmp(header.name.data(), name.data(), name.size()) == 0)
      values.push_back(header.value);
  }
  return values;
}

}  // namespace atl
