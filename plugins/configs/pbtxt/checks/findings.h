/// What is wrong with a configuration: all of it, in the order in which the rules are checked.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "atoll/core/status.h"
#include "configs/pbtxt/source_map.h"

namespace atl::pbtxt {

/// A broken rule.
struct Finding {
  std::string field;  ///< "dynamic_batching.preferred_batch_size[1]"
  SourceMap::Place place;
  Status status;  ///< the text that clients know, with the place as its note
};

/// Rules add what they find and go on where they can, so that a reader of many texts (a lint) sees
/// everything; a reader of one text takes first(). Use it on one thread at a time.
class Findings {
 public:
  /// Most that are kept, and bytes of text after which no more are; further ones are only counted.
  static constexpr size_t kKeptMax = 100;
  static constexpr size_t kKeptBytesMax = 1024 * 1024;

  /// \param source  outlives this object.
  explicit Findings(const SourceMap& source) : source_(source) {}

  /// Adds a failure of INVALID_ARGUMENT. What was found already at this field is not repeated.
  template <class... Parts>
  void invalid(std::string_view field, const Parts&... parts) {
    if (full()) {
      ++count_;
    } else {
      add(field, invalid_argument(parts...));
    }
  }
  void add(std::string_view field, Status failure);

  const SourceMap& source() const noexcept { return source_; }
  const std::vector<Finding>& list() const noexcept { return list_; }
  /// Nothing more is kept: what would take long to find need not be looked for.
  bool full() const noexcept { return list_.size() >= kKeptMax || bytes_ >= kKeptBytesMax; }
  /// Of all, kept or not.
  size_t count() const noexcept { return count_; }
  /// Success if nothing was found.
  Status first() const { return list_.empty() ? Status() : list_.front().status.clone(); }

 private:
  const SourceMap& source_;
  std::vector<Finding> list_;
  size_t bytes_ = 0;
  size_t count_ = 0;
};

}  // namespace atl::pbtxt
