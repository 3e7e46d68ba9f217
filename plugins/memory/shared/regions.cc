#include "memory/shared/regions.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace atl::memory {
namespace {

Status taken(std::string_view name) {
  return make_status(Code::kAlreadyExists, "shared memory region '", name, "' already in manager");
}

Status invalid_args(std::string_view name) {
  return invalid_argument("failed to register shared memory region '", name, "': invalid args");
}

/// Of what a client knows by its texts: a handle that is none, without the region's name, and too few bytes.
Status open_failure(std::string_view name, const Status& failure) {
  if (failure.code() == Code::kInvalidArgument) {
    return invalid_argument("failed to register shared memory region: invalid args");
  }
  if (failure.code() == Code::kOutOfRange) return invalid_args(name);
  return make_status(failure.code(), "failed to register CUDA shared memory region '", name,
                     "': ", failure.message());
}

std::string_view kind_name(RegionKind kind) noexcept {
  return kind == RegionKind::kSystem ? "system" : "cuda";
}

/// Lies the part within the region? The texts are the protocol's.
Status check_part(const SharedMemoryRegion& region, uint64_t offset, uint64_t byte_size) {
  if (offset >= region.byte_size) {
    return invalid_argument("Invalid offset for shared memory region: '", region.name, "'");
  }
  uint64_t end = 0;
  if (__builtin_add_overflow(offset, byte_size, &end)) {
    return invalid_argument("Integer overflow detected: byte_size (", byte_size, ") + offset (", offset,
                            ") exceeds maximum value (", std::numeric_limits<uint64_t>::max(),
                            ") for region '", region.name, "'");
  }
  if (end > region.byte_size) {
    return invalid_argument("Invalid offset + byte size for shared memory region: '", region.name, "'");
  }
  return {};
}

/// Nobody has a device for a region: there are none, or the one that was meant is lost.
Status no_devices(std::string_view name, const Followed<Memory>::Hold& devices, int64_t device_id) {
  if (devices && devices.minor() >= Memory::kUsageMinor) {
    auto usage = devices->device_usage(device_id);
    if (usage.status().code() == Code::kUnavailable) return open_failure(name, usage.status());
  }
  return invalid_argument("failed to register CUDA shared memory region: '", name, "', GPUs not supported");
}

Status reserve(const RegionUsage& usage, std::string_view name, uint64_t mapped_bytes,
               UsageShare* share) noexcept {
  if (!share->add_region()) {
    return make_status(Code::kResourceExhausted, "cannot register shared memory region '", name,
                       "': the limit of ", usage.max_regions(), " regions is reached");
  }
  if (!share->add_bytes(mapped_bytes)) {
    return make_status(Code::kResourceExhausted, "cannot register shared memory region '", name,
                       "': ", mapped_bytes, " bytes asked for, ", usage.bytes(), " bytes of the limit of ",
                       usage.max_bytes(), " bytes are mapped");
  }
  return {};
}

}  // namespace

Status Region::check() const noexcept {
  if (about_.kind == RegionKind::kCuda) {
    Status status = device_mapping_.check();
    if (status.ok()) return status;
    return make_status(status.code(), "shared memory region '", about_.name, "': ", status.message());
  }
  if (!broken()) return {};
  return invalid_argument("shared memory region '", about_.name,
                          "' has lost memory since it was registered: its object is smaller than ",
                          about_.offset, " + ", about_.byte_size, " bytes");
}

Regions::Regions(RegionSettings settings, Clock& clock, const DeviceMemory* devices) noexcept
    : allow_client_shm_(settings.allow_client_shm),
      idle_timeout_ns_(settings.idle_timeout_ns),
      allowed_owners_(std::move(settings.allowed_owners)),
      clock_(clock),
      devices_(devices),
      usage_(settings.max_regions, settings.mapped_bytes_max()) {}

void Regions::follow(const RegionSettings& settings) noexcept {
  usage_.limit(settings.max_regions, settings.mapped_bytes_max());
  {
    std::scoped_lock lock(mutex_);
    allowed_owners_ = settings.allowed_owners;
  }
  // Without an idle time nobody notes when a region is used.
  if (!idles_end()) {
    for (const RegionRef& region : all()) region->touch(clock_.now_ns());
  }
  idle_timeout_ns_.store(settings.idle_timeout_ns, std::memory_order_relaxed);
}

