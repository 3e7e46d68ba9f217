/// The rules for a plugin's file and for the plugin that is in it.
#pragma once

#include <string>

#include "atoll/runtime/raw_value.h"
#include "elf_file.h"
#include "report.h"

namespace atl::lint {

/// What the file itself says.
void check_file(const ElfFacts& facts, Report& report);

/// Loads the plugin, runs an instance, unloads it, and all of it again, in a process of its own, because the
/// plugin's code runs. \param settings  options of the instance, as in a manifest.
void check_loading(const std::string& path, const ElfFacts& facts, const runtime::RawValue::Table& settings,
                   Report& report);

}  // namespace atl::lint
