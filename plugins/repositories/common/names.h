/// Names of models and of version directories.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "atoll/core/status.h"

namespace atl::filesystem {

/// Longest name of a model, in bytes: what a directory entry can hold.
inline constexpr size_t kModelNameBytesMax = 255;

/// OK if the name is one directory entry that a repository would list. Errors: INVALID_ARGUMENT for an empty
/// or blank name, one with '/' or NUL, "." and "..", one that is too long or no UTF-8; NOT_FOUND for a hidden
/// one (leading '.').
Status check_model_name(std::string_view name);

/// A version directory's number if its name is the canonical form of a positive one: digits only, no leading
/// zero, within int64.
std::optional<int64_t> parse_version(std::string_view name) noexcept;

/// Why parse_version() gave nothing for this name: "its name has a leading zero".
std::string_view version_refusal(std::string_view name) noexcept;

/// True for folders beside the versions that belong to the layout: warmup, initial_state, configs.
bool is_layout_directory(std::string_view name) noexcept;

}  // namespace atl::filesystem
