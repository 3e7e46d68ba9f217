/// The token that a program sends as a credential. It comes by a file or the environment: every user of the machine can see a
/// command line.
#pragma once

#include <algorithm>
#include <fstream>
#include <string>
#include <utility>

#include "atoll/core/status.h"

namespace atl::lib {

/// The first line of the file, or the environment's token if no file is named, without blanks at its end. Empty: no token is given.
/// Errors: INVALID_ARGUMENT the file cannot be read, its first line is empty, or the token has a character that no token can have.
/// \param file  the value of --token-file; may be empty
/// \param from_environment  the value of ATOLL_TOKEN; may be empty
inline Result<std::string> given_token(const std::string& file, std::string from_environment) {
  std::string token = std::move(from_environment);
  if (!file.empty()) {
    token.clear();
    std::ifstream from(file);
    std::getline(from, token);
    if (token.empty()) return invalid_argument("--token-file ", file, ": it cannot be read, or has no token");
  }
  while (!token.empty() && (token.back() == '\r' || token.back() == ' ' || token.back() == '\n'))
    token.pop_back();
  if (!std::ranges::all_of(token, [](unsigned char c) { return c > 0x20 && c < 0x7F; }))
    return invalid_argument("the token has characters that no token can have");
  return token;
}

}  // namespace atl::lib
