/// What a path of TensorFlow Serving's API names.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace atl::frontends::tfserving {

enum class RestAction { kStatus, kMetadata, kPredict, kClassify, kRegress };

struct CallTarget {
  RestAction action = RestAction::kStatus;
  std::string model;
  std::string version;  ///< as the client has it; empty: none
  std::string label;    ///< of a version; empty: none
};

/// Of NAME[/versions/V|/labels/L][/metadata|:predict|:classify|:regress]. Percent codes are undone in each name.
/// Nothing: it is no such path.
/// \param rest  what stands behind "/v1/models/" \param is_post  the methods have different actions
std::optional<CallTarget> read_target(std::string_view rest, bool is_post);

}  // namespace atl::frontends::tfserving
