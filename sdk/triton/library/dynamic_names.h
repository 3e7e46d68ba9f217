/// What a shared object says of itself, read from the file.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "atoll/core/status.h"

namespace atl::triton {

/// Names in the dynamic section of an ELF file; none where it has no such section.
struct DynamicNames {
  std::vector<std::string> needed;  ///< DT_NEEDED, in their order
  std::string soname;               ///< DT_SONAME; empty: none
  uint64_t soname_offset = 0;       ///< of its bytes in the file
};

/// \param file  the whole file. Errors: INVALID_ARGUMENT it is no ELF file of 64 bits, or leads out of itself.
Result<DynamicNames> read_dynamic_names(std::span<const char> file);

/// Of a file. Errors: as above; NOT_FOUND it cannot be read.
Result<DynamicNames> read_dynamic_names(const std::string& path);

}  // namespace atl::triton
