#include "atoll/lib/encryption_keys.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "atoll/core/file_descriptor.h"
#include "atoll/core/text.h"

namespace atl {
namespace {

constexpr size_t kMostTextBytes = size_t{64} << 10;
constexpr size_t kMostIdBytes = 64;
constexpr std::chrono::seconds kLongestWait{5};

int hex_digit(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

bool read_key(std::string_view digits, std::span<std::byte> key) noexcept {
  if (digits.size() != 2 * key.size()) return false;
  for (size_t i = 0; i < key.size(); ++i) {
    const int high = hex_digit(digits[2 * i]), low = hex_digit(digits[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    key[i] = static_cast<std::byte>(high * 16 + low);
  }
  return true;
}

/// The next line without its end and blanks behind it.
std::string_view take_line(std::string_view& text) noexcept {
  const size_t end = text.find('\n');
  std::string_view line = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  while (!line.empty() && (line.back() == ' ' || line.back() == '\r' || line.back() == '\t'))
    line.remove_suffix(1);
  return line;
}

bool is_key_line(std::string_view line) noexcept { return !line.empty() && line.front() != '#'; }

/// One byte more than it may have shows that it is too large.
struct TextMemory {
  LockedMemory memory;
  size_t size = 0;
  std::string_view text() const noexcept {
    return {reinterpret_cast<const char*>(memory.bytes().data()), size};
  }
  std::span<std::byte> rest() const noexcept { return memory.bytes().subspan(size); }
};

Result<TextMemory> text_memory(bool lock) {
  Result<LockedMemory> memory = LockedMemory::make(kMostTextBytes + 1, lock);
  if (!memory.ok()) return std::move(memory).status();
  return TextMemory{std::move(memory).value(), 0};
}

/// \returns whether there may be more. Errors: what the system says.
Result<bool> read_some(int descriptor, bool has_offsets, TextMemory& text) {
  const std::span<std::byte> rest = text.rest();
  if (rest.empty()) return false;
  const ssize_t count = has_offsets
                            ? ::pread(descriptor, rest.data(), rest.size(), static_cast<off_t>(text.size))
                            : ::read(descriptor, rest.data(), rest.size());
  if (count < 0 && (errno == EINTR || errno == EAGAIN)) return true;
  if (count < 0) return invalid_argument("it cannot be read: ", std::strerror(errno));
  text.size += static_cast<size_t>(count);
  return count != 0;
}

Status read_file(int descriptor, TextMemory& text) {
  while (true) {
    Result<bool> more = read_some(descriptor, true, text);
    if (!more.ok()) return std::move(more).status();
    if (!*more) return {};
  }
}

Status read_pipe(int descriptor, TextMemory& text) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point until = Clock::now() + kLongestWait;
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    pollfd ready{descriptor, POLLIN, 0};
    const int count = left <= 0 ? 0 : ::poll(&ready, 1, static_cast<int>(left));
    if (count == 0)
      return invalid_argument("whoever writes into it did not end within ", kLongestWait.count(), " s");
    if (count < 0 && errno != EINTR) return invalid_argument("it cannot be read: ", std::strerror(errno));
    if (count < 0) continue;
    Result<bool> more = read_some(descriptor, false, text);
    if (!more.ok()) return std::move(more).status();
    if (!*more) return {};
  }
}

Status check_size(const TextMemory& text) {
  if (text.size <= kMostTextBytes) return {};
  return invalid_argument("it has more than ", kMostTextBytes, " bytes, expected lines 'ID:KEY'");
}

}  // namespace

bool is_encryption_key_id(std::string_view text) noexcept {
  return !text.empty() && text.size() <= kMostIdBytes && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  });
}

