/// RapidJSON's documents over memory that is checked.
#pragma once

#include <rapidjson/document.h>

#include "atoll/lib/checked_json.h"

namespace atl {

/// As rapidjson::Value and Document, with the memory of CheckedAllocator.
using CheckedPool = rapidjson::MemoryPoolAllocator<CheckedAllocator>;
using CheckedValue = rapidjson::GenericValue<rapidjson::UTF8<>, CheckedPool>;
using CheckedDocument = rapidjson::GenericDocument<rapidjson::UTF8<>, CheckedPool, CheckedAllocator>;

}  // namespace atl
