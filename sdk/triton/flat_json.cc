#include "server_manifest.h"

namespace atl::triton {
namespace {

/// Reads from the front of the text.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  bool take(char wanted) {
    skip_spaces();
    if (!rest_.starts_with(wanted)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool at_end() {
    skip_spaces();
    return rest_.empty();
  }
  /// A text in quotes. False: there is none.
  bool take_text(std::string* text) {
    if (!take('"')) return false;
    for (; !rest_.empty() && rest_[0] != '"'; rest_.remove_prefix(1)) {
      // Of what is escaped only characters that stand for themselves.
      if (rest_[0] == '\\') {
        rest_.remove_prefix(1);
        if (rest_.empty() || std::string_view("\"\\/").find(rest_[0]) == std::string_view::npos) return false;
      }
      *text += rest_[0];
    }
    return take('"');
  }
  /// A text, a number, true or false.
  bool take_value(std::string* value) {
    skip_spaces();
    if (rest_.starts_with('"')) return take_text(value);
    *value = rest_.substr(0, rest_.find_first_of(",} \t\r\n"));
    rest_.remove_prefix(value->size());
    return !value->empty() && value->find_first_of("{[]\":") == std::string::npos;
  }

 private:
  void skip_spaces() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size())); }
  std::string_view rest_;
};

}  // namespace

Result<std::map<std::string, std::string>> read_flat_json(std::string_view json) {
  Scanner scanner(json);
  std::map<std::string, std::string> members;
  bool good = scanner.take('{');
  if (good && !scanner.take('}')) {
    do {
      std::string name, value;
      good = scanner.take_text(&name) && scanner.take(':') && scanner.take_value(&value);
      members[std::move(name)] = std::move(value);
    } while (good && scanner.take(','));
    good = good && scanner.take('}');
  }
  if (good && scanner.at_end()) return members;
  return invalid_argument("found '", json, "', expected a JSON object of texts and numbers");
}

}  // namespace atl::triton
