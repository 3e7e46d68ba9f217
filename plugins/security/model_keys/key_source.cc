#include "security/model_keys/key_source.h"

#include <fcntl.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace atl::model_keys {
namespace {

std::string list_of(const std::vector<std::string>& ids) {
  std::string list;
  for (const std::string& id : ids) list += cat(list.empty() ? "'" : ", '", id, "'");
  return list;
}

}  // namespace

std::string KeyPlace::text() const {
  return file.empty() ? cat("file descriptor ", descriptor) : cat("the file of keys '", file, "'");
}

Result<KeyPlace> KeyPlace::of(const Options& options, const char* credentials) noexcept {
  const std::string& file = options.get_string("keys_file");
  const std::string& credential = options.get_string("keys_credential");
  const auto descriptor = static_cast<int>(options.get_int("keys_descriptor"));
  if ((file.empty() ? 0 : 1) + (credential.empty() ? 0 : 1) + (descriptor < 0 ? 0 : 1) != 1) {
    return invalid_argument(
        "options 'keys_file', 'keys_credential' and 'keys_descriptor': expected exactly one of them, as keys come from one place");
  }
  if (credential.empty()) return KeyPlace{file, descriptor};
  if (credential.find('/') != std::string::npos || credential == "." || credential == "..")
    return invalid_argument("option 'keys_credential': found '", credential,
                            "', expected the name of a credential");
  if (credentials == nullptr || *credentials == '\0') {
    return invalid_argument(
        "option 'keys_credential': found '", credential,
        "', but no credentials: CREDENTIALS_DIRECTORY is not in the environment; a unit of systemd with "
        "LoadCredential=",
        credential, ":/path/of/the/keys has it");
  }
  return KeyPlace{cat(credentials, "/", credential), -1};
}

KeySource::KeySource(Host& host, KeyPlace place, bool lock, int64_t poll_interval_ns)
    : host_(host), place_(std::move(place)), lock_(lock) {
  if (!place_.file.empty())
    watch_.emplace(host, std::vector{place_.file}, poll_interval_ns, [this] { renew(); });
}

Status KeySource::start() {
  // Programs that the server starts are not to have it.
  if (place_.file.empty() && ::fcntl(place_.descriptor, F_SETFD, FD_CLOEXEC) != 0)
    return invalid_argument("file descriptor ", place_.descriptor,
                            " of the option 'keys_descriptor': ", std::strerror(errno));
  // Before the file is read: what changes meanwhile is seen by the next look.
  if (watch_) ATOLL_RETURN_IF_ERROR(watch_->start("model-keys"));
  return read();
}

std::shared_ptr<const EncryptionKeys> KeySource::keys() const noexcept {
  const std::lock_guard lock(mutex_);
  return keys_;
}

Status KeySource::read() {
  const std::lock_guard reading(reading_);
  Result<EncryptionKeys> read = place_.file.empty() ? EncryptionKeys::read(place_.descriptor, lock_)
                                                    : EncryptionKeys::read(place_.file, lock_);
  if (!read.ok()) return std::move(read).status();
  auto keys = std::make_shared<const EncryptionKeys>(std::move(read).value());
  host_.log().info(place_.text(), " was read: models may be encrypted with ", list_of(keys->ids()));
  const std::lock_guard lock(mutex_);
  keys_ = std::move(keys);
  return {};
}

void KeySource::renew() noexcept {
  if (Status status = read(); !status.ok())
    host_.log().error("the keys of models are not taken, those read before go on: ", status.message());
}

}  // namespace atl::model_keys
