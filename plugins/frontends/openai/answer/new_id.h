#pragma once

#include <string>
#include <string_view>

namespace atl::frontends::openai {

/// "chatcmpl-" or the like, and a part that no other answer of this process has.
std::string new_id(std::string_view prefix);

}  // namespace atl::frontends::openai
