#include "frontends/openai/answer/token_logprobs.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "atoll/lib/checked_document.h"
#include "frontends/openai/answer/json_append.h"

namespace atl::frontends::openai {
namespace {

/// What JSON has in place of minus infinity, as other servers do.
constexpr double kLeastLogprob = -9999;

bool read_bytes(const CheckedValue& value, std::string* bytes) {
  if (!value.IsArray()) return value.IsNull();
  for (const CheckedValue& byte : value.GetArray()) {
    if (!byte.IsUint() || byte.GetUint() > 255) return false;
    *bytes += static_cast<char>(byte.GetUint());
  }
  return true;
}

bool read_chance(const CheckedValue& value, TokenChance* chance) {
  if (!value.IsObject()) return false;
  const auto token = value.FindMember("token"), logprob = value.FindMember("logprob"),
             bytes = value.FindMember("bytes");
  if (token == value.MemberEnd() || !token->value.IsString()) return false;
  chance->token.assign(token->value.GetString(), token->value.GetStringLength());
  chance->logprob = kLeastLogprob;
  if (logprob != value.MemberEnd() && logprob->value.IsNumber())
    chance->logprob = std::max(logprob->value.GetDouble(), kLeastLogprob);
  if (bytes == value.MemberEnd() || bytes->value.IsNull()) {
    chance->bytes = chance->token;
    return true;
  }
  return read_bytes(bytes->value, &chance->bytes);
}

void append_double(std::string& out, double value) {
  char digits[32];
  out.append(digits,
             std::to_chars(digits, digits + sizeof digits, std::isfinite(value) ? value : kLeastLogprob).ptr);
}

template <class Items, class Write>
void append_list(std::string& out, const Items& items, Write&& write) {
  out += '[';
  bool is_first = true;
  for (const auto& item : items) {
    if (!std::exchange(is_first, false)) out += ',';
    write(item);
  }
  out += ']';
}

/// The members of an object, without its end.
void append_chance(std::string& out, const TokenChance& chance) {
  out += "{\"token\":";
  append_json_text(out, chance.token);
  out += ",\"logprob\":";
  append_double(out, chance.logprob);
  out += ",\"bytes\":";
  append_list(out, chance.bytes, [&](char byte) {
    append_number(out, static_cast<unsigned>(static_cast<unsigned char>(byte)));
  });
}

uint64_t characters_in(std::string_view bytes) noexcept {
  return static_cast<uint64_t>(std::count_if(
      bytes.begin(), bytes.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0u) != 0x80u; }));
}

}  // namespace

Result<std::vector<TokenLogprob>> read_logprobs(std::string_view json) {
  CheckedDocument document;
  document.Parse<rapidjson::kParseIterativeFlag>(json.data(), json.size());
  const auto wrong = [] { return internal_error("the output 'logprobs' is no list of tokens"); };
  if (document.HasParseError() || !document.IsArray()) return wrong();
  std::vector<TokenLogprob> tokens;
  for (const CheckedValue& value : document.GetArray()) {
    TokenLogprob& token = tokens.emplace_back();
    if (!read_chance(value, &token.chosen)) return wrong();
    const auto top = value.FindMember("top");
    if (top == value.MemberEnd() || !top->value.IsArray()) continue;
    for (const CheckedValue& other : top->value.GetArray()) {
      if (!read_chance(other, &token.top.emplace_back())) return wrong();
    }
  }
  return tokens;
}

void TokenQueue::add(std::vector<TokenLogprob> tokens) {
  for (TokenLogprob& token : tokens) {
    const uint64_t begin = bytes_;
    bytes_ += token.chosen.bytes.size();
    token.text_offset = characters_;
    characters_ += characters_in(token.chosen.bytes);
    waiting_.push_back({std::move(token), begin, bytes_});
  }
}

std::vector<TokenLogprob> TokenQueue::take(uint64_t bytes) {
  std::vector<TokenLogprob> tokens;
  for (; !waiting_.empty() && waiting_.front().end <= bytes; waiting_.pop_front())
    tokens.push_back(std::move(waiting_.front().token));
  return tokens;
}

std::vector<TokenLogprob> TokenQueue::finish(uint64_t bytes) {
  std::vector<TokenLogprob> tokens;
  for (Waiting& one : waiting_) {
    if (one.begin < bytes) tokens.push_back(std::move(one.token));
  }
  waiting_.clear();
  return tokens;
}

void append_token_list(std::string& out, const std::vector<TokenLogprob>& tokens) {
  append_list(out, tokens, [&](const TokenLogprob& token) {
    append_chance(out, token.chosen);
    out += ",\"top_logprobs\":";
    append_list(out, token.top, [&](const TokenChance& other) {
      append_chance(out, other);
      out += '}';
    });
    out += '}';
  });
}

void append_chat_logprobs(std::string& out, const std::vector<TokenLogprob>& tokens) {
  out += "{\"content\":";
  append_token_list(out, tokens);
  out += ",\"refusal\":null}";
}

void append_completion_logprobs(std::string& out, const std::vector<TokenLogprob>& tokens) {
  out += "{\"tokens\":";
  append_list(out, tokens, [&](const TokenLogprob& token) { append_json_text(out, token.chosen.token); });
  out += ",\"token_logprobs\":";
  append_list(out, tokens, [&](const TokenLogprob& token) { append_double(out, token.chosen.logprob); });
  out += ",\"top_logprobs\":";
  append_list(out, tokens, [&](const TokenLogprob& token) {
    out += '{';
    std::vector<std::string_view> named;  // of several with one name the first counts
    for (const TokenChance& other : token.top) {
      if (std::find(named.begin(), named.end(), other.token) != named.end()) continue;
      if (!named.empty()) out += ',';
      named.push_back(other.token);
      append_json_text(out, other.token);
      out += ':';
      append_double(out, other.logprob);
    }
    out += '}';
  });
  out += ",\"text_offset\":";
  append_list(out, tokens, [&](const TokenLogprob& token) { append_number(out, token.text_offset); });
  out += '}';
}

}  // namespace atl::frontends::openai
