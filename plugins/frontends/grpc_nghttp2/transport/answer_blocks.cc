#include "frontends/grpc_nghttp2/transport/answer_blocks.h"

#include <algorithm>

namespace atl::frontends::grpc_nghttp2 {
namespace {

// Representations of HPACK (RFC 7541, 6): what follows is the place, or the name and the value.
constexpr uint8_t kIndexed = 0x80;
constexpr uint8_t kAddedWithNewName = 0x40;
constexpr uint8_t kLiteralWithNewName = 0x00;
constexpr uint8_t kStatus200 = kIndexed | 8;  ///< of the table that everybody has
constexpr uint8_t kFirstPlace = 62;           ///< of the newest field in the client's table
/// That a field takes in the table beside its name and value.
constexpr size_t kTableFieldBytes = 32;

struct AnswerField {
  std::string_view name;
  std::string_view value;
};
constexpr AnswerField kFields[] = {{"content-type", "application/grpc"},
                                   {"grpc-accept-encoding", "identity, deflate, gzip"},
                                   {"grpc-status", "0"}};

constexpr size_t table_bytes() noexcept {
  size_t sum = 0;
  for (const AnswerField& field : kFields) sum += field.name.size() + field.value.size() + kTableFieldBytes;
  return sum;
}

/// Of at most 126 bytes.
uint8_t* write_text(std::string_view text, uint8_t* to) noexcept {
  *to++ = static_cast<uint8_t>(text.size());
  return std::copy(text.begin(), text.end(), to);
}
uint8_t* write_literal(uint8_t form, const AnswerField& field, uint8_t* to) noexcept {
  *to++ = form;
  return write_text(field.value, write_text(field.name, to));
}

}  // namespace

std::string_view code_text(int code) noexcept {
  constexpr std::string_view kTexts[] = {"0", "1",  "2",  "3",  "4",  "5",  "6",  "7", "8",
                                         "9", "10", "11", "12", "13", "14", "15", "16"};
  constexpr int kNoneOfThem = 2;
  return kTexts[code >= 0 && code <= 16 ? code : kNoneOfThem];
}

void AnswerBlocks::on_table_size(uint32_t bytes) noexcept {
  places_ = {};
  count_ = 0;
  has_table_ = bytes >= table_bytes();
}

uint8_t* AnswerBlocks::write_known(Known field, uint8_t* to) noexcept {
  if (!has_table_) return write_literal(kLiteralWithNewName, kFields[field], to);
  if (places_[field] == 0) {
    places_[field] = ++count_;
    return write_literal(kAddedWithNewName, kFields[field], to);
  }
  *to++ = static_cast<uint8_t>(kIndexed | (kFirstPlace + (count_ - places_[field])));
  return to;
}

size_t AnswerBlocks::write_head(MessageEncoding encoding, uint8_t* to) noexcept {
  uint8_t* at = to;
  *at++ = kStatus200;
  at = write_known(kContentType, at);
  at = write_known(kAcceptEncoding, at);
  if (encoding != MessageEncoding::kIdentity) {
    const std::string_view name = encoding == MessageEncoding::kGzip ? "gzip" : "deflate";
    at = write_literal(kLiteralWithNewName, {"grpc-encoding", name}, at);
  }
  return static_cast<size_t>(at - to);
}

size_t AnswerBlocks::write_end(int code, uint8_t* to) noexcept {
  uint8_t* const end = code == 0 ? write_known(kStatusOk, to)
                                 : write_literal(kLiteralWithNewName, {"grpc-status", code_text(code)}, to);
  return static_cast<size_t>(end - to);
}

}  // namespace atl::frontends::grpc_nghttp2
