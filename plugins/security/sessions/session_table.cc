#include "security/sessions/session_table.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <utility>

namespace atl::sessions {
namespace {

constexpr size_t kHalf = 32;

bool is_same(std::string_view a, std::string_view b) noexcept {
  unsigned different = a.size() != b.size();
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    different |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  return different == 0;
}

}  // namespace

Result<std::string> SessionTable::add(std::string token) {
  std::array<uint8_t, kHalf> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    return internal_error("the system gives no random bits");
  std::string id;
  for (const uint8_t byte : bytes) {
    id += "0123456789abcdef"[byte >> 4];
    id += "0123456789abcdef"[byte & 15];
  }
  const int64_t now_ns = clock_.now_ns();
  std::lock_guard lock(mutex_);
  std::erase_if(sessions_, [&](const auto& one) { return one.second.ends_ns <= now_ns; });
  if (sessions_.size() >= most_) {
    sessions_.erase(std::min_element(sessions_.begin(), sessions_.end(), [](const auto& a, const auto& b) {
      return a.second.ends_ns < b.second.ends_ns;
    }));
  }
  sessions_[id.substr(0, kHalf)] = {id.substr(kHalf), std::move(token), now_ns + lifetime_ns_};
  return id;
}

SessionTable::Found SessionTable::find(std::string_view id) const {
  if (id.size() != 2 * kHalf) return {};
  std::lock_guard lock(mutex_);
  const auto found = sessions_.find(id.substr(0, kHalf));
  if (found == sessions_.end() || !is_same(found->second.secret, id.substr(kHalf))) return {};
  if (found->second.ends_ns <= clock_.now_ns()) return {};
  return {found->second.token, found->second.ends_ns};
}

void SessionTable::remove(std::string_view id) {
  if (find(id).token.empty()) return;
  std::lock_guard lock(mutex_);
  sessions_.erase(std::string(id.substr(0, kHalf)));
}

uint64_t SessionTable::size() const {
  std::lock_guard lock(mutex_);
  return sessions_.size();
}

}  // namespace atl::sessions
