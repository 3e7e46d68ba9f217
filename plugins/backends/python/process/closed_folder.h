/// Which folder keeps a user from a file.
#pragma once

#include <sys/types.h>

#include <span>
#include <string>

namespace atl::python {

/// The first folder on the way to `path`, links followed, that a user may not enter, by the owners and the modes of the folders. The
/// function looks with this process's own rights and not at access control lists, so it explains a refusal and refuses nothing.
/// \param groups  of the user, all of them \returns empty: there is no such folder, or it cannot be found out
std::string folder_closed_to(uid_t user, std::span<const gid_t> groups, const std::string& path);

}  // namespace atl::python
