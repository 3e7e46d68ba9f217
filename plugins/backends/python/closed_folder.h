/// Which folder keeps a user from a file.
#pragma once

#include <sys/types.h>

#include <span>
#include <string>

namespace atl::python {

/// The first folder on the way to `path`, links followed, that a user may not enter, by the owners and the modes of the folders. It
/// looks with this process's own rights, and not at access control lists: it explains a refusal, and is none.
/// \param groups  of the user, all of them \returns empty: there is none, or it can not be told
std::string folder_closed_to(uid_t user, std::span<const gid_t> groups, const std::string& path);

}  // namespace atl::python
