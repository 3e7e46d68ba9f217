#include "launchers/kubernetes/keeper_name.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <random>
#include <system_error>

#include "atoll/core/file_descriptor.h"
#include "atoll/lib/blanks.h"
#include "atoll/lib/hex.h"
#include "launchers/kubernetes/cluster_access.h"

namespace atl::launchers {
namespace {

constexpr size_t kNameBytes = 32;

/// Errors: INVALID_ARGUMENT.
Status write_synced(const std::string& path, const std::string& text) {
  const FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!file.valid() || ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()) ||
      ::fsync(file.get()) != 0)
    return invalid_argument(path, ": ", std::strerror(errno));
  return {};
}

}  // namespace

std::string random_name() {
  std::random_device random;
  std::array<uint8_t, kNameBytes / 2> bytes{};
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  return hex(bytes);
}

Result<std::string> keeper_name(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return invalid_argument(folder, ": ", error.message());
  const std::string path = folder + "/keeper";
  if (std::filesystem::exists(path, error)) {
    Result<std::string> text = read_small_file(path);
    if (!text.ok()) return std::move(text).status();
    const std::string name(without_blanks(text.value()));
    if (name.size() == kNameBytes && name.find_first_not_of("0123456789abcdef") == std::string::npos)
      return name;
    return invalid_argument(path, ": found '", name.substr(0, kNameBytes), "', expected ", kNameBytes,
                            " hexadecimal digits");
  }
  std::string name = random_name();
  ATOLL_RETURN_IF_ERROR(write_synced(path + ".new", name + "\n"));
  if (std::rename((path + ".new").c_str(), path.c_str()) != 0)
    return invalid_argument(path, ": ", std::strerror(errno));
  const FileDescriptor synced(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!synced.valid() || ::fsync(synced.get()) != 0)
    return invalid_argument(folder, ": ", std::strerror(errno));
  return name;
}

}  // namespace atl::launchers
