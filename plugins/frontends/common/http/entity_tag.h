/// Tags of what is served from memory, by which a browser learns that it has it already.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "atoll/core/text.h"
#include "atoll/frontend/http_routes.h"
#include "frontends/common/http/header_name.h"

// Its functions here, and not those of a library that a plugin might bring too.
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace atl::frontends {

/// The value of ETag, with its quotes. It only has to tell a content from what it was before.
inline std::string entity_tag_of(std::string_view content) {
  return cat('"', XXH3_64bits(content.data(), content.size()), '-', content.size(), '"');
}

/// Whether the client has this content already, by its header If-None-Match. [request, in HttpRoutes::handle()]
inline bool has_already(const HttpExchange& exchange, std::string_view entity_tag) {
  for (uint32_t i = 0; i < exchange.header_count(); ++i) {
    const HttpHeader header = exchange.header(i);
    if (is_named(header.name, "if-none-match"))
      return header.value == "*" || header.value.find(entity_tag) != std::string_view::npos;
  }
  return false;
}

}  // namespace atl::frontends
