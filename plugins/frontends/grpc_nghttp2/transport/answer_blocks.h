/// The lists of header fields that answers begin and end with, as HPACK writes them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "frontends/grpc_nghttp2/transport/frames/message_encoding.h"

namespace atl::frontends::grpc_nghttp2 {

/// A code of gRPC as it is written; that of UNKNOWN if it is none.
std::string_view code_text(int code) noexcept;

/// One connection's. The fields that come again go to the client's table once, and are named by their places from
/// then on. Nothing else of the connection may ever go there, or the places would be others. Not thread safe.
class AnswerBlocks {
 public:
  /// Of one block.
  static constexpr size_t kMostBytes = 160;

  /// The client has been told another size of its table, in bytes: what was there may be there no more.
  void on_table_size(uint32_t bytes) noexcept;
  /// What comes before the messages. \param to  has room for a block \returns the bytes written
  size_t write_head(MessageEncoding encoding, uint8_t* to) noexcept;
  /// What comes after them, if the answer has no text and no trailers of its own.
  size_t write_end(int code, uint8_t* to) noexcept;

 private:
  enum Known : size_t { kContentType, kAcceptEncoding, kStatusOk, kKnownCount };

  uint8_t* write_known(Known field, uint8_t* to) noexcept;

  std::array<uint8_t, kKnownCount> places_{};  ///< in the order of arrival, from 1 on; 0: not in the table
  uint8_t count_ = 0;                          ///< in the table
  bool has_table_ = true;                      ///< all fit into it
};

}  // namespace atl::frontends::grpc_nghttp2
