/// Whether a descriptor is one, and fits this kernel.
#pragma once

#include <cstddef>
#include <string_view>

#include "atoll/abi/plugin.h"
#include "atoll/core/status.h"

namespace atl::runtime {

inline constexpr uint32_t kTableRowsMax = 1024;
inline constexpr size_t kTextBytesMax = 4096;
inline constexpr size_t kNameBytesMax = 64;  ///< of each part

/// "role", "my-plugin_2.1": of instances, and the two parts of a plugin's name.
bool is_name(std::string_view text);
/// "role/name"
bool is_plugin_name(std::string_view text);
/// "atoll.backend/1": words of [a-z0-9_] joined by dots, a slash, a number from 1.
bool is_interface_id(std::string_view id);

/// \param size_bytes  of the symbol, as its file says; 0: unknown.
/// \param use         the name that the manifest asks for; empty: any.
/// Errors: FAILED_PRECONDITION, saying what was found and what was expected.
Status check_descriptor(const atoll_plugin_v1_t* descriptor, size_t size_bytes, std::string_view use);

}  // namespace atl::runtime
