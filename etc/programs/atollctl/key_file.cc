#include "key_file.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "atoll/core/file_descriptor.h"
#include "atoll/core/text.h"
#include "atoll/lib/hex.h"

namespace atl::ctl {
namespace {

constexpr size_t kRandomBytes = 24;

Status failed(const std::string& path, const char* what) {
  return invalid_argument("the file '", path, "' cannot be ", what, ": ", std::strerror(errno));
}

Result<std::string> read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return failed(path, "read");
  return std::string(std::istreambuf_iterator<char>(file), {});
}

Result<std::vector<KeyLine>> parse(const std::string& path, std::string_view text) {
  std::vector<KeyLine> keys;
  for (size_t number = 1; !text.empty(); ++number) {
    const size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    while (!line.empty() && (line.back() == ' ' || line.back() == '\r' || line.back() == '\t'))
      line.remove_suffix(1);
    if (line.empty() || line.front() == '#') continue;
    Result<KeyLine> key = parse_key_line(line);
    if (!key.ok())
      return invalid_argument("the file '", path, "', line ", number, ": ", key.status().message());
    keys.push_back(std::move(key).value());
  }
  return keys;
}

/// A new file takes the place of the old one, with its owner and mode. \param before  null: there is no old one
Status replace_file(const std::string& path, const std::string& text, const struct stat* before) {
  std::string temporary = path + ".XXXXXX";
  const FileDescriptor file(::mkostemp(temporary.data(), O_CLOEXEC));  // mode 0600
  if (file.get() < 0) return failed(path, "written");
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t count = ::write(file.get(), text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) break;
    done += static_cast<size_t>(count);
  }
  bool is_written = done == text.size();
  if (is_written && before != nullptr) {
    // Who may not give it to the owner of before leaves it to its own.
    if (before->st_uid != ::geteuid() || before->st_gid != ::getegid())
      is_written = ::fchown(file.get(), before->st_uid, before->st_gid) == 0;
    is_written = is_written && ::fchmod(file.get(), before->st_mode & 07777) == 0;
  }
  is_written = is_written && ::fsync(file.get()) == 0 && ::rename(temporary.c_str(), path.c_str()) == 0;
  if (is_written) return {};
  const Status status = failed(path, "written");
  ::unlink(temporary.c_str());
  return status.clone();
}

/// A file of keys that only this process changes, and what it was before.
struct LockedFile {
  std::string path;  ///< a link is followed, so that what it points to is replaced and not the link
  FileDescriptor lock;
  bool is_there = false;
  struct stat before {};
};

Status lock_file(const std::string& named, LockedFile* file) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::weakly_canonical(named, error);
  file->path = error ? named : real.string();
  const std::string folder = std::filesystem::path(file->path).parent_path().string();
  file->lock =
      FileDescriptor(::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (file->lock.get() < 0 || ::flock(file->lock.get(), LOCK_EX) != 0) return failed(file->path, "written");
  file->is_there = ::stat(file->path.c_str(), &file->before) == 0;
  if (file->is_there && !S_ISREG(file->before.st_mode))
    return invalid_argument("'", file->path, "' is no file of keys, but something else");
  return {};
}

}  // namespace

Result<std::string> make_key(const std::string& named, const NewKey& key) {
  std::array<unsigned char, kRandomBytes> random{};
  if (RAND_bytes(random.data(), random.size()) != 1) return internal_error("OpenSSL has no random bytes");
  const std::string token = cat(kKeyTokenBegin, key.id, "_", hex(random));
  std::array<unsigned char, 32> digest{};
  unsigned int bytes = 0;
  if (EVP_Digest(token.data(), token.size(), digest.data(), &bytes, EVP_sha256(), nullptr) != 1)
    return internal_error("OpenSSL has no SHA-256");
  std::string more = key.tenant.empty() ? std::string() : "tenant=" + key.tenant;
  if (!key.expires.empty()) more += cat(more.empty() ? "" : ";", "expires=", key.expires);
  const std::string line = cat(key.id, ":", hex(digest), ":", key.permissions, more.empty() ? "" : ":", more);
  if (std::ranges::any_of(line, [](unsigned char c) { return c < 0x20 || c == 0x7F; }))
    return invalid_argument("found a control character in the key");
  Result<KeyLine> read = parse_key_line(line);
  if (!read.ok()) return std::move(read).status();
  if (read->tenant != key.tenant) return invalid_argument("found ';' in the tenant's name");
  using std::chrono::system_clock;
  if (read->expires_s && *read->expires_s <= system_clock::to_time_t(system_clock::now()))
    return invalid_argument("the key would never be good: ", key.expires, " has passed");

  LockedFile file;
  ATOLL_RETURN_IF_ERROR(lock_file(named, &file));
  std::string text;
  if (file.is_there) {
    Result<std::string> old = read_text(file.path);
    if (!old.ok()) return std::move(old).status();
    Result<std::vector<KeyLine>> keys = parse(file.path, old.value());
    if (!keys.ok()) return std::move(keys).status();
    if (std::ranges::any_of(keys.value(), [&](const KeyLine& one) { return one.id == key.id; }))
      return invalid_argument("the file '", file.path, "' has a key '", key.id, "' already");
    // The server refuses such a file: a key without a tenant is one of its own.
    const auto mixes = [&](const KeyLine& one) {
      return one.tenant.empty() ? one.id == key.tenant : key.tenant.empty() && one.tenant == key.id;
    };
    if (const auto other = std::ranges::find_if(keys.value(), mixes); other != keys->end())
      return invalid_argument("the key '", key.tenant.empty() ? key.id : other->id,
                              "' has no tenant, and another one is of a tenant of this name");
    text = std::move(old).value();
  }
  if (!text.empty() && text.back() != '\n') text += '\n';
  text += line + '\n';
  ATOLL_RETURN_IF_ERROR(replace_file(file.path, text, file.is_there ? &file.before : nullptr));
  return token;
}

Status remove_key(const std::string& named, const std::string& id) {
  LockedFile file;
  ATOLL_RETURN_IF_ERROR(lock_file(named, &file));
  Result<std::string> old = read_text(file.path);
  if (!old.ok()) return std::move(old).status();
  Result<std::vector<KeyLine>> keys = parse(file.path, old.value());
  if (!keys.ok()) return std::move(keys).status();
  if (std::ranges::none_of(keys.value(), [&](const KeyLine& one) { return one.id == id; }))
    return invalid_argument("the file '", file.path, "' has no key '", id, "'");
  // Lines of keys begin with their id; all others stay as they are.
  std::string text;
  for (std::string_view rest = old.value(); !rest.empty();) {
    const size_t end = std::min(rest.find('\n'), rest.size() - 1);
    if (!rest.starts_with(id + ":")) text += rest.substr(0, end + 1);
    rest.remove_prefix(end + 1);
  }
  return replace_file(file.path, text, &file.before);
}

Result<std::vector<KeyLine>> read_keys(const std::string& path) {
  Result<std::string> text = read_text(path);
  if (!text.ok()) return std::move(text).status();
  return parse(path, text.value());
}

}  // namespace atl::ctl
