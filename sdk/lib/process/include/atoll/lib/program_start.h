/// Starting another program.
#pragma once

#include <spawn.h>

#include <string>
#include <vector>

#include "atoll/lib/process_handle.h"

namespace atl {

/// As C has lists of texts: a null at the end. Valid as long as the texts.
inline std::vector<char*> pointers_of(const std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (const std::string& text : texts) all.push_back(const_cast<char*>(text.c_str()));
  all.push_back(nullptr);
  return all;
}

/// What a program leads from its first moment on.
enum class Leads : short {
  kGroup = POSIX_SPAWN_SETPGROUP,  ///< a group of processes
  kSession = POSIX_SPAWN_SETSID    ///< a session, and so a group, too
};

/// Descriptors of a program, and which of this process's they are copies of. It gets no other one.
struct ProgramFiles {
  static constexpr int kOwnDescriptor = 3;

  int output = -1;  ///< becomes 1
  int errors = -1;  ///< becomes 2
  int own = -1;     ///< becomes kOwnDescriptor; -1: it has none
  int input = -1;   ///< becomes 0; -1: there is nothing to read
};

/// Starts a program that blocks and ignores no signal. \param path  of the program, or its name, which is looked for in
/// PATH \param words  its arguments, its name first \param environment  "NAME=value", null at the end
/// Errors: RESOURCE_EXHAUSTED no process or descriptor to be had; UNAVAILABLE the program cannot be executed.
Result<ProcessHandle> start_program(const std::string& path, const std::vector<std::string>& words,
                                    char* const* environment, const ProgramFiles& files, Leads leads);

}  // namespace atl
