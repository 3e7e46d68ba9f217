/// What the texts of models begin with.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace atl::serve {

/// At most 1 MiB from the beginning of a regular file; empty: it cannot be read.
std::string text_of(const std::filesystem::path& file);

/// Whether it is XML whose outermost element is <net>, as OpenVINO's files are.
bool is_openvino_text(std::string_view text);

}  // namespace atl::serve
