/// For tests: a folder of its own with short ways to fill it.
#pragma once

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>

#include "atoll/testing/temporary_directory.h"

namespace atl::filesystem {

/// Names are relative to the folder; what cannot be made throws.
class RepositoryFolder {
 public:
  RepositoryFolder() : path_(folder_.path().string()) {
    // Others may look in, so that a test can be another user.
    std::filesystem::permissions(path_, std::filesystem::perms(0755));
  }

  const std::string& path() const { return path_; }
  std::string at(std::string_view name) const { return path_ + "/" + std::string(name); }

  void directory(std::string_view name) const { std::filesystem::create_directories(at(name)); }
  /// Makes the directories above it, too.
  void file(std::string_view name, std::string_view text = "") const {
    std::filesystem::create_directories(std::filesystem::path(at(name)).parent_path());
    std::ofstream out(at(name), std::ios::binary);
    out << text;
    if (!out.flush()) throw std::runtime_error("write " + at(name));
  }
  void link(std::string_view name, const std::string& target) const {
    std::filesystem::create_symlink(target, at(name));
  }
  void fifo(std::string_view name) const {
    if (::mkfifo(at(name).c_str(), 0644) != 0) throw std::runtime_error("mkfifo " + at(name));
  }
  void socket(std::string_view name) const {
    int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    at(name).copy(address.sun_path, sizeof address.sun_path - 1);
    bool bound = ::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    ::close(fd);
    if (!bound) throw std::runtime_error("bind " + at(name));
  }
  void remove(std::string_view name) const { std::filesystem::remove_all(at(name)); }

 private:
  test::TemporaryDirectory folder_;
  std::string path_;
};

}  // namespace atl::filesystem
