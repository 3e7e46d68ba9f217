/// From bytes to a request's head and the body of a chunked one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "frontends/common/call/body_buffer.h"
#include "frontends/common/http/request_head.h"

namespace atl::frontends::http {

inline constexpr uint32_t kMaxChunks = 65536;           ///< not counting the empty last one
inline constexpr size_t kMaxChunkHeadBytes = 8 * 1024;  ///< size, extensions; of the last one, trailers too

/// Boost.Beast's parser, with everything ambiguous refused: lengths given twice or in two ways, codings other
/// than `chunked`, single-valued headers that come twice. One request at a time; not thread safe.
class RequestParser {
 public:
  RequestParser();
  ~RequestParser();

  /// \param block  a complete head, which HeadScanner has accepted; `head` then points into it
  /// False: refused, refusal() says why.
  bool parse_head(std::string_view block, RequestHead& head);

  enum class Step { kNeedMore, kComplete, kRefused };
  /// Goes on with the body of a chunked request. \param bytes  not yet consumed ones; those that are not
  /// consumed come again, with more behind them
  /// \param body  gets the data; null: it is counted and dropped
  /// \param limit  most bytes of data
  Step parse_chunks(std::string_view bytes, BodyBuffer* body, uint64_t limit, size_t* consumed);

  const RequestRefusal& refusal() const noexcept;

 private:
  class Beast;
  std::unique_ptr<Beast> beast_;
};

}  // namespace atl::frontends::http
