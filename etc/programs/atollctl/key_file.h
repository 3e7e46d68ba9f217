/// Files of keys on this machine, as security/keys reads them.
#pragma once

#include <string>
#include <vector>

#include "atoll/core/status.h"
#include "atoll/lib/key_line.h"

namespace atl::ctl {

struct NewKey {
  std::string id;
  std::string permissions;
  std::string tenant;   ///< empty: none
  std::string expires;  ///< RFC 3339; empty: never
};

/// Makes a token and puts the key's line at the end of the file, which is made if there is none. Readers see the file
/// before or after that and nothing in between; of two that do so at a time both are in it.
/// \returns the token, which stands nowhere else
/// Errors: INVALID_ARGUMENT what is no key, a time that has passed, an id that the file has, a file that cannot be written.
Result<std::string> make_key(const std::string& path, const NewKey& key);

/// Takes a key's line out of the file, in the same way; what else stands there stays.
/// Errors: INVALID_ARGUMENT it has no such key, or cannot be read or written.
Status remove_key(const std::string& path, const std::string& id);

/// The keys of a file. Errors: INVALID_ARGUMENT it cannot be read, or one of its lines.
Result<std::vector<KeyLine>> read_keys(const std::string& path);

}  // namespace atl::ctl
