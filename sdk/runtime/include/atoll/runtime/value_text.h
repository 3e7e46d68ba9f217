/// Values of options as texts that a manifest could have, without those that are secret.
#pragma once

#include <string>
#include <string_view>

#include "atoll/abi/plugin.h"
#include "atoll/runtime/typed_value.h"

namespace atl::runtime {

/// Whether a name's words say that what it names is a secret: "password", "s3_secret_key"; not "token_file".
bool names_secret(std::string_view name);

/// Whether nobody is shown the option's value.
bool is_secret(const atoll_option_v1& row);

/// `true`, `"250ms"`, `["a"]`, `{ a = "b" }`; durations and sizes in the largest unit that they are whole numbers of.
/// Members of maps whose names are those of secrets have `"***"` as their values.
std::string value_text(const TypedValue& value);

}  // namespace atl::runtime
