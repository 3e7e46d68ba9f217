/// The reference of a manifest's keys, written from the same tables that read it: for `atoll --list` and
/// the documentation.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "atoll/abi/plugin.h"

namespace atl::runtime {

enum class ReferenceFormat : uint32_t { kText = 0, kMarkdown = 1 };

/// One table of the manifest whose keys are not a plugin's: "atoll", or "plugin.NAME".
struct OptionSection {
  std::string_view name;
  std::string_view help;  ///< one sentence; may be empty
  std::span<const atoll_option_v1> options;
};

/// The sections, then every plugin with what it provides, needs and takes, in the order given. Null texts of
/// a descriptor read as empty.
std::string render_reference(std::span<const OptionSection> sections,
                             std::span<const atoll_plugin_v1_t* const> plugins, ReferenceFormat format);

}  // namespace atl::runtime