Regions::RegionRef Regions::find(std::string_view owner, std::string_view name) const noexcept {
  return RegionRef(table_.acquire(owner, name), Release{&table_});
}

std::vector<Regions::RegionRef> Regions::all() const noexcept {
  std::vector<RegionRef> regions;
  for (Region* region : table_.all()) regions.emplace_back(region, Release{&table_});
  return regions;
}

Status Regions::check_registration(std::string_view name) const noexcept {
  if (!allow_client_shm_) {
    return unimplemented(
        "Client shared memory is disabled. Start the server with '--allow-client-shm=true' to enable.");
  }
  if (name.size() > kMaxNameBytes) {
    return invalid_argument("cannot register shared memory region '", shown(name), "': its name has ",
                            name.size(), " bytes, expected at most ", kMaxNameBytes);
  }
  return {};
}

Status Regions::check_object_owner(std::string_view name, std::string_view key, uid_t owner) const noexcept {
  std::scoped_lock lock(mutex_);
  const auto& allowed = allowed_owners_;
  if (allowed.empty() || std::find(allowed.begin(), allowed.end(), owner) != allowed.end()) return {};
  return make_status(Code::kPermissionDenied, "cannot register shared memory region '", name,
                     "': the object with key '", key, "' belongs to user ", owner,
                     ", expected a user of the server's allowed_owners");
}

Status Regions::register_system_for(std::string_view owner, std::string_view name, std::string_view key,
                                    uint64_t offset, uint64_t byte_size) noexcept {
  ATOLL_RETURN_IF_ERROR(check_registration(name));
  std::string object_name;
  ATOLL_RETURN_IF_ERROR(PosixObject::check_key(name, key, &object_name));
  if (RegionRef present = find(owner, name); present != nullptr && present->registered()) return taken(name);
  Result<PosixObject> object = PosixObject::open(object_name, shown(key));
  if (!object.ok()) return std::move(object).status();
  ATOLL_RETURN_IF_ERROR(check_object_owner(name, shown(key), object->owner()));
  const uint64_t size_bytes = object->size_bytes();
  if (byte_size == 0 || offset > size_bytes || byte_size > size_bytes - offset) return invalid_args(name);
  UsageShare share(usage_);
  ATOLL_RETURN_IF_ERROR(reserve(usage_, name, Mapping::mapped_bytes(offset, byte_size), &share));
  Result<Mapping> mapping = object->map(name, offset, byte_size);
  if (!mapping.ok()) return std::move(mapping).status();
  SharedMemoryRegion about{.name = std::string(name),
                           .kind = RegionKind::kSystem,
                           .key = std::string(key),
                           .offset = offset,
                           .byte_size = byte_size};
  return insert(std::make_unique<Region>(std::move(about), std::string(owner), std::move(share),
                                         std::move(mapping).value(), clock_.now_ns()));
}

Status Regions::insert(std::unique_ptr<Region> region) noexcept {
  if (!table_.insert(region.get())) return taken(region->about().name);
  (void)region.release();  // the table's now
  return {};
}

Status Regions::register_cuda_for(std::string_view owner, std::string_view name,
                                  std::span<const std::byte> raw_handle, int64_t device_id,
                                  uint64_t byte_size) noexcept {
  ATOLL_RETURN_IF_ERROR(check_registration(name));
  Followed<Memory>::Hold devices;
  if (devices_ != nullptr) devices = devices_->hold();
  if (!devices || devices->devices().empty()) return no_devices(name, devices, device_id);
  if (RegionRef present = find(owner, name); present != nullptr && present->registered()) return taken(name);
  if (byte_size == 0) return invalid_args(name);
  UsageShare share(usage_);
  ATOLL_RETURN_IF_ERROR(reserve(usage_, name, byte_size, &share));
  Result<Buffer> buffer = devices->open_handle(raw_handle, device_id, byte_size);
  if (!buffer.ok()) return open_failure(name, buffer.status());
  SharedMemoryRegion about{.name = std::string(name),
                           .kind = RegionKind::kCuda,
                           .key = {},
                           .byte_size = byte_size,
                           .device_id = device_id};
  DeviceMapping mapping(std::move(devices), buffer.value());
  ATOLL_RETURN_IF_ERROR(insert(std::make_unique<Region>(
      std::move(about), std::string(owner), std::move(share), std::move(mapping), clock_.now_ns())));
  // Registered while its provider was going, which nobody would say to it.
  if (RegionRef region = find(owner, name); region != nullptr && region->is_outdated())
    table_.remove(owner, name);
  return {};
}

