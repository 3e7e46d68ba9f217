/// An answer of another server on its way to the client: its head as that server wrote it, its body without the chunks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace atl::frontends::http {

struct RemoteReplyHead {
  int http_status = 0;
  std::string reason;
  std::string headers;                     ///< complete lines, of those that are passed on
  std::optional<uint64_t> content_length;  ///< nothing: the body's end is told otherwise
};

/// Whose answer it is.
class RemoteReplyUser {
 public:
  /// All of the head is there.
  virtual void on_reply_head(const RemoteReplyHead& head) noexcept = 0;
  /// The next bytes of the body. \returns false: no more of it is wanted
  virtual bool on_reply_body(std::string_view bytes) noexcept = 0;

 protected:
  ~RemoteReplyUser() = default;
};

/// One answer at a time; not thread safe.
class RemoteReplyParser {
 public:
  enum class Step { kNeedMore, kComplete, kRefused };

  explicit RemoteReplyParser(RemoteReplyUser& user);
  ~RemoteReplyParser();

  /// \param bytes  not yet consumed ones; those that are not consumed come again, with more behind them
  Step parse(std::string_view bytes, size_t* consumed);
  /// The connection has ended. \returns whether that is the answer's end
  bool end();
  /// Whether the connection can be used again after the answer.
  bool keeps_alive() const;
  bool has_begun() const;

 private:
  class Beast;
  RemoteReplyUser& user_;
  std::unique_ptr<Beast> beast_;
  uint32_t interim_ = 0;  ///< answers that came before the answer
};

}  // namespace atl::frontends::http
