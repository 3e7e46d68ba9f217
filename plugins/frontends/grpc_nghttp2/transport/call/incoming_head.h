/// What the headers of a call say: its method, its metadata, and whether it can be run at all.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "frontends/grpc_nghttp2/transport/call.h"
#include "frontends/grpc_nghttp2/transport/call/call_headers.h"
#include "frontends/grpc_nghttp2/transport/session/session_context.h"

namespace atl::frontends::grpc_nghttp2 {

/// Reads one header after the other, or takes those of a call before. Of one thread; used again after clear().
class IncomingHead {
 public:
  /// A list of headers that is so many times longer than allowed ends the connection.
  static constexpr uint64_t kMuchTooLong = 4;

  /// \returns false: the list is so much too long that the connection is to end
  bool add(SessionContext& context, std::string_view name, std::string_view value) noexcept;
  /// The same for a header that is not used.
  bool count(const SessionContext& context, std::string_view name, std::string_view value) noexcept;
  /// All headers at once: those of a call before.
  void repeat(SessionContext& context, const CallHeaders& headers, std::string_view path);

  /// The call is not to be run, which its client is told. The first reason counts.
  void refuse(int code, std::string text) noexcept {
    if (code_ != 0) return;
    code_ = code;
    text_ = std::move(text);
  }
  /// All headers are there. \returns whether they are no good: code() and text() say why
  bool is_refused() noexcept;
  /// Whether they are those of a call that may be run, so far.
  bool is_good() const noexcept {
    return code_ == 0 && headers_.is_post && headers_.has_te && method_ != nullptr;
  }
  int code() const noexcept { return code_; }
  const std::string& text() const noexcept { return text_; }

  const CallHeaders& headers() const noexcept { return headers_; }
  /// Null: there is none of that name.
  Method* method() const noexcept { return method_; }
  /// Whether the client sends several messages; false, too, if there is no method.
  bool reads_several() const noexcept { return method_ != nullptr && method_->reads_several; }
  /// Frees what the client may leave open for as long as it likes.
  void drop_metadata() noexcept { headers_.metadata.clear(); }
  void clear() noexcept {
    headers_.clear();
    method_ = nullptr;
    code_ = 0;
    text_.clear();
  }

 private:
  void read_pseudo_header(MethodFinder& methods, std::string_view name, std::string_view value) noexcept;
  /// \returns false: it is none that the transport knows
  bool read_grpc_header(std::string_view name, std::string_view value) noexcept;
  void add_metadata(std::string_view name, std::string_view value);

  CallHeaders headers_;
  Method* method_ = nullptr;
  int code_ = 0;  ///< of the refusal; 0: none
  std::string text_;
};

}  // namespace atl::frontends::grpc_nghttp2
