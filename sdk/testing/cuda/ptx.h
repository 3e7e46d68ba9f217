/// What the double reads of PTX text: its version and target, and the kernels with their parameters.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace atl::cuda_double {

struct PtxParameter {
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

struct PtxEntry {
  std::string name;
  std::vector<PtxParameter> parameters;
};

struct PtxModule {
  int32_t version = 0;  ///< 10 · major + minor
  int32_t target = 0;   ///< 75 of sm_75
  std::vector<PtxEntry> entries;
};

/// \param problem  out: what is wrong where the result is empty
std::optional<PtxModule> read_ptx(std::string_view text, std::string& problem);

}  // namespace atl::cuda_double
