/// Other names of libtritonserver.so.
#pragma once

#include <string>
#include <string_view>

#include "atoll/core/status.h"

namespace atl::triton {

/// Some packages rename the server's library, so that what they hold needs "libtritonserver-<hash>.so" and would bring
/// a second server into the process. Sees to it that such names of what the shared object needs are this process's
/// libtritonserver.so, which is loaded already. What was made for that stays mapped until the process ends.
/// Of what is no shared object nothing is provided: the dynamic linker says what is wrong with it. [worker]
/// Errors: INTERNAL the system gives no memory file, or the dynamic linker refuses it.
Status provide_server_names(const std::string& path);

/// Whether a library that is needed stands for the server's, by another name than "libtritonserver.so".
bool is_renamed_server(std::string_view library) noexcept;

/// provide_server_names() of one name. Errors: INVALID_ARGUMENT also: the name is too long
Status provide_server_name(const std::string& name);

}  // namespace atl::triton
