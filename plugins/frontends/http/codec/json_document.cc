#include "frontends/http/codec/json_document.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>

#include "frontends/common/codec/wire_messages.h"
#include "frontends/http/codec/json_scan.h"

namespace atl::frontends::http {
namespace {

static_assert(kJsonPaddingBytes >= simdjson::SIMDJSON_PADDING);

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

/// What stands for a literal in the rewritten text. Objects, because no value that is read as a number, text
/// or flag can be one: where a number is not wanted a literal is refused with no check of its own. Their only
/// member's name begins with kOwnNames.
constexpr std::string_view kNotANumber = R"({"\u0001N":0})";
constexpr std::string_view kInfinity = R"({"\u0001+":0})";
constexpr std::string_view kMinusInfinity = R"({"\u0001-":0})";
/// An integer to simdjson, and to integers an ordinary 0; floats have its sign.
constexpr std::string_view kMinusZero = R"({"\u00010":0})";

using Block = unsigned char __attribute__((vector_size(16)));
constexpr size_t kBlocks = 4;

Block block_at(const char* bytes) noexcept {
  Block block;
  std::memcpy(&block, bytes, sizeof block);
  return block;
}
bool any(Block found) noexcept {
  uint64_t halves[2];
  std::memcpy(halves, &found, sizeof halves);
  return (halves[0] | halves[1]) != 0;
}

/// Whether the text may have the number -0: has it without a fraction or exponent behind it, in a text perhaps. What is behind the
/// text is read, too, and may be anything.
bool may_have_minus_zero(std::string_view text) noexcept {
  constexpr size_t kStep = kBlocks * sizeof(Block);
  const char* at = text.data();
  const char* const end = at + text.size();
  for (; end - at > 2; at += std::min<ptrdiff_t>(kStep, end - at)) {
    Block pairs = {};
    for (size_t i = 0; i < kStep; i += sizeof(Block))
      pairs |= Block((block_at(at + i) == '-') & (block_at(at + i + 1) == '0'));
    if (!any(pairs)) continue;
    Block found = {};
    for (size_t i = 0; i < kStep; i += sizeof(Block)) {
      const Block behind = block_at(at + i + 2);
      found |= Block((block_at(at + i) == '-') & (block_at(at + i + 1) == '0') & (behind != '.') &
                     ((behind | 0x20) != 'e'));
    }
    if (any(found)) return true;
  }
  return false;
}

/// Follows RapidJSON through a text that simdjson refused, and writes it anew with the numbers that simdjson
/// does not know in another form.
class Rewriter : public JsonScan<Rewriter> {
 public:
  Rewriter(std::string_view text, const rapidjson::MemoryStream& stream) : text_(text), stream_(stream) {}

  bool StartObject() { return deeper(); }
  bool EndObject(rapidjson::SizeType) { return close(); }
  bool StartArray() { return deeper(); }
  bool EndArray(rapidjson::SizeType) { return close(); }
  bool Int(int number) {
    const size_t end = stream_.Tell();
    const bool has_minus = number == 0 && end >= 2 && text_[end - 2] == '-';
    return !has_minus || replace(end - 2, end, kMinusZero);
  }
  bool Double(double number) {
    const size_t end = stream_.Tell();
    if (std::isnan(number)) return replace(start_of(end, is_letter_or_sign), end, kNotANumber);
    if (std::isinf(number)) {
      return replace(start_of(end, is_letter_or_sign), end, number < 0 ? kMinusInfinity : kInfinity);
    }
    // An integer beyond 64 bits: as a fraction it is a number for simdjson as well.
    const size_t start = start_of(end, is_digit_or_sign);
    const bool integer =
        start == 0 || std::string_view(".eE+").find(text_[start - 1]) == std::string_view::npos;
    return !integer || replace(end, end, ".0");
  }

  bool has_literals() const noexcept { return has_literals_; }
  bool changed() const noexcept { return copied_ != 0; }
  /// The whole text in its new form.
  std::string& finish() {
    out_.append(text_.substr(copied_));
    return out_;
  }

 private:
  static bool is_letter_or_sign(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
  }
  static bool is_digit_or_sign(char c) noexcept { return (c >= '0' && c <= '9') || c == '-'; }

  template <class Belongs>
  size_t start_of(size_t end, Belongs belongs) const noexcept {
    size_t start = end;
    while (start > copied_ && belongs(text_[start - 1])) --start;
    return start;
  }
  bool replace(size_t start, size_t end, std::string_view by) {
    if (copied_ == 0) out_.reserve(text_.size() + text_.size() / 8 + kJsonPaddingBytes);
    out_.append(text_.substr(copied_, start - copied_)).append(by);
    copied_ = end;
    has_literals_ |= by[0] == '{';
    return true;
  }
  bool close() noexcept {
    back();
    return true;
  }

