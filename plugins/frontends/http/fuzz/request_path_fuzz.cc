// Any bytes as what a connection brings: requests are read, in pieces, and their paths routed. The first byte
// seeds the sizes of the pieces.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "atoll/testing/random.h"
#include "frontends/common/http/compression.h"
#include "frontends/common/http/request_reader.h"
#include "frontends/http/route_table.h"
#include "fuzz_target.h"

namespace {

using atl::frontends::http::RequestReader;
using atl::frontends::http::Route;

constexpr uint64_t kMostBodyBytes = 1 << 16;

/// What was accepted keeps its promises.
void check_head(const atl::frontends::http::RequestHead& head) {
  if (head.method.empty() || head.target.empty()) std::abort();
  if (head.content_length > kMostBodyBytes || (head.chunked && head.content_length != 0)) std::abort();
  Route route;
  if (atl::frontends::http::find_route(head.path, &route)) {
    for (std::string_view name : {route.model, route.version, route.repository, route.region}) {
      if (name.find('/') != std::string_view::npos) std::abort();
    }
    std::vector<char> names;
    if (!atl::frontends::http::has_unsafe_percent_code(head.path) &&
        atl::frontends::http::decode_names(&route, &names)) {
      for (std::string_view name : {route.model, route.version, route.repository, route.region}) {
        if (name.find('/') != std::string_view::npos || name.find('\0') != std::string_view::npos)
          std::abort();
      }
    }
  }
  (void)atl::frontends::http::accepted_encoding(head.accept_encoding);
}

void check_body(RequestReader& reader) {
  if (reader.body().size() > kMostBodyBytes) std::abort();
  unsigned sum = 0;
  for (size_t i = 0; i < reader.body().size() + atl::frontends::BodyBuffer::kPadding; ++i) {
    sum += reader.body().data()[i];
  }
  atl::frontends::BodyBuffer plain;
  const bool unpacked = atl::frontends::http::decompress(reader.body().bytes(), kMostBodyBytes, &plain).ok();
  if (unpacked && plain.size() > kMostBodyBytes) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  atl::test::Random random(data[0]);
  RequestReader reader(kMostBodyBytes);
  const bool keep = data[0] % 4 != 0;
  bool in_body = false;
  for (size_t at = 1;;) {
    const RequestReader::Step step = in_body ? reader.read_body(keep) : reader.read_head();
    if (step == RequestReader::Step::kRefused) {
      if (reader.refusal().http_status < 400 || reader.refusal().text.empty()) std::abort();
      return 0;
    }
    if (step == RequestReader::Step::kComplete) {
      if (!in_body) check_head(reader.head());
      if (in_body) {
        if (keep) check_body(reader);
        reader.next();
      }
      in_body = !in_body;
      continue;
    }
    if (at == size) return 0;
    const std::span<char> space = reader.space();
    if (space.empty()) std::abort();
    const size_t count = std::min({1 + static_cast<size_t>(random.below(300)), space.size(), size - at});
    std::memcpy(space.data(), data + at, count);
    reader.received(count);
    at += count;
  }
}
