/// The fields of a request's JSON object, with their ranges.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "atoll/lib/checked_document.h"
#include "frontends/openai/api_error.h"

namespace atl::frontends::openai {

/// Reads fields one by one and keeps the first failure; further readings give defaults then. A field that is null counts
/// as one that is not there.
class Fields {
 public:
  /// \param object  outlives this
  explicit Fields(const CheckedValue& object) noexcept : object_(object) {}
  Fields(const Fields&) = delete;
  Fields& operator=(const Fields&) = delete;

  /// Null: the field is not there, or null.
  const CheckedValue* find(const char* name) const noexcept;
  bool has(const char* name) const noexcept { return find(name) != nullptr; }
  std::optional<double> number(const char* name, double least, double most);
  std::optional<int64_t> integer(const char* name, int64_t least, int64_t most);
  bool flag(const char* name, bool fallback);
  /// Borrowed from the object. Empty: it is not there.
  std::string_view text(const char* name);
  void fail(ApiError error) {
    if (!failure_) failure_ = std::move(error);
  }
  std::optional<ApiError>& failure() noexcept { return failure_; }

 private:
  const CheckedValue& object_;
  std::optional<ApiError> failure_;
};

std::string_view text_of(const CheckedValue& value) noexcept;
/// A member that is a text; empty: there is none. \param object  is one
std::string_view text_member(const CheckedValue& object, const char* name) noexcept;

}  // namespace atl::frontends::openai
