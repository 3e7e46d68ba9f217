#include "frontends/http/codec/long_tensor.h"

#include <charconv>
#include <cmath>
#include <cstring>

#include "atoll/core/text.h"
#include "atoll/request/number_type.h"
#include "frontends/http/codec/json_scan.h"
#include "frontends/http/codec/nesting.h"

namespace atl::frontends::http {
namespace {

/// Numbers or flags.
template <class T>
class NumberFiller : public JsonScan<NumberFiller<T>> {
 public:
  NumberFiller(std::string_view text, const rapidjson::MemoryStream& stream, std::span<const int64_t> shape,
               void* memory, uint64_t elements)
      : text_(text), stream_(stream), nesting_(shape), at_(static_cast<T*>(memory)), end_(at_ + elements) {}

  bool Default() { return refuse(Fault::kKind); }  // null and texts
  bool Bool(bool flag) {
    if constexpr (std::is_same_v<T, bool>) return put(flag, Fault::kNone);
    return refuse(Fault::kKind);
  }
  bool Int(int number) { return Int64(number); }
  bool Uint(unsigned number) { return Uint64(number); }
  bool Int64(int64_t number) {
    if constexpr (std::is_same_v<T, bool>) {
      return refuse(Fault::kKind);
    } else {
      if (std::is_unsigned_v<T> && number < 0) return refuse(Fault::kKind);
      return number_of(number);
    }
  }
  bool Uint64(uint64_t number) {
    if constexpr (std::is_same_v<T, bool>) {
      return refuse(Fault::kKind);
    } else {
      constexpr uint64_t kMostSigned = std::numeric_limits<int64_t>::max();
      if (std::is_integral_v<T> && std::is_signed_v<T> && number > kMostSigned) return refuse(Fault::kKind);
      return number_of(number);
    }
  }
  bool Double(double number) {
    if constexpr (std::is_floating_point_v<T>) {
      // What comes here was rounded on the way.
      if (std::isfinite(number)) exactly(&number);
      return number_of(number);
    }
    return refuse(Fault::kKind);
  }
  bool StartArray() {
    nesting_.open();
    return this->deeper();
  }
  bool EndArray(rapidjson::SizeType) {
    nesting_.close();
    this->back();
    return true;
  }

  Fault fault() const noexcept {
    if (fault_ != Fault::kNone) return fault_;
    if (at_ != end_) return Fault::kCount;
    return nesting_.fits() ? Fault::kNone : Fault::kNesting;
  }
  const std::string& refused() const noexcept { return refused_; }

 private:
  template <class Number>
  bool number_of(Number number) {
    T element{};
    Fault fault = Fault::kNone;
    if constexpr (std::is_floating_point_v<T>) {
      const auto value = static_cast<double>(number);
      fault = narrow<T>(value == 0 && std::is_integral_v<Number> && has_minus() ? -0.0 : value, &element);
    } else {
      fault = narrow<T>(number, &element);
    }
    if (fault == Fault::kRange) refused_ = cat(number);
    return put(element, fault);
  }
  bool put(T element, Fault fault) noexcept {
    if (fault == Fault::kNone && at_ == end_) fault = Fault::kCount;
    if (fault != Fault::kNone) return refuse(fault);
    *at_++ = element;
    nesting_.element();
    return true;
  }
  /// Of the 0 that the stream is behind: as an integer it has no sign.
  bool has_minus() const noexcept { return text_[stream_.Tell() - 2] == '-'; }
  bool refuse(Fault fault) noexcept {
    fault_ = fault;
    return false;
  }
  /// The number that the stream is behind. It stays as it is if it is too small to be exact.
  void exactly(double* number) const noexcept {
    const char* end = text_.data() + stream_.Tell();
    const char* start = end;
    while (std::string_view("0123456789+-.eE").find(start[-1]) != std::string_view::npos) --start;
    double exact = 0;
    if (std::from_chars(start, end, exact).ec == std::errc()) *number = exact;
  }

  std::string_view text_;
  const rapidjson::MemoryStream& stream_;
  NestingScan nesting_;
  T* at_;
  T* end_;
  Fault fault_ = Fault::kNone;
  std::string refused_;
};

/// Texts, each behind its length.
class TextFiller : public JsonScan<TextFiller> {
 public:
  TextFiller(std::span<const int64_t> shape, void* memory)
      : nesting_(shape), at_(static_cast<char*>(memory)) {}
  bool String(const char* text, rapidjson::SizeType length, bool) {
    const auto size = static_cast<uint32_t>(length);
    std::memcpy(at_, &size, sizeof size);
    std::memcpy(at_ + sizeof size, text, size);
    at_ += sizeof size + size;
    nesting_.element();
    return true;
  }
  bool StartArray() {
    nesting_.open();
    return deeper();
  }
  bool EndArray(rapidjson::SizeType) {
    nesting_.close();
    back();
    return true;
  }
  bool fits() const noexcept { return nesting_.fits(); }

 private:
  NestingScan nesting_;
  char* at_;
};

template <class T>
Fault fill(const LongArray& array, std::span<const int64_t> shape, void* memory, uint64_t elements,
           std::string* refused) {
  rapidjson::MemoryStream stream(array.text.data(), array.text.size());
  NumberFiller<T> filler(array.text, stream, shape, memory, elements);
  (void)NumberFiller<T>::run(stream, filler).ok();  // it is JSON: only the filler can have stopped it
  *refused = filler.refused();
  return filler.fault();
}

}  // namespace

Fault fill_from_long_array(const LongArray& array, DataType datatype, std::span<const int64_t> shape,
                           void* memory, uint64_t elements, std::string* refused) {
  return visit_number_type(
      datatype,
      [&]<class T>(std::type_identity<T>) { return fill<T>(array, shape, memory, elements, refused); },
      [&] {
        // That all are texts, and how many bytes they have, was found out before.
        rapidjson::MemoryStream stream(array.text.data(), array.text.size());
        TextFiller filler(shape, memory);
        (void)TextFiller::run(stream, filler).ok();
        return filler.fits() ? Fault::kNone : Fault::kNesting;
      });
}

}  // namespace atl::frontends::http
