#include "frontends/common/http/accept_item.h"

#include <algorithm>

#include "atoll/lib/blanks.h"
#include "frontends/common/http/header_name.h"

namespace atl::frontends::http {
namespace {

/// What stands before the next `mark`, which is taken away with it.
std::string_view take_until(char mark, std::string_view* rest) noexcept {
  const size_t end = rest->find(mark);
  const std::string_view taken = rest->substr(0, end);
  rest->remove_prefix(end == std::string_view::npos ? rest->size() : end + 1);
  return taken;
}

/// Thousandths of a qvalue ("0.5", "1"); 0 for what is none.
int thousandths(std::string_view text) noexcept {
  if (text.empty() || (text[0] != '0' && text[0] != '1')) return 0;
  int value = (text[0] - '0') * 1000;
  if (text.size() > 1 && text[1] != '.') return 0;
  int place = 100;
  for (size_t i = 2; i < text.size(); ++i, place /= 10) {
    if (text[i] < '0' || text[i] > '9') return 0;
    value += (text[i] - '0') * place;
  }
  return std::min(value, 1000);
}

}  // namespace

std::optional<std::string_view> AcceptItem::parameter(std::string_view wanted) const noexcept {
  std::string_view rest = parameters;
  while (!rest.empty()) {
    std::string_view value = take_until(';', &rest);
    if (!is_named(without_blanks(take_until('=', &value)), wanted)) continue;
    value = without_blanks(value);
    const bool is_quoted = value.size() >= 2 && value.front() == '"' && value.back() == '"';
    return is_quoted ? value.substr(1, value.size() - 2) : value;
  }
  return std::nullopt;
}

bool next_accept_item(std::string_view* rest, AcceptItem* item) noexcept {
  if (rest->empty()) return false;
  std::string_view text = take_until(',', rest);
  item->name = without_blanks(take_until(';', &text));
  item->parameters = text;
  item->weight = 1000;
  if (const auto q = item->parameter("q")) item->weight = thousandths(*q);
  return true;
}

}  // namespace atl::frontends::http
