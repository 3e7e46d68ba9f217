/// The metadata of one call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace atl::frontends::grpc_nghttp2 {

struct HeaderField {
  std::string_view name;
  std::string_view value;
};

/// Names and values in the order sent, in memory that is kept from one call to the next. Not thread safe.
class HeaderList {
 public:
  /// Copies both.
  void add(std::string_view name, std::string_view value);
  void clear() noexcept {
    if (text_.capacity() <= kKeptBytes) {
      text_.clear();
    } else {
      std::string().swap(text_);
    }
    places_.clear();
  }
  size_t size() const noexcept { return places_.size(); }
  /// That it takes, about.
  size_t bytes() const noexcept { return text_.size() + places_.size() * sizeof(Place); }
  /// Valid until the next add().
  HeaderField operator[](size_t i) const noexcept {
    const Place& place = places_[i];
    const std::string_view all(text_);
    return {all.substr(place.at, place.name_bytes),
            all.substr(place.at + place.name_bytes, place.value_bytes)};
  }
  /// The first value of the name; empty: there is none. \param name  in lower case
  std::string_view find(std::string_view name) const noexcept;

 private:
  /// Large lists are rare, and what waits to be used again is many.
  static constexpr size_t kKeptBytes = 4096;

  struct Place {
    uint32_t at;
    uint32_t name_bytes;
    uint32_t value_bytes;
  };
  std::string text_;
  std::vector<Place> places_;
};

}  // namespace atl::frontends::grpc_nghttp2
