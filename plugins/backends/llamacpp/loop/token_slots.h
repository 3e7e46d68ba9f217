/// The places of the engine's memory: who generates in which sequence, and what ended requests have left there for others.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backends/llamacpp/loop/generation.h"

namespace atl::llamacpp {

/// One sequence of the engine.
struct TokenSlot {
  int32_t sequence = 0;
  std::unique_ptr<Generation> user;  ///< null: nobody generates here
  std::vector<Token> left;           ///< what the memory holds, if nobody generates here
  std::string scope;                 ///< whose `left` is
  int32_t shared = 0;                ///< of the first tokens: held for another slot too, so counted there
  uint64_t last_use = 0;

  /// What the memory holds of the sequence.
  std::span<const Token> held() const noexcept {
    return user ? std::span(user->tokens).first(static_cast<size_t>(user->computed)) : std::span(left);
  }
  const std::string& owner() const noexcept { return user ? user->scope : scope; }
};

/// How many of the first tokens are equal.
int32_t common_prefix(std::span<const Token> a, std::span<const Token> b) noexcept;

/// Keeps the engine's memory and its own books alike. Used by the loop's thread.
class TokenSlots {
 public:
  explicit TokenSlots(TokenEngine& engine);

  std::span<TokenSlot> all() noexcept { return slots_; }
  bool has_free() const noexcept;
  int32_t running() const noexcept;
  /// Tokens in the memory, of all slots.
  int32_t held_tokens() const noexcept;
  /// Those, and those still to be computed, of the requests that run.
  int32_t claimed_tokens() const noexcept;

  /// How many of the first tokens of the request need not be computed.
  int32_t reusable(const Generation& generation) const noexcept;
  /// How many more of them a request that runs is about to compute.
  int32_t soon_reusable(const Generation& generation) const noexcept;
  /// Puts the request into a free slot, with what can be reused. has_free() is true.
  TokenSlot& begin(std::unique_ptr<Generation> generation);
  /// The request ends, or goes back to waiting: what it has computed stays for others, or is forgotten.
  std::unique_ptr<Generation> end(TokenSlot& slot, bool keeps);
  /// Makes room: forgets what was left longest ago. \returns false: nothing is left
  bool forget_oldest();
  /// After the engine has lost its memory: forgets all that is left. Nobody generates.
  void forget_all();

 private:
  struct Source {
    TokenSlot* slot = nullptr;
    int32_t tokens = 0;
  };
  Source best_source(const Generation& generation) noexcept;
  TokenSlot& free_slot(const TokenSlot* not_this) noexcept;
  void clear(TokenSlot& slot);

  TokenEngine& engine_;
  std::vector<TokenSlot> slots_;
  uint64_t uses_ = 0;
};

}  // namespace atl::llamacpp
