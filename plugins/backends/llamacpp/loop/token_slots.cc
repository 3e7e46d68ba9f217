#include "backends/llamacpp/loop/token_slots.h"

#include <algorithm>
#include <utility>

namespace atl::llamacpp {

int32_t common_prefix(std::span<const Token> a, std::span<const Token> b) noexcept {
  const auto [end, ignored] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  return static_cast<int32_t>(end - a.begin());
}

TokenSlots::TokenSlots(TokenEngine& engine) : engine_(engine) {
  slots_.resize(static_cast<size_t>(engine.sequences()));
  for (size_t i = 0; i < slots_.size(); ++i) slots_[i].sequence = static_cast<int32_t>(i);
}

bool TokenSlots::has_free() const noexcept {
  return std::any_of(slots_.begin(), slots_.end(), [](const TokenSlot& slot) { return !slot.user; });
}

int32_t TokenSlots::running() const noexcept {
  return static_cast<int32_t>(std::count_if(slots_.begin(), slots_.end(),
                                            [](const TokenSlot& slot) { return slot.user != nullptr; }));
}

int32_t TokenSlots::held_tokens() const noexcept {
  int32_t sum = 0;
  for (const TokenSlot& slot : slots_)
    sum += std::max(0, static_cast<int32_t>(slot.held().size()) - slot.shared);
  return sum;
}

int32_t TokenSlots::claimed_tokens() const noexcept {
  int32_t sum = 0;
  for (const TokenSlot& slot : slots_) {
    if (slot.user) sum += std::max(0, static_cast<int32_t>(slot.user->tokens.size()) - slot.shared);
  }
  return sum;
}

TokenSlots::Source TokenSlots::best_source(const Generation& generation) noexcept {
  Source best;
  if (!engine_.can_share()) return best;
  // The last token is computed in any case, for its logits.
  const auto most = static_cast<int32_t>(generation.tokens.size()) - 1;
  for (TokenSlot& slot : slots_) {
    if (slot.owner() != generation.scope) continue;
    const int32_t tokens = std::min(most, common_prefix(slot.held(), generation.tokens));
    // One that nobody uses is better than one that is: it needs no further slot.
    if (tokens > best.tokens || (tokens == best.tokens && tokens > 0 && best.slot->user && !slot.user))
      best = {&slot, tokens};
  }
  return best;
}

int32_t TokenSlots::reusable(const Generation& generation) const noexcept {
  return const_cast<TokenSlots*>(this)->best_source(generation).tokens;
}

int32_t TokenSlots::soon_reusable(const Generation& generation) const noexcept {
  if (!engine_.can_share()) return 0;
  const auto most = static_cast<int32_t>(generation.tokens.size()) - 1;
  int32_t best = 0;
  for (const TokenSlot& slot : slots_) {
    if (!slot.user || slot.user->pending() <= 1 || slot.user->scope != generation.scope) continue;
    best = std::max(best, std::min(most, common_prefix(slot.user->tokens, generation.tokens)));
  }
  return std::max(0, best - reusable(generation));
}

TokenSlot& TokenSlots::free_slot(const TokenSlot* not_this) noexcept {
  TokenSlot* best = nullptr;
  for (TokenSlot& slot : slots_) {
    if (slot.user || &slot == not_this) continue;
    if (best == nullptr || (!best->left.empty() && (slot.left.empty() || slot.last_use < best->last_use)))
      best = &slot;
  }
  return *best;
}

void TokenSlots::clear(TokenSlot& slot) {
  (void)engine_.forget(slot.sequence, 0);
  slot.left.clear();
  slot.shared = 0;
}

TokenSlot& TokenSlots::begin(std::unique_ptr<Generation> generation) {
  Source source = best_source(*generation);
  const auto free =
      std::count_if(slots_.begin(), slots_.end(), [](const TokenSlot& slot) { return !slot.user; });
  // What was left is used up where most of it fits, or where it is the last place; otherwise others may still want it.
  const bool in_place = source.slot != nullptr && !source.slot->user &&
                        (free == 1 || 2 * source.tokens >= static_cast<int32_t>(source.slot->left.size()));
  TokenSlot* slot = nullptr;
  if (in_place && engine_.forget(source.slot->sequence, source.tokens)) {
    slot = source.slot;
    slot->shared = std::min(slot->shared, source.tokens);
  } else {
    if (in_place) source = {};
    slot = &free_slot(source.slot);
    clear(*slot);
    if (source.tokens > 0) engine_.share(source.slot->sequence, slot->sequence, source.tokens);
    slot->shared = source.tokens;
  }
  generation->computed = source.tokens;
  slot->left.clear();
  slot->last_use = ++uses_;
  slot->user = std::move(generation);
  return *slot;
}

std::unique_ptr<Generation> TokenSlots::end(TokenSlot& slot, bool keeps) {
  std::unique_ptr<Generation> generation = std::move(slot.user);
  slot.last_use = ++uses_;
  if (keeps && engine_.can_share()) {
    slot.left.assign(generation->tokens.begin(), generation->tokens.begin() + generation->computed);
    slot.scope = generation->scope;
  } else {
    clear(slot);
  }
  generation->computed = 0;
  return generation;
}

bool TokenSlots::forget_oldest() {
  TokenSlot* oldest = nullptr;
  for (TokenSlot& slot : slots_) {
    if (slot.user || slot.left.empty()) continue;
    if (oldest == nullptr || slot.last_use < oldest->last_use) oldest = &slot;
  }
  if (oldest == nullptr) return false;
  clear(*oldest);
  return true;
}

void TokenSlots::forget_all() {
  for (TokenSlot& slot : slots_) clear(slot);
}

}  // namespace atl::llamacpp
