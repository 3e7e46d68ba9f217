/// Where in config.pbtxt a field was written, so that failures can point there.
#pragma once

#include <google/protobuf/text_format.h>

#include <memory>
#include <string>
#include <string_view>

#include "atoll/core/status.h"

namespace atl::pbtxt {

/// The places of one text's fields. Empty for a configuration that did not come from a text: failures then
/// have their message alone. Movable; immutable once filled.
class SourceMap {
 public:
  SourceMap() = default;
  explicit SourceMap(std::string path) : path_(std::move(path)) {}

  const std::string& path() const noexcept { return path_; }
  /// For the parser, which fills it.
  google::protobuf::TextFormat::ParseInfoTree* tree() noexcept { return tree_.get(); }

  /// Counted from 1; 0: no place is known.
  struct Place {
    int line = 0;
    int column = 0;
  };
  /// Where the field was written. One that was not gets the place of the message around it.
  Place find(std::string_view field) const;

  /// "<path>:<line>:<column>: field '<field>'", or "<path>: field '<field>'" for one without any place. Empty
  /// if there is no text. \param field  "dynamic_batching.preferred_batch_size[1]"
  std::string place(std::string_view field) const;

  /// A failure whose message is exactly `parts`, with place(field) as its note.
  template <class... Parts>
  Status invalid(std::string_view field, const Parts&... parts) const {
    return at(field, invalid_argument(parts...));
  }
  Status at(std::string_view field, Status failure) const {
    std::string where = place(field);
    if (!where.empty()) failure.note(where);
    return failure;
  }

 private:
  std::string path_;
  std::unique_ptr<google::protobuf::TextFormat::ParseInfoTree> tree_ =
      std::make_unique<google::protobuf::TextFormat::ParseInfoTree>();
};

}  // namespace atl::pbtxt
