/// What foreign backends are told in JSON.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "atoll/backend/backend.h"

namespace atl::triton {

using Settings = std::map<std::string, std::string>;

/// What a backend's settings are made of. Of several for one key, the last one here counts.
struct SettingsSource {
  bool auto_complete = true;
  std::string backend_directory;
  /// ModelSource::settings: those of the model's backend, and ".<backend>.<setting>" of others.
  const Settings* model = nullptr;
  const Settings* options = nullptr;  ///< "<backend>.<setting>", or "<setting>" for all
};

/// {"cmdline":{"<setting>":"<value>",...}}, sorted by key. \param backend  whose settings count
std::string settings_json(const SettingsSource& source, std::string_view backend);

/// {"<policy>":{"cpu-cores":"0,1","numa-node":"0"}}, without what the policy leaves open. A policy without a name has
/// that of the instance's kind: "cpu", "gpu_<id>", "model".
std::string host_policy_json(const InstanceSpec& spec);

}  // namespace atl::triton
