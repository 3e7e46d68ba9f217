/// What a worker process gets to see of the server's environment.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace atl::python {

/// Whether a variable is passed on: what programs and numeric libraries need to find their files and threads. Secrets are
/// usually in none of these. \param more  names that are passed on beside them; one that ends in '*' is a prefix
bool is_passed_on(std::string_view name, std::span<const std::string> more);

/// "NAME=value" for each variable that is passed on, and what workers are given beside: output that is not held back, and
/// no bytecode files in models' folders. \param environment  as `environ`, null at the end
std::vector<std::string> worker_environment(char* const* environment, std::span<const std::string> more);

/// Gives the variable another value, or a value at all. \param value  empty: it is removed
void set_variable(std::vector<std::string>& environment, std::string_view name, std::string_view value);

/// Its value; empty: there is none.
std::string variable(std::span<const std::string> environment, std::string_view name);

}  // namespace atl::python
