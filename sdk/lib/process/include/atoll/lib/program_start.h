/// Starting another program.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/types.h>
#include <unistd.h>

#include <string>
#include <vector>

namespace atl {

/// As C has lists of texts: a null at the end. Valid as long as the texts.
inline std::vector<char*> pointers_of(const std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (const std::string& text : texts) all.push_back(const_cast<char*>(text.c_str()));
  all.push_back(nullptr);
  return all;
}

/// What a program gets of this process: descriptors 0 (nothing to read), 1, 2 and kOwnDescriptor, no other one, no
/// signal that is blocked or ignored, and a group of its own.
class ProgramStart {
 public:
  static constexpr int kOwnDescriptor = 3;
  enum class Leads : short {
    kGroup = POSIX_SPAWN_SETPGROUP,  ///< of processes
    kSession = POSIX_SPAWN_SETSID    ///< and so a group, too
  };

  /// The descriptors stay the caller's. \param own  becomes kOwnDescriptor
  ProgramStart(Leads leads, int output, int errors, int own) noexcept {
    ::posix_spawn_file_actions_init(&files_);
    ::posix_spawn_file_actions_addopen(&files_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&files_, output, STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&files_, errors, STDERR_FILENO);
    ::posix_spawn_file_actions_adddup2(&files_, own, kOwnDescriptor);
    ::posix_spawn_file_actions_addclosefrom_np(&files_, kOwnDescriptor + 1);
    ::posix_spawnattr_init(&attributes_);
    sigset_t signals;
    ::sigemptyset(&signals);
    ::posix_spawnattr_setsigmask(&attributes_, &signals);
    ::sigfillset(&signals);
    ::posix_spawnattr_setsigdefault(&attributes_, &signals);
    ::posix_spawnattr_setpgroup(&attributes_, 0);
    const int flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | static_cast<int>(leads);
    ::posix_spawnattr_setflags(&attributes_, static_cast<short>(flags));
  }
  ProgramStart(const ProgramStart&) = delete;
  ProgramStart& operator=(const ProgramStart&) = delete;
  ~ProgramStart() {
    ::posix_spawn_file_actions_destroy(&files_);
    ::posix_spawnattr_destroy(&attributes_);
  }

  /// \param words, environment  as pointers_of() makes them \returns 0, or the number of the error
  int run(pid_t* pid, const char* path, const std::vector<char*>& words,
          const std::vector<char*>& environment) const noexcept {
    return ::posix_spawn(pid, path, &files_, &attributes_, words.data(), environment.data());
  }

 private:
  posix_spawn_file_actions_t files_;
  posix_spawnattr_t attributes_;
};

}  // namespace atl
