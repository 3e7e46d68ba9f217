#include "frontends/common/access/last_callers.h"

#include <cstring>
#include <utility>

namespace atl::frontends {
namespace {

/// Reads all of both, wherever they differ: callers behind one proxy share a connection. Eight bytes at a time, as a
/// token may have a thousand.
bool equal_in_constant_time(std::string_view one, std::string_view other) noexcept {
  if (one.size() != other.size()) return false;
  uint64_t difference = 0;
  size_t at = 0;
  for (; at + sizeof(uint64_t) <= one.size(); at += sizeof(uint64_t)) {
    uint64_t left, right;
    std::memcpy(&left, one.data() + at, sizeof left);
    std::memcpy(&right, other.data() + at, sizeof right);
    difference |= left ^ right;
  }
  for (; at < one.size(); ++at)
    difference |= static_cast<uint64_t>(static_cast<unsigned char>(one[at] ^ other[at]));
  return difference == 0;
}

/// Whether the answer could depend on more than the category and the credential.
bool is_kept(const AccessQuestion& question) noexcept {
  return !question.is_probe && question.category != ApiCategory::kOther;
}

/// The one value; empty: there is none, or there are several.
std::string_view credential_of(const CallHead& head) noexcept {
  std::array<std::string_view, 1> values;
  return head.find(WatchedHead::kAuthorization, values) == 1 ? values[0] : std::string_view();
}

}  // namespace

LastCallers::Entry& LastCallers::place_of(uint64_t connection) noexcept {
  constexpr uint64_t kMix = 0x9E3779B97F4A7C15;  // its upper bits depend on all of the number
  constexpr int kShift = 56;
  static_assert(kPlaces == size_t{1} << (64 - kShift));
  return (*entries_)[(connection * kMix) >> kShift];
}

bool LastCallers::is_fresh(const Entry& entry, int64_t now_ns) noexcept {
  return now_ns - entry.since_ns < kMostAgeNs && !entry.sources.is_outdated() && entry.identity->holds();
}

const std::shared_ptr<const Identity>* LastCallers::find(uint64_t connection, const AccessQuestion& question,
                                                         int64_t now_ns) noexcept {
  if (kept_ == 0 || !is_kept(question)) return nullptr;
  Entry& entry = place_of(connection);
  if (entry.identity == nullptr || entry.connection != connection || entry.category != question.category ||
      entry.protocol != question.protocol)
    return nullptr;
  const std::string_view credential = credential_of(question.head);
  if (credential.empty() || !equal_in_constant_time(entry.credential, credential)) return nullptr;
  if (is_fresh(entry, now_ns)) return &entry.identity;
  drop(entry);
  return nullptr;
}

void LastCallers::keep(uint64_t connection, const AccessQuestion& question,
                       const std::shared_ptr<const Identity>& identity,
                       Replaceable<IdentityChain>::Hold sources, std::atomic<int64_t>& count,
                       int64_t now_ns) noexcept {
  const std::string_view credential = credential_of(question.head);
  if (!is_kept(question) || credential.empty() || credential.size() > kMostBytes) return;
  if (entries_ == nullptr) entries_ = std::make_unique<std::array<Entry, kPlaces>>();
  Entry& entry = place_of(connection);
  drop(entry);
  entry.sources = std::move(sources);
  entry.identity = identity;
  entry.count = &count;
  entry.connection = connection;
  entry.category = question.category;
  entry.protocol = question.protocol;
  entry.since_ns = now_ns;
  entry.credential = credential;
  count.fetch_add(1, std::memory_order_relaxed);
  ++kept_;
}

void LastCallers::drop(Entry& entry) noexcept {
  if (entry.identity == nullptr) return;
  entry.identity.reset();
  // Before the hold ends: whoever adds both up finds no use that there is not.
  entry.count->fetch_sub(1, std::memory_order_relaxed);
  entry.sources.reset();
  // A secret, which nobody needs any more; its room may stay.
  entry.credential.assign(entry.credential.size(), '\0');
  entry.credential.clear();
  --kept_;
}

void LastCallers::sweep(int64_t now_ns) noexcept {
  if (kept_ == 0) return;
  for (Entry& entry : *entries_) {
    if (entry.identity != nullptr && !is_fresh(entry, now_ns)) drop(entry);
  }
}

void LastCallers::clear() noexcept {
  if (kept_ == 0) return;
  for (Entry& entry : *entries_) drop(entry);
}

}  // namespace atl::frontends
