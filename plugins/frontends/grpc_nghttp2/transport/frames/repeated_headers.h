/// Lists of headers that a client sends again and again.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "frontends/grpc_nghttp2/transport/call/call_headers.h"
#include "frontends/grpc_nghttp2/transport/frames/frame_head.h"

namespace atl::frontends::grpc_nghttp2 {

/// One connection's. The headers of a client's calls are the same bytes as a rule: places in its table, and texts
/// that do not go there. Such a list says the same as before as long as the table is what it was, so it is read
/// once; nghttp2, which has the streams, is then given as few fields in its place as it takes for a request. Not
/// thread safe.
class RepeatedHeaders {
 public:
  /// Longer lists are not remembered.
  static constexpr size_t kMostBytes = 1024;

  RepeatedHeaders() noexcept = default;
  RepeatedHeaders(const RepeatedHeaders&) = delete;
  RepeatedHeaders& operator=(const RepeatedHeaders&) = delete;

  enum class Seen : uint8_t {
    kOther,     ///< may say anything, and may have changed the table
    kStable,    ///< says the same whenever it comes, but is not the one that is known
    kRepeated,  ///< the one that is known
  };
  /// Every frame with fields is to be shown, in the order they come, before nghttp2 is given anything of it.
  /// \param frame  with its head; where one has not come whole, forget() is due
  Seen look(std::span<const uint8_t> frame);
  /// Nothing is known any more: the table may be another one.
  void forget() noexcept { is_known_ = false; }

  // --- a list that is kStable, as nghttp2 tells it ---
  void on_field(std::string_view name, std::string_view value);
  /// All were told. \param headers  what they say
  void keep(const CallHeaders& headers);

  // --- the one that is known ---
  const CallHeaders& headers() const noexcept { return headers_; }
  const std::string& path() const noexcept { return path_; }
  /// What nghttp2 is given: a head, POST, http, "/", the authority and perhaps the length of what follows.
  static constexpr size_t kMostNeededBytes = 100;
  using ShortFrame = std::array<uint8_t, kFrameHeadBytes + 3 + kMostNeededBytes>;
  /// In the place of such a frame. \returns how much of it
  std::span<const uint8_t> shorten(std::span<const uint8_t> frame, ShortFrame* to) const noexcept;

 private:
  bool is_known(std::span<const uint8_t> block) const noexcept {
    return is_known_ && block.size() == block_.size() &&
           std::memcmp(block.data(), block_.data(), block.size()) == 0;
  }

  bool is_known_ = false;
  std::vector<uint8_t> block_;
  std::span<const uint8_t> untold_;  ///< of the block
  std::vector<uint8_t> needed_;      ///< fields that nghttp2 is given, as they are in the block
  CallHeaders headers_;
  std::string path_;
};

}  // namespace atl::frontends::grpc_nghttp2
