#include "kernel/registry/service_registry.h"

namespace atl::kernel {

OwnerId ServiceRegistry::add_owner(std::string name, std::map<std::string, std::string> bindings,
                                   std::set<std::string> needs) {
  std::lock_guard lock(mutex_);
  OwnerId id = next_owner_++;
  owners_[id] = Owner{std::move(name), std::move(bindings), std::move(needs), next_ != nullptr};
  return id;
}

std::vector<Holding> ServiceRegistry::remove_owner(OwnerId owner) {
  std::map<std::pair<OwnerId, std::string>, Holding> left;
  bool idle = false;
  {
    std::lock_guard lock(mutex_);
    for (auto lease = leases_.begin(); lease != leases_.end();) {
      auto current = lease++;
      if (current->second.holder != owner) continue;
      OwnerId provider = current->second.provider;
      const std::string& id = current->second.interface_id;
      Holding& holding = left[{provider, id}];
      holding = {owner, owners_[provider].name, id, holding.count + 1};
      idle |= give_back(current);
    }
    std::erase_if(serving_, [&](const auto& entry) { return entry.second.owner == owner; });
    if (next_) std::erase_if(*next_, [&](const auto& entry) { return entry.second.owner == owner; });
    owners_.erase(owner);
  }
  if (idle) on_idle_();
  std::vector<Holding> all;
  for (auto& [key, holding] : left) all.push_back(std::move(holding));
  return all;
}

void ServiceRegistry::publish(const Publication& publication) {
  std::lock_guard lock(mutex_);
  Table& table = owners_[publication.owner].sees_next && next_ ? *next_ : serving_;
  table[{publication.info.interface_id, publication.info.instance}] = publication;
}

std::vector<ServiceChange> ServiceRegistry::withdraw(OwnerId owner) {
  std::vector<ServiceChange> changes;
  std::lock_guard lock(mutex_);
  std::erase_if(serving_, [&](const auto& entry) {
    if (entry.second.owner != owner) return false;
    changes.push_back({ServiceChange::Kind::kWithdrawn, entry.first.first, entry.first.second});
    return true;
  });
  if (auto found = owners_.find(owner); found != owners_.end()) found->second.withdrawn = true;
  return changes;
}

void ServiceRegistry::open_next(const std::set<OwnerId>& leaving) {
  std::lock_guard lock(mutex_);
  next_ = std::make_unique<Table>(serving_);
  std::erase_if(*next_, [&](const auto& entry) { return leaving.contains(entry.second.owner); });
}

std::vector<ServiceChange> ServiceRegistry::commit_next() {
  std::vector<ServiceChange> changes;
  std::lock_guard lock(mutex_);
  for (const auto& [key, publication] : *next_) {
    auto old = serving_.find(key);
    if (old == serving_.end()) {
      changes.push_back({ServiceChange::Kind::kPublished, key.first, key.second});
    } else if (old->second.owner != publication.owner) {
      changes.push_back({ServiceChange::Kind::kReplaced, key.first, key.second});
    }
  }
  std::set<OwnerId> staying;
  for (const auto& [key, publication] : *next_) staying.insert(publication.owner);
  for (const auto& [key, publication] : serving_) {
    if (!next_->contains(key)) changes.push_back({ServiceChange::Kind::kWithdrawn, key.first, key.second});
    if (!staying.contains(publication.owner)) owners_[publication.owner].withdrawn = true;
  }
  serving_ = std::move(*next_);
  next_.reset();
  for (auto& [id, owner] : owners_) owner.sees_next = false;
  return changes;
}

void ServiceRegistry::abandon_next() {
  std::lock_guard lock(mutex_);
  next_.reset();
  for (auto& [id, owner] : owners_) {
    owner.withdrawn |= owner.sees_next;
    owner.sees_next = false;
  }
}

std::vector<Holding> ServiceRegistry::holders_of(OwnerId owner) const {
  std::map<std::pair<OwnerId, std::string>, Holding> found;
  std::lock_guard lock(mutex_);
  for (const auto& [token, lease] : leases_) {
    if (lease.provider != owner) continue;
    auto holder = owners_.find(lease.holder);
    std::string name = holder == owners_.end() ? "?" : holder->second.name;
    Holding& holding = found[{lease.holder, lease.interface_id}];
    holding = {lease.holder, name, lease.interface_id, holding.count + 1};
  }
  std::vector<Holding> all;
  for (auto& [key, holding] : found) all.push_back(std::move(holding));
  return all;
}

size_t ServiceRegistry::services() const {
  std::lock_guard lock(mutex_);
  return serving_.size();
}

size_t ServiceRegistry::leases() const {
  std::lock_guard lock(mutex_);
  return leases_.size();
}

Status ServiceRegistry::none_found(const Table& table, std::string_view interface_id,
                                   std::string_view instance) const {
  std::string names;
  for (const auto& [key, publication] : table) {
    if (key.first == interface_id) names += cat(names.empty() ? "" : ", ", key.second);
  }
  if (instance.empty()) return not_found("no instance provides ", interface_id);
  for (const auto& [id, owner] : owners_) {
    if (owner.withdrawn && owner.name == instance) {
      return unavailable("plugin '", instance, "', asked for ", interface_id,
                         ", was withdrawn when this was tried");
    }
  }
  if (names.empty())
    return not_found("no instance provides ", interface_id, ", asked for from '", instance, "'");
  return not_found("plugin '", instance, "' does not provide ", interface_id, "; those that do: ", names);
}

Result<const Publication*> ServiceRegistry::choose(const Owner& owner, std::string_view interface_id,
                                                   std::string_view instance) const {
  const Table& table = table_for(owner);
  std::string name(instance);
  if (name.empty()) {
    auto bound = owner.bindings.find(std::string(interface_id));
    if (bound != owner.bindings.end()) name = bound->second;
  }
  if (!name.empty()) {
    auto found = table.find({std::string(interface_id), name});
    if (found == table.end()) return none_found(table, interface_id, name);
    return &found->second;
  }
  const Publication* best = nullptr;
  const Publication* tied = nullptr;
  for (auto entry = table.lower_bound({std::string(interface_id), ""});
       entry != table.end() && entry->first.first == interface_id; ++entry) {
    const Publication& candidate = entry->second;
    if (best == nullptr || candidate.info.rank > best->info.rank) {
      best = &candidate;
      tied = nullptr;
    } else if (candidate.info.rank == best->info.rank) {
      tied = &candidate;
    }
  }
  if (best == nullptr) return none_found(table, interface_id, {});
  if (tied != nullptr) {
    return make_status(Code::kFailedPrecondition, interface_id, ": '", best->info.instance, "' and '",
                       tied->info.instance, "' provide it with the same rank ", best->info.rank,
                       "; name one");
  }
  return best;
}

Result<ServiceLease> ServiceRegistry::acquire(OwnerId holder, std::string_view interface_id,
                                              std::string_view instance) {
  std::lock_guard lock(mutex_);
  auto owner = owners_.find(holder);
  if (owner == owners_.end()) return internal_error("the asking instance is not in the registry");
  if (!owner->second.needs.contains(std::string(interface_id))) {
    return make_status(Code::kFailedPrecondition, "plugin '", owner->second.name, "': ", interface_id,
                       " is not among the needs of its descriptor");
  }
  Result<const Publication*> chosen = choose(owner->second, interface_id, instance);
  if (!chosen.ok()) return std::move(chosen).status();
  const Publication& publication = *chosen.value();
  uint64_t token = next_token_++;
  leases_.emplace(token, Lease{holder, publication.owner, std::string(interface_id)});
  ++owners_[publication.owner].held;
  return ServiceLease{publication.implementation, token, publication.info.minor};
}

bool ServiceRegistry::give_back(std::map<uint64_t, Lease>::iterator lease) {
  auto provider = owners_.find(lease->second.provider);
  leases_.erase(lease);
  return provider != owners_.end() && --provider->second.held == 0 && provider->second.withdrawn;
}

void ServiceRegistry::release(uint64_t token) {
  bool idle = false;
  {
    std::lock_guard lock(mutex_);
    auto lease = leases_.find(token);
    if (lease == leases_.end()) return;
    idle = give_back(lease);
  }
  if (idle) on_idle_();
}

std::vector<ServiceInfo> ServiceRegistry::list(OwnerId viewer, std::string_view interface_id) const {
  std::vector<ServiceInfo> found;
  std::lock_guard lock(mutex_);
  auto owner = owners_.find(viewer);
  const Table& table = owner == owners_.end() ? serving_ : table_for(owner->second);
  for (auto entry = table.lower_bound({std::string(interface_id), ""});
       entry != table.end() && entry->first.first == interface_id; ++entry) {
    found.push_back(entry->second.info);
  }
  return found;
}

std::string holdings_text(const std::vector<Holding>& holdings) {
  std::string text;
  for (const Holding& holding : holdings) {
    text += cat(text.empty() ? "" : ", ", holding.holder_name, " (");
    if (holding.count > 1) text += cat(holding.count, " x ");
    text += cat(holding.interface_id, ")");
  }
  return text;
}

}  // namespace atl::kernel
