/// Redis' protocol, RESP2, by hiredis: what is sent, and what a server may send back to that.
#pragma once

#include <hiredis/read.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

#include "atoll/core/status.h"

namespace atl::caches {

/// A command as it is sent.
class RedisCommand {
 public:
  /// \param words  any bytes. Throws std::bad_alloc.
  RedisCommand(std::initializer_list<std::string_view> words);

  std::string_view bytes() const noexcept { return {bytes_.get(), size_}; }

 private:
  struct Free {
    void operator()(char* bytes) const noexcept { std::free(bytes); }
  };
  std::unique_ptr<char, Free> bytes_;
  size_t size_ = 0;
};

struct RedisReply {
  enum class Kind : uint32_t { kNil, kText, kStatus, kError, kInteger };
  Kind kind = Kind::kNil;
  std::string text;  ///< but for kNil and kInteger
};

/// Replies out of what came from a socket. It takes those that the commands here may have: an array, or a reply of
/// more bytes than was agreed, is a fault of the server's, and nothing is kept for it.
class ReplyReader {
 public:
  /// \param reply_bytes_max  of one reply, with its frame
  explicit ReplyReader(uint64_t reply_bytes_max);
  ReplyReader(const ReplyReader&) = delete;
  ReplyReader& operator=(const ReplyReader&) = delete;

  /// \param bytes  the next ones \param each  called with a RedisReply& for each reply they complete; what it leaves is
  /// overwritten
  /// Errors: INVALID_ARGUMENT what is wrong; the reader is of no use any more.
  template <class Each>
  Status feed(std::string_view bytes, Each&& each) {
    ATOLL_RETURN_IF_ERROR(add(bytes));
    while (true) {
      Result<bool> complete = next();
      if (!complete.ok()) return std::move(complete).status();
      if (!complete.value()) return {};
      each(reply_);
    }
  }

 private:
  struct Free {
    void operator()(redisReader* reader) const noexcept { redisReaderFree(reader); }
  };
  Status add(std::string_view bytes);
  Result<bool> next();

  const uint64_t reply_bytes_max_;
  RedisReply reply_;
  std::unique_ptr<redisReader, Free> reader_;
};

}  // namespace atl::caches
