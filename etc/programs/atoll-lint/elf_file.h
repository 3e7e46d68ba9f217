/// What a shared object says about itself, read from its bytes without loading it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "atoll/core/status.h"

namespace atl::lint {

struct DynamicSymbol {
  std::string name;
  bool defined = false;
  bool unique = false;   ///< STB_GNU_UNIQUE: the dynamic linker never unmaps who defines it
  bool visible = false;  ///< other objects can bind to it
};

struct ElfFacts {
  std::vector<DynamicSymbol> symbols;
  std::vector<std::string> needed;  ///< names of the libraries that it is linked with
  bool binds_now = false;           ///< every symbol is looked up when it is loaded
  bool never_unloads = false;       ///< DF_1_NODELETE
  bool has_runpath = false;         ///< DT_RUNPATH
};

/// Every offset and size in the file is checked against its bytes, so that a damaged file is an error and
/// nothing else. Errors: INVALID_ARGUMENT not a 64-bit little-endian shared object, or damaged.
Result<ElfFacts> read_elf(const std::vector<uint8_t>& bytes);

}  // namespace atl::lint
