/// By which a keeper's pods are told from those of others.
#pragma once

#include <string>

#include "atoll/core/status.h"

namespace atl::launchers {

/// The name in the folder's file "keeper"; a new one, which is on the disk when this returns, if there is none.
/// Errors: INVALID_ARGUMENT the folder or the file cannot be used.
Result<std::string> keeper_name(const std::string& folder);

/// 32 random hexadecimal digits.
std::string random_name();

}  // namespace atl::launchers