Status Regions::unregister_for(std::string_view owner, RegionKind kind, std::string_view name) noexcept {
  if (!allow_client_shm_) return check_registration(name);
  if (name.empty()) {
    table_.remove_all(
        [&](const Region& region) { return region.about().kind == kind && region.owner() == owner; });
  } else {
    table_.remove(owner, name, kind);
  }
  return {};
}

Result<std::vector<SharedMemoryRegion>> Regions::status_for(std::string_view owner, RegionKind kind,
                                                            std::string_view name) const noexcept {
  std::vector<SharedMemoryRegion> found;
  if (name.empty()) {
    for (const RegionRef& region : all()) {
      if (region->about().kind == kind && region->owner() == owner) found.push_back(region->about());
    }
    return found;
  }
  RegionRef region = find(owner, name);
  if (region == nullptr) {
    return not_found("Unable to find ", kind_name(kind), " shared memory region: '", shown(name), "'");
  }
  if (region->about().kind != kind) {
    const bool is_system = region->about().kind == RegionKind::kSystem;
    return not_found("The region named '", name, "' is registered as ", is_system ? "system" : "CUDA",
                     " shared memory, not ", is_system ? "CUDA" : "system", " shared memory");
  }
  found.push_back(region->about());
  return found;
}

Result<RegionLease> Regions::acquire_for(std::string_view owner, std::string_view name, uint64_t offset,
                                         uint64_t byte_size) noexcept {
  RegionRef region = find(owner, name);
  if (region == nullptr) return not_found("Unable to find shared memory region: '", shown(name), "'");
  ATOLL_RETURN_IF_ERROR(check_part(region->about(), offset, byte_size));
  ATOLL_RETURN_IF_ERROR(region->check());
  if (idles_end()) region->touch(clock_.now_ns());
  RegionLease lease;
  lease.buffer = region->buffer();
  lease.buffer.data = static_cast<std::byte*>(lease.buffer.data) + offset;
  lease.buffer.size_bytes = byte_size;
  lease.token = region.release();
  return lease;
}

Status Regions::check(const RegionLease& lease) const noexcept {
  return static_cast<const Region*>(lease.token)->check();
}

void Regions::release(const RegionLease& lease) noexcept {
  auto* region = static_cast<Region*>(lease.token);
  if (idles_end()) region->touch(clock_.now_ns());
  table_.release(region);
}

void Regions::collect(MetricSink& sink) const noexcept {
  sink.family("atoll_shared_memory_regions", "Shared memory regions that are registered or still in use.",
              MetricKind::kGauge);
  sink.sample({}, static_cast<double>(usage_.regions()));
  sink.family("atoll_shared_memory_bytes", "Bytes of the clients' shared memory that are mapped.",
              MetricKind::kGauge);
  sink.sample({}, static_cast<double>(usage_.bytes()));
}

std::optional<int64_t> Regions::sweep(std::vector<std::string>* removed) noexcept {
  const int64_t timeout_ns = idle_timeout_ns_.load(std::memory_order_relaxed);
  if (timeout_ns == 0) return std::nullopt;
  const int64_t now_ns = clock_.now_ns();
  const int64_t since_ns = now_ns - timeout_ns;
  int64_t next_ns = now_ns + timeout_ns;
  for (const RegionRef& region : all()) {
    if (table_.remove_unused(region.get(), since_ns)) {
      removed->push_back(region->about().name);
    } else if (region->last_used_ns() > since_ns) {
      next_ns = std::min(next_ns, region->last_used_ns() + timeout_ns);
    }
  }
  return next_ns;
}

void Regions::unregister_outdated(std::vector<std::string>* removed) noexcept {
  table_.remove_all([removed](const Region& region) {
    if (!region.is_outdated()) return false;
    removed->push_back(region.about().name);
    return true;
  });
}

uint64_t Regions::in_use() const noexcept {
  uint64_t unused = 0;
  for (const RegionRef& region : all()) {
    const uint32_t without_users = region->registered() ? 2 : 1;  // the table's reference, and this one
    if (region->references() <= without_users) ++unused;
  }
  const uint64_t mapped = usage_.regions();
  return mapped > unused ? mapped - unused : 0;
}

}  // namespace atl::memory
