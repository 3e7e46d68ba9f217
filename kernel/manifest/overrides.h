/// Private to the manifest's sources: keys set from outside the file.
#pragma once

#include <vector>

#include "kernel/manifest/manifest.h"

namespace atl::kernel {

/// Sets every override in the tree, in order; tables on the way are made. One that cannot be set is a problem
/// and changes nothing.
void apply_overrides(const std::vector<Override>& overrides, runtime::RawValue& root,
                     runtime::Problems& problems);

}  // namespace atl::kernel