Result<EncryptionKeys> EncryptionKeys::parse(std::string_view text, bool lock) noexcept {
  size_t count = 0;
  for (std::string_view rest = text; !rest.empty();) count += is_key_line(take_line(rest)) ? 1 : 0;
  if (count == 0) return invalid_argument("found no key, expected lines 'ID:KEY'");
  Result<LockedMemory> memory = LockedMemory::make(count * kEncryptionKeyBytes, lock);
  if (!memory.ok()) return std::move(memory).status();
  EncryptionKeys keys;
  keys.keys_ = std::move(memory).value();
  std::string_view rest = text;
  for (size_t number = 1; !rest.empty(); ++number) {
    const std::string_view line = take_line(rest);
    if (!is_key_line(line)) continue;
    const size_t colon = line.find(':');
    const std::string_view id = line.substr(0, colon);
    // What stands there may be a key that lost its id, so no message has it.
    if (colon == std::string_view::npos || !is_encryption_key_id(id)) {
      return invalid_argument("line ", number,
                              ": expected 'ID:KEY' with an id of 1 to 64 lower-case letters, digits and '-'");
    }
    if (keys.find(id)) return invalid_argument("line ", number, ": there is a key '", id, "' above already");
    const auto key = keys.keys_.bytes().subspan(keys.ids_.size() * kEncryptionKeyBytes, kEncryptionKeyBytes);
    if (!read_key(line.substr(colon + 1), key)) {
      return invalid_argument("line ", number, ": expected 64 hexadecimal digits behind '", id,
                              ":', as `openssl rand -hex 32` writes them");
    }
    keys.ids_.emplace_back(id);
  }
  return keys;
}

Result<EncryptionKeys> EncryptionKeys::read(const std::string& path, bool lock) noexcept {
  const auto failed = [&path](const auto&... what) {
    return invalid_argument("the file of keys '", path, "' ", what...);
  };
  // A pipe must not be waited for.
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat info {};
  if (!file.valid() || ::fstat(file.get(), &info) != 0)
    return failed("cannot be read: ", std::strerror(errno));
  if (!S_ISREG(info.st_mode)) return failed("is something else than a plain file");
  if ((info.st_mode & S_IRWXO) != 0)
    return failed("is open to all users of this machine, expected mode 0600, 0640 or 0400");
  if ((info.st_mode & S_IWGRP) != 0)
    return failed("may be written by its group, expected mode 0600, 0640 or 0400");
  Result<TextMemory> text = text_memory(lock);
  if (!text.ok()) return std::move(text).status();
  Status status = read_file(file.get(), *text);
  if (status.ok()) status = check_size(*text);
  if (!status.ok()) return failed(": ", status.message());
  Result<EncryptionKeys> keys = parse(text->text(), lock);
  if (keys.ok()) return keys;
  return make_status(keys.status().code(), "the file of keys '", path, "', ", keys.status().message());
}

Result<EncryptionKeys> EncryptionKeys::read(int descriptor, bool lock) noexcept {
  struct stat info {};
  if (::fstat(descriptor, &info) != 0)
    return invalid_argument("file descriptor ", descriptor, " cannot be read: ", std::strerror(errno));
  const bool is_file = S_ISREG(info.st_mode);
  if (!is_file && !S_ISFIFO(info.st_mode) && !S_ISSOCK(info.st_mode))
    return invalid_argument("file descriptor ", descriptor, " is something else than a file or a pipe");
  Result<TextMemory> text = text_memory(lock);
  if (!text.ok()) return std::move(text).status();
  Status status = is_file ? read_file(descriptor, *text) : read_pipe(descriptor, *text);
  if (status.ok()) status = check_size(*text);
  if (status.ok() && text->size == 0)
    status = invalid_argument("it is empty, as a pipe is that was read before; expected lines 'ID:KEY'");
  if (!status.ok()) return invalid_argument("file descriptor ", descriptor, ": ", status.message());
  Result<EncryptionKeys> keys = parse(text->text(), lock);
  if (keys.ok()) return keys;
  return make_status(keys.status().code(), "file descriptor ", descriptor, ", ", keys.status().message());
}

std::optional<EncryptionKey> EncryptionKeys::find(std::string_view id) const noexcept {
  const auto found = std::ranges::find(ids_, id);
  if (found == ids_.end()) return std::nullopt;
  const auto index = static_cast<size_t>(found - ids_.begin());
  return EncryptionKey(keys_.bytes().subspan(index * kEncryptionKeyBytes).first<kEncryptionKeyBytes>());
}

}  // namespace atl
