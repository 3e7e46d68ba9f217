/// What a request says before its body.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/frontend/http_routes.h"
#include "frontends/common/access/caller_identity.h"

namespace atl::frontends::http {

/// One field of a request's head; the name is as the client spelled it.
using HeaderField = HttpHeader;

/// Views into the connection's read buffer.
struct RequestHead {
  std::string_view method;  ///< "POST"
  std::string_view target;  ///< as sent
  std::string_view path;    ///< the target without its query
  int version = 11;         ///< 10 or 11
  bool keep_alive = false;
  bool chunked = false;
  bool expects_continue = false;
  bool has_json_length = false;
  uint64_t content_length = 0;
  std::string_view json_length;  ///< value of Inference-Header-Content-Length
  /// Content type of an answer with binary tensors up to the bytes of its JSON; empty: a header has them.
  std::string_view binary_type;
  std::string_view content_encoding;
  std::string_view accept_encoding;
  std::string_view traceparent;
  std::string_view tracestate;
  std::string_view
      load_format;  ///< in which the client wants the server's load with the answer; empty: it does not
  std::string_view caller;          ///< who sent it, as access control found; empty: not known
  CallerIdentityPtr identity;       ///< what that one may do; null: there are no identities
  std::vector<HeaderField> fields;  ///< all of them, in order

  /// Ready for the next request; keeps memory.
  void reset() noexcept {
    std::vector<HeaderField> kept = std::move(fields);
    kept.clear();
    *this = RequestHead();
    fields = std::move(kept);
  }
};

/// Why bytes are not taken as a request. The connection is closed after it has been answered so.
struct RequestRefusal {
  int http_status = 0;  ///< 0: none; 413 becomes what the option payload_too_large_status says
  std::string text;
};

}  // namespace atl::frontends::http
