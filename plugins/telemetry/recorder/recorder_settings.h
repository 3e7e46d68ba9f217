/// The options, read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/option_check.h"
#include "atoll/core/options.h"
#include "atoll/request/request.h"

namespace atl::recorder {

/// Which requests are recorded, and what of them.
struct RecordingFilter {
  bool responses = true;
  bool tensors = true;
  double sample = 1;
  std::vector<std::string> models;   ///< empty: all
  std::vector<std::string> tenants;  ///< empty: all

  /// \param chance  from 0 to 1, without 1
  bool wants(const Request& request, double chance) const noexcept;
};

/// How large the recording becomes.
struct RecordingLimits {
  uint64_t file_bytes_max = 0;
  uint32_t files_max = 1;
  uint64_t pending_bytes_max = 0;
};

struct RecorderSettings {
  std::string file;
  RecordingFilter filter;
  RecordingLimits limits;
};

RecorderSettings read_settings(const Options& options);

/// From 0 to 1, without 1: the same for all requests of a sequence or a stream, which are of use only together; for
/// others from the number.
double sampling_chance(const Request& request, uint64_t number) noexcept;

}  // namespace atl::recorder
