#include "telemetry/recorder/recorder_settings.h"

#include <algorithm>
#include <functional>

#include "atoll/models/model.h"
#include "atoll/request/request_marks.h"

namespace atl::recorder {
namespace {

bool has(const std::vector<std::string>& names, std::string_view name) noexcept {
  return names.empty() || std::find(names.begin(), names.end(), name) != names.end();
}

/// Numbers that follow each other become numbers that look like chance (the finalizer of SplitMix64).
uint64_t mixed(uint64_t number) noexcept {
  number += 0x9E3779B97F4A7C15;
  number = (number ^ (number >> 30)) * 0xBF58476D1CE4E5B9;
  number = (number ^ (number >> 27)) * 0x94D049BB133111EB;
  return number ^ (number >> 31);
}

}  // namespace

bool RecordingFilter::wants(const Request& request, double chance) const noexcept {
  return chance < sample && has(models, request.model->info().name) && has(tenants, request.tenant);
}

RecorderSettings read_settings(const Options& options) {
  RecorderSettings settings;
  settings.file = options.get_string("recording_file");
  settings.filter = {options.get_bool("responses"), options.get_bool("tensors"), options.get_float("sample"),
                     options.get_strings("models"), options.get_strings("tenants")};
  settings.limits = {options.get_bytes("max_bytes"), static_cast<uint32_t>(options.get_int("max_files")),
                     options.get_bytes("max_pending_size")};
  return settings;
}

double sampling_chance(const Request& request, uint64_t number) noexcept {
  if (!request.sequence.empty()) {
    number = request.sequence.text.empty() ? request.sequence.number
                                           : std::hash<std::string_view>()(request.sequence.text);
    number ^= std::hash<std::string_view>()(request.model->info().name);
  } else if (const uint32_t stream = stream_number(request); stream != 0) {
    number = ~uint64_t{stream};
  }
  constexpr int kBits = 53;  // of a double
  return static_cast<double>(mixed(number) >> (64 - kBits)) / static_cast<double>(uint64_t{1} << kBits);
}

}  // namespace atl::recorder
