/// A user of the system.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "atoll/core/status.h"

namespace atl::python {

struct SystemUser {
  uid_t id = 0;
  gid_t group = 0;
  std::string name;  ///< empty: the system knows the number only as a number
  std::string home;

  /// \param text  a name or a number; a number that nobody has is a user of its own, with a group of the same number
  /// Errors: NOT_FOUND nobody has that name.
  static Result<SystemUser> find(const std::string& text);
  /// Its own and all others that it is in.
  std::vector<gid_t> groups() const;
};

}  // namespace atl::python
