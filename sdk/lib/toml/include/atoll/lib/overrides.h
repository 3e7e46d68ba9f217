/// Keys of a TOML document that are set from outside its file.
#pragma once

#include <string>
#include <vector>

#include "atoll/runtime/problems.h"
#include "atoll/runtime/raw_value.h"

namespace atl::lib {

/// A key and its value: "plugin.grpc.address" = "127.0.0.1:0". The text is read as a TOML value, and as a string
/// if it is not one. `origin` is said in errors: "--set" or the name of the environment variable.
struct Override {
  std::string key;
  std::string text;
  std::string origin;
};

/// Sets every override in the tree, in order; tables on the way are made. One that cannot be set is a problem
/// and changes nothing.
void apply_overrides(const std::vector<Override>& overrides, runtime::RawValue& root,
                     runtime::Problems& problems);

/// Overrides from variables ATOLL__SECTION__KEY (ATOLL__PLUGIN__GRPC__ADDRESS -> plugin.grpc.address),
/// lower-cased.
std::vector<Override> overrides_from_environment(char** environment);

}  // namespace atl::lib
