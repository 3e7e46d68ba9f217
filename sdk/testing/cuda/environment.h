/// Variables of the environment, as the doubles read them. What is wrong with one ends the process.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace atl::cuda_double {

std::string variable(const char* name, const char* fallback = "");

[[noreturn]] void refuse(std::string_view name, std::string_view value);

std::vector<std::string> split(std::string_view text, char separator);

/// With a suffix KiB, MiB or GiB, or none. \param name  of the variable
uint64_t to_number(std::string_view name, std::string_view text);

/// The same of a variable; empty is the fallback.
uint64_t number(const char* name, const char* fallback);

/// The value of each device, by commas: where there are fewer, the last one goes on.
class PerDevice {
 public:
  PerDevice(const char* name, const char* fallback);
  const std::string& text(size_t device) const;
  uint64_t number(size_t device) const;

 private:
  const char* name_;
  std::vector<std::string> values_;
};

/// `TARGET:NTH:CODE` by commas.
struct FailureText {
  std::string target;
  uint64_t nth = 0;
  uint64_t code = 0;
};
std::vector<FailureText> failure_texts(const char* name);

}  // namespace atl::cuda_double
