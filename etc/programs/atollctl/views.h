/// Answers of the server, as people and scripts see them.
#pragma once

#include <nlohmann/json.hpp>
#include <ostream>

#include "table.h"

namespace atl::ctl {

// Each prints one answer. What an answer does not have is left empty: a server may be older or newer than this program.

void print_pools(std::ostream& out, const nlohmann::json& answer, Format format);
/// A pool with its instances and how full they are.
void print_pool(std::ostream& out, const nlohmann::json& pool, Format format);
void print_leases(std::ostream& out, const nlohmann::json& answer, Format format);
void print_lease(std::ostream& out, const nlohmann::json& lease, Format format);
void print_plan(std::ostream& out, const nlohmann::json& plan, Format format);
void print_names(std::ostream& out, const nlohmann::json& answer, Format format);
/// The repository's index.
void print_models(std::ostream& out, const nlohmann::json& index, Format format);

/// One line of a lease on its way: "DEPLOYING on i0: a READY, b LOADING".
std::string progress_line(const nlohmann::json& lease);

}  // namespace atl::ctl
