#include "backends/llamacpp/loop/generation_loop.h"

#include <algorithm>
#include <utility>

#include "atoll/core/stop_executor.h"
#include "atoll/core/utf8.h"
#include "backends/llamacpp/scheduling/step_plan.h"

namespace atl::llamacpp {
namespace {

/// A request that waits for the prefix that another one is computing saves at least so many tokens.
constexpr int32_t kWorthWaiting = 32;
/// Tokens of the memory that stay free when a request begins beside others, so that these have room to go on.
constexpr int32_t kSpare = 64;
/// Of those that wait, so many are looked at in a step.
constexpr size_t kLookedAt = 64;

/// Tokens may be any bytes; clients get UTF-8. A character is never cut here: the filter holds back what is not whole.
std::string well_formed(std::string text) {
  return is_utf8(text) ? std::move(text) : replace_invalid_utf8(text);
}

bool goes_before(const std::unique_ptr<Generation>& a, const std::unique_ptr<Generation>& b) {
  return a->options.priority != b->options.priority ? a->options.priority < b->options.priority
                                                    : a->order < b->order;
}

}  // namespace

GenerationLoop::GenerationLoop(TokenEngine& engine, const TokenVocabulary& vocabulary, const Clock& clock,
                               LoopSettings settings, LlamaCounts& counts)
    : engine_(engine),
      vocabulary_(vocabulary),
      clock_(clock),
      settings_(std::move(settings)),
      counts_(counts),
      slots_(engine),
      chunk_(settings_.inter_token_target_us, engine.step_tokens_max()) {
  counts_.memory_tokens += static_cast<uint64_t>(engine.memory_tokens());
}

GenerationLoop::~GenerationLoop() {
  stop_executor(executor_);
  const Status end =
      unavailable("the instance of model '", settings_.model, "' ended before the answer was complete");
  fail_running(end);
  take_submitted();
  for (auto& one : waiting_) one->fail(end.clone(), clock_.now_ns());
  waiting_.clear();
  slots_.forget_all();
  show_state();
  counts_.memory_tokens -= static_cast<uint64_t>(engine_.memory_tokens());
}

Status GenerationLoop::start(ExecutorFactory& executors, std::string_view name,
                             const ThreadPlacement& placement) {
  Result<SerialExecutorPtr> executor = executors.create(name, placement);
  if (!executor.ok()) return std::move(executor).status();
  executor_ = std::move(executor).value();
  return {};
}

Status GenerationLoop::submit(std::unique_ptr<Generation>& generation) noexcept {
  std::lock_guard lock(inbox_.mutex);
  if (inbox_.submitted.size() + inbox_.waiting >= settings_.queue_max) {
    return unavailable("model '", settings_.model, "': ", settings_.queue_max,
                       " requests wait already, which is its limit");
  }
  generation->order = ++inbox_.count;
  generation->arrived_ns = clock_.now_ns();
  inbox_.submitted.push_back(std::move(generation));
  if (!std::exchange(inbox_.is_posted, true)) executor_->post(make_task([this] { run(); }));
  return {};
}

void GenerationLoop::run() noexcept {
  take_submitted();
  drop_ended();
  admit();
  // A step that was refused for lack of room is planned anew with less.
  while (!compute()) make_room();
  show_state();
  if (has_work()) executor_->post(make_task([this] { run(); }));
}

bool GenerationLoop::has_work() {
  std::lock_guard lock(inbox_.mutex);
  inbox_.is_posted = !inbox_.submitted.empty() || !waiting_.empty() || slots_.running() != 0;
  return inbox_.is_posted;
}

void GenerationLoop::take_submitted() {
  std::vector<std::unique_ptr<Generation>> taken;
  {
    std::lock_guard lock(inbox_.mutex);
    taken.swap(inbox_.submitted);
    inbox_.waiting += taken.size();
  }
  for (auto& one : taken) {
    const auto place = std::upper_bound(waiting_.begin(), waiting_.end(), one, goes_before);
    waiting_.insert(place, std::move(one));
  }
}

void GenerationLoop::drop_ended() {
  const int64_t now_ns = clock_.now_ns();
  std::erase_if(waiting_, [&](std::unique_ptr<Generation>& one) {
    Status ended = one->port->ended(now_ns);
    if (ended.ok()) return false;
    one->fail(std::move(ended), now_ns);
    return true;
  });
  for (TokenSlot& slot : slots_.all()) {
    if (!slot.user) continue;
    Status ended = slot.user->port->ended(now_ns);
    if (ended.ok()) continue;
    slots_.end(slot, true)->fail(std::move(ended), now_ns);
  }
}

/// Whether its tokens have room beside those that run.
bool GenerationLoop::fits(const Generation& generation) const {
  if (slots_.running() == 0) return true;
  const int32_t needed = static_cast<int32_t>(generation.tokens.size()) - slots_.reusable(generation);
  return slots_.claimed_tokens() + needed + kSpare <= engine_.memory_tokens();
}

void GenerationLoop::admit() {
  size_t looked_at = 0;
  for (auto one = waiting_.begin(); one != waiting_.end() && looked_at < kLookedAt && slots_.has_free();
       ++looked_at) {
    // Another one is computing the same prefix: to wait for it is faster than to compute it, too.
    if (slots_.soon_reusable(**one) >= kWorthWaiting) {
      ++one;
      continue;
    }
    // Who comes next waits for room; if smaller ones went before it, it might wait for ever.
    if (!fits(**one)) break;
    std::unique_ptr<Generation> generation = std::move(*one);
    one = waiting_.erase(one);
    TokenSlot& slot = slots_.begin(std::move(generation));
    Generation& user = *slot.user;
    if (std::exchange(user.has_begun, true)) continue;
    user.cached_tokens = user.computed;
    user.sampler = std::make_unique<TokenSampler>(user.options, vocabulary_,
                                                  static_cast<uint64_t>(clock_.now_ns()) * 31 + user.order);
    user.sampler->note_prompt(user.tokens);
    user.text = std::make_unique<StopFilter>(user.options.stops, user.options.include_stop);
    user.port->computing(clock_.now_ns());
    counts_.prompt_tokens.fetch_add(user.tokens.size(), std::memory_order_relaxed);
    counts_.cached_prompt_tokens.fetch_add(static_cast<uint64_t>(user.computed), std::memory_order_relaxed);
  }
}

/// Fills step_ in.
std::vector<GenerationLoop::StepPart> GenerationLoop::plan() {
  std::vector<StepPart> parts;
  std::vector<StepNeed> needs;
  int32_t generating = 0;
  for (TokenSlot& slot : slots_.all()) {
    if (!slot.user) continue;
    const Generation& user = *slot.user;
    const bool generates = user.pending() == 1;
    generating += generates ? 1 : 0;
    parts.push_back({&slot, 0, 0});
    needs.push_back({user.pending(), generates, user.options.priority, user.order});
  }
  const std::vector<int32_t> given =
      plan_step(needs, {.tokens_max = engine_.step_tokens_max(), .prompt_tokens = chunk_.tokens(generating)});
  step_.clear();
  for (size_t i = 0; i < parts.size(); ++i) {
    const Generation& user = *parts[i].slot->user;
    parts[i].tokens = given[i];
    for (int32_t at = user.computed; at < user.computed + given[i]; ++at)
      step_.push_back({user.tokens[static_cast<size_t>(at)], at, parts[i].slot->sequence, false});
    if (given[i] == 0) continue;
    parts[i].last = step_.size() - 1;
    step_.back().wants_logits = given[i] == user.pending();
  }
  std::erase_if(parts, [](const StepPart& part) { return part.tokens == 0; });
  return parts;
}

/// \returns false: there was no room
bool GenerationLoop::compute() {
  const std::vector<StepPart> parts = plan();
  if (parts.empty()) return true;
  const int64_t start_ns = clock_.now_ns();
  const StepEnd end = engine_.decode(step_);
  if (end == StepEnd::kNoRoom) return false;
  if (end == StepEnd::kFailed) {
    fail_running(internal_error("model '", settings_.model, "': llama.cpp could not compute a step"));
    slots_.forget_all();
    return true;
  }
  for (const StepPart& part : parts) part.slot->user->computed += part.tokens;
  count_step(parts, clock_.now_ns() - start_ns);
  for (const StepPart& part : parts) {
    if (step_[part.last].wants_logits) advance(*part.slot, engine_.logits(part.last));
  }
  return true;
}

void GenerationLoop::make_room() {
  if (slots_.forget_oldest()) return;
  TokenSlot* last = nullptr;
  for (TokenSlot& slot : slots_.all()) {
    if (slot.user && (last == nullptr || goes_before(last->user, slot.user))) last = &slot;
  }
  if (slots_.running() > 1) return put_back(*last);
  auto generation = slots_.end(*last, false);
  generation->fail(
      make_status(Code::kResourceExhausted, "model '", settings_.model, "': the request has ",
                  generation->tokens.size(), " tokens, and its memory of ", engine_.memory_tokens(),
                  " tokens (parameter kv_cache_tokens) has no room for the next one"),
      clock_.now_ns());
}

void GenerationLoop::put_back(TokenSlot& slot) {
  auto generation = slots_.end(slot, false);
  counts_.preemptions.fetch_add(1, std::memory_order_relaxed);
  const auto place = std::upper_bound(waiting_.begin(), waiting_.end(), generation, goes_before);
  waiting_.insert(place, std::move(generation));
}

void GenerationLoop::count_step(std::span<const StepPart> parts, int64_t took_ns) {
  int32_t generating = 0, prompt_tokens = 0;
  for (const StepPart& part : parts) {
    if (part.tokens == 1) {
      ++generating;
    } else {
      prompt_tokens += part.tokens;
    }
  }
  chunk_.observe(generating, prompt_tokens, took_ns / kNsPerUs);
}

void GenerationLoop::count_token(Generation& generation, int64_t now_ns) {
  if (generation.last_token_ns == 0) {
    counts_.first_token.add(static_cast<double>(now_ns - generation.arrived_ns) /
                            static_cast<double>(kNsPerSecond));
  } else {
    counts_.between_tokens.add(static_cast<double>(now_ns - generation.last_token_ns) /
                               static_cast<double>(kNsPerSecond));
  }
  generation.last_token_ns = now_ns;
  counts_.generated_tokens.fetch_add(1, std::memory_order_relaxed);
}

/// Adds the token to the answer.
FinishReason GenerationLoop::take_token(Generation& generation, const ChosenToken& chosen) {
  const SamplingOptions& options = generation.options;
  const Token token = chosen.token;
  generation.tokens.push_back(token);
  ++generation.next.tokens;
  if (options.logprobs) generation.next.logprobs.push_back({token, chosen.logprob, chosen.top});
  const bool may_end = generation.generated() > options.min_tokens || options.min_tokens == 0;
  const bool is_stop =
      std::find(options.stop_tokens.begin(), options.stop_tokens.end(), token) != options.stop_tokens.end();
  if (is_stop || (vocabulary_.is_end(token) && !options.ignore_eos)) return FinishReason::kStop;
  const bool goes_on = !generation.grammar || generation.grammar->accept(token);
  generation.next.text +=
      well_formed(generation.text->add(vocabulary_.piece(token, !options.skip_special_tokens), may_end));
  if (generation.text->is_stopped() || !goes_on) return FinishReason::kStop;
  const bool is_full = generation.generated() >= options.max_tokens ||
                       static_cast<int32_t>(generation.tokens.size()) >= settings_.context_tokens;
  return is_full ? FinishReason::kLength : FinishReason::kNone;
}

void GenerationLoop::advance(TokenSlot& slot, std::span<const float> logits) {
  Generation& user = *slot.user;
  const ChosenToken chosen = user.sampler->choose(logits, scratch_, user.grammar.get());
  if (chosen.token < 0 && user.grammar) return finish(slot, FinishReason::kStop);
  if (chosen.token < 0) {
    auto generation = slots_.end(slot, false);
    return generation->fail(internal_error("model '", settings_.model,
                                           "': the model's output is no number, or no token may come"),
                            clock_.now_ns());
  }
  const int64_t now_ns = clock_.now_ns();
  const FinishReason reason = take_token(user, chosen);
  count_token(user, now_ns);
  if (reason != FinishReason::kNone) return finish(slot, reason);
  if (!user.port->streams() || user.next.text.empty()) return;
  user.next.cached_tokens = static_cast<uint32_t>(user.cached_tokens);
  user.port->send(std::exchange(user.next, {}), now_ns);
}

void GenerationLoop::finish(TokenSlot& slot, FinishReason reason) {
  auto generation = slots_.end(slot, true);
  AnswerPiece& last = generation->next;
  last.text += well_formed(generation->text->finish());
  last.finish = reason;
  last.cached_tokens = static_cast<uint32_t>(generation->cached_tokens);
  // Before the client knows of its end.
  show_state();
  generation->port->send(std::move(last), clock_.now_ns());
}

void GenerationLoop::fail_running(const Status& failure) {
  for (TokenSlot& slot : slots_.all()) {
    if (slot.user) slots_.end(slot, false)->fail(failure.clone(), clock_.now_ns());
  }
}

void GenerationLoop::show_state() {
  // Other instances of the model count in the same place. Unsigned differences wrap around as they should.
  const Shown now{static_cast<uint64_t>(slots_.running()), waiting_.size(),
                  static_cast<uint64_t>(slots_.held_tokens())};
  counts_.running += now.running - shown_.running;
  counts_.waiting += now.waiting - shown_.waiting;
  counts_.memory_tokens_used += now.memory_tokens - shown_.memory_tokens;
  shown_ = now;
  std::lock_guard lock(inbox_.mutex);
  inbox_.waiting = waiting_.size();
}

}  // namespace atl::llamacpp
