/// Everything that is wrong with a definition, told at once.
#pragma once

#include <cstddef>
#include <string>

#include "atoll/core/status.h"
#include "atoll/core/text.h"

namespace atl::pools {

class Mistakes {
 public:
  /// Nothing happens for a success.
  void add(const Status& status) {
    if (!status.ok() && ++count_ <= kToldMax) text_ += cat(text_.empty() ? "" : "; ", status.message());
  }
  /// Errors: INVALID_ARGUMENT the first kToldMax, joined by "; ", and how many more there are.
  Status status() const {
    if (count_ == 0) return {};
    return invalid_argument(text_, count_ > kToldMax ? cat("; and ", count_ - kToldMax, " more") : "");
  }

 private:
  static constexpr size_t kToldMax = 10;
  std::string text_;
  size_t count_ = 0;
};

}  // namespace atl::pools
