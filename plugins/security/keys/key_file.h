/// The file of keys: who may do what, by a token.
///
/// Lines as atoll/lib/key_line.h reads them; empty ones and those that begin with '#' are left out.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "atoll/core/status.h"
#include "atoll/frontend/access.h"
#include "atoll/lib/key_line.h"

namespace atl::keys {

/// The keys of one reading of the file. Its identities live as long as somebody holds one. [any]
class KeySet {
 public:
  /// Errors: INVALID_ARGUMENT each line that cannot be read or whose id comes twice, by its number; ten at most.
  static Result<std::shared_ptr<KeySet>> parse(std::string_view text) noexcept;
  /// Errors: INVALID_ARGUMENT it cannot be read, is larger than 16 MiB, is no plain file, may be read by others than its
  /// owner and group, or written by others than its owner; those of parse(). All name the path.
  static Result<std::shared_ptr<KeySet>> read(const std::string& path) noexcept;

  size_t size() const noexcept { return keys_.size(); }
  /// Another reading has taken its place: its identities hold no more.
  void outdate() noexcept { is_outdated_.store(true, std::memory_order_release); }
  /// Who has this token, found by its digest. It takes the same time for a wrong token of an id that is there and for an id that is not.
  /// \returns null: nobody, or its time is over; else with a share in `keys`
  static std::shared_ptr<const Identity> find(const std::shared_ptr<const KeySet>& keys,
                                              std::string_view token) noexcept;

 private:
  class KeyIdentity final : public Identity {
   public:
    KeyIdentity(KeyLine line, const KeySet& keys) : line_(std::move(line)), keys_(keys) {}
    ~KeyIdentity() override = default;
    std::string_view name() const noexcept override { return line_.id; }
    std::string_view tenant() const noexcept override { return line_.tenant; }
    bool may(ApiCategory, std::string_view category_name, std::string_view model) const noexcept override {
      return line_.permissions.may(category_name, model);
    }
    bool may_all(ApiCategory, std::string_view category_name) const noexcept override {
      return line_.permissions.may_all(category_name);
    }
    bool holds() const noexcept override;
    const Sha256& digest() const noexcept { return line_.digest; }

   private:
    const KeyLine line_;
    const KeySet& keys_;
  };

  std::map<std::string, std::unique_ptr<KeyIdentity>, std::less<>> keys_;
  std::multimap<Sha256, const KeyIdentity*> by_digest_;  ///< all of keys_
  std::atomic<bool> is_outdated_{false};
};

/// The id in "atk_<id>_<random>"; empty: the token has another form.
std::string_view id_of_token(std::string_view token) noexcept;

}  // namespace atl::keys