  std::string_view text_;
  const rapidjson::MemoryStream& stream_;
  std::string out_;
  size_t copied_ = 0;  ///< of text_, into out_
  bool has_literals_ = false;
};

/// Of the only member of an object that stands for something else; else empty.
std::string_view own_name(JsonElement value) noexcept {
  JsonObject object;
  if (value.get_object().get(object) != simdjson::SUCCESS || object.size() != 1) return {};
  const std::string_view name = (*object.begin()).key;
  return name.starts_with(kOwnNames) ? name : std::string_view();
}

Status no_memory(size_t size) noexcept {
  return make_status(Code::kResourceExhausted, "no memory to parse the request JSON buffer of ", size,
                     " bytes");
}

}  // namespace

simdjson::error_code JsonDocument::parse_strict(const char* text, size_t size, uint32_t depth) noexcept {
  // Grown in steps, so that a row of slowly growing texts does not allocate each time.
  if (parser_.capacity() < size || parser_.max_depth() != depth + 1) {
    const size_t capacity = size > kSmallJsonBytes ? size : std::max(std::bit_ceil(size), size_t{4096});
    if (auto error = parser_.allocate(capacity, depth + 1); error != simdjson::SUCCESS) return error;
    if (parser_.doc.capacity() < capacity) {
      if (auto error = parser_.doc.allocate(capacity); error != simdjson::SUCCESS) return error;
    }
  }
  return parser_.parse(text, size, false).get(root_);
}

Status JsonDocument::parse(std::string_view text) noexcept {
  shortened_.release();
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  try {
    if (text.size() <= kSmallJsonBytes) return parse_whole(text);
    ATOLL_RETURN_IF_ERROR(shortened_.read(text));
    if (shortened_.arrays.empty()) return parse_whole(text);
    std::string rest = std::move(shortened_.text);
    const size_t size = rest.size();
    rest.resize(size + kJsonPaddingBytes);
    return parse_whole({rest.data(), size});
  } catch (const std::bad_alloc&) {
    return no_memory(text.size());
  }
}

Status JsonDocument::parse_whole(std::string_view text) {
  has_literals_ = false;
  const simdjson::error_code error = parse_strict(text.data(), text.size(), kMaxJsonDepth);
  if (error == simdjson::SUCCESS && !may_have_minus_zero(text)) return {};
  return error == simdjson::MEMALLOC ? no_memory(text.size()) : parse_again(text, error == simdjson::SUCCESS);
}

Status JsonDocument::parse_again(std::string_view text, bool was_parsed) {
  // What the first attempt has taken is not to be held beside what follows.
  if (text.size() > kSmallJsonBytes) parser_ = simdjson::dom::parser();
  rapidjson::MemoryStream stream(text.data(), text.size());
  Rewriter rewriter(text, stream);
  ATOLL_RETURN_IF_ERROR(Rewriter::run(stream, rewriter));
  simdjson::error_code error = simdjson::TAPE_ERROR;
  if (!rewriter.changed() && was_parsed) {
    error = parse_strict(text.data(), text.size(), kMaxJsonDepth);
  } else if (rewriter.changed()) {
    std::string& rewritten = rewriter.finish();
    const size_t size = rewritten.size();
    rewritten.resize(size + kJsonPaddingBytes);
    // A literal is one level deeper than the number it stands for.
    error = parse_strict(rewritten.data(), size, kMaxJsonDepth + 1);
    if (error == simdjson::MEMALLOC) return no_memory(size);
    has_literals_ = rewriter.has_literals();
  }
  if (error == simdjson::SUCCESS) return {};
  return invalid_argument(messages::kJsonMalformed, "Invalid value or encoding.");
}

Status JsonDocument::parse_unpadded(std::string_view text) noexcept {
  if (copy_bytes_ < text.size() + kJsonPaddingBytes || copy_ == nullptr) {
    copy_bytes_ = 0;
    copy_.reset(new (std::nothrow) char[text.size() + kJsonPaddingBytes]);
    if (copy_ == nullptr) return no_memory(text.size());
    copy_bytes_ = text.size() + kJsonPaddingBytes;
  }
  if (!text.empty()) std::memcpy(copy_.get(), text.data(), text.size());
  std::memset(copy_.get() + text.size(), 0, kJsonPaddingBytes);
  return parse({copy_.get(), text.size()});
}

bool JsonDocument::literal(JsonElement value, double* number) noexcept {
  const std::string_view key = own_name(value);
  constexpr double kInf = std::numeric_limits<double>::infinity();
  if (key.size() != 2) return false;
  if (key[1] == '0') {
    *number = -0.0;
    return true;
  }
  *number = key[1] == 'N' ? std::numeric_limits<double>::quiet_NaN() : key[1] == '+' ? kInf : -kInf;
  return key[1] == 'N' || key[1] == '+' || key[1] == '-';
}

const LongArray* JsonDocument::find_long_array(JsonElement value) const noexcept {
  if (own_name(value) != kLongArrayName) return nullptr;
  uint64_t position = 0;
  if (value.at_key(kLongArrayName).get_uint64().get(position) != simdjson::SUCCESS) return nullptr;
  return position < shortened_.arrays.size() ? &shortened_.arrays[position] : nullptr;
}

void JsonDocument::release() noexcept {
  shortened_.release();
  if (parser_.capacity() > kSmallJsonBytes) parser_ = simdjson::dom::parser();
  if (copy_bytes_ > kSmallJsonBytes) {
    copy_.reset();
    copy_bytes_ = 0;
  }
}

}  // namespace atl::frontends::http
