#include "backends/python/process/worker.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <new>
#include <thread>
#include <utility>

#include "atoll/core/stop_executor.h"

namespace atl::python {
namespace {

/// What the kernel keeps of a worker's output that is read in one go, so that one that prints without end does not keep others waiting.
constexpr int kReadsAtATime = 16;

/// Listeners of workers that this thread is inside of. Of trivial type, so it does not keep the plugin mapped.
thread_local uint32_t reading_depth = 0;

LineReader::Write to_log(Log& log, const std::string& name) {
  return [&log, &name](std::string_view line) { log.info(name, ": ", line); };
}

}  // namespace

Worker::Worker(const WorkerContext& context, WorkerSpec spec, WorkerListener& listener)
    : context_(context),
      spec_(std::move(spec)),
      listener_(listener),
      memory_(std::make_shared<WorkerMemory>(spec_, static_cast<SlabTable::Sender&>(*this))),
      output_lines_(to_log(context.log, spec_.name)),
      error_lines_(to_log(context.log, spec_.name)) {}

Result<std::unique_ptr<Worker>> Worker::start(const WorkerContext& context, WorkerSpec spec,
                                              WorkerListener& listener) {
  std::unique_ptr<Worker> worker(new Worker(context, std::move(spec), listener));
  ATOLL_RETURN_IF_ERROR(worker->open());
  return worker;
}

Status Worker::open() {
  Result<SharedRegion> control = SharedRegion::create(cat("atoll-", spec_.name), sizeof(ControlRegion));
  if (!control.ok()) return std::move(control).status();
  control_ = std::move(control).value();
  auto* region = new (control_.data()) ControlRegion;
  work_ = std::make_unique<RingProducer>(region->work);
  side_ = std::make_unique<RingProducer>(region->side);
  out_ = std::make_unique<RingConsumer>(region->out);
  Result<SerialExecutorPtr> reader = context_.executors.create(spec_.name, {});
  if (!reader.ok()) return std::move(reader).status();
  Status started;
  context_.loop.call([&] { started = start_process(); });
  ATOLL_RETURN_IF_ERROR(std::move(started));
  reader_ = std::move(reader).value();
  reader_->post({[](void* self) { static_cast<Worker*>(self)->read(); }, this, nullptr});
  return {};
}

Status Worker::start_process() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return make_status(Code::kResourceExhausted, "no socket can be made: ", std::strerror(errno));
  }
  socket_ = FileDescriptor(ends[0]);
  const FileDescriptor theirs(ends[1]);
  Hello hello;
  hello.control_size_bytes = control_.size_bytes();
  if (!send_packet(&hello, sizeof hello, control_.descriptor())) {
    return make_status(Code::kResourceExhausted, "nothing can be sent to a worker: ", std::strerror(errno));
  }
  control_.close_descriptor();
  ProcessSpec process = spec_.process;
  process.control = theirs.get();
  Result<WorkerProcess> started = WorkerProcess::start(process);
  if (!started.ok()) return std::move(started).status();
  process_ = std::move(started).value();
  pid_ = process_.pid();
  output_ = process_.take_output();
  errors_ = process_.take_errors();
  WorkerLoop& loop = context_.loop;
  loop.watch(process_.handle(), [this] { on_exit(); });
  loop.watch(output_.get(), [this] { read_output(output_, output_lines_); });
  loop.watch(errors_.get(), [this] { read_output(errors_, error_lines_); });
  loop.watch(socket_.get(), [this] { read_reply(); });
  if (process_.may_fork_on()) check_processes();
  return {};
}

Worker::~Worker() {
  // Before the socket goes, which it uses.
  struct Close {
    WorkerMemory& memory;
    ~Close() { memory.slabs.close(); }
  } const close{*memory_};
  if (reader_ == nullptr) return;
  kill({});
  stop_executor(reader_);
  context_.loop.call([this] { *self_ = nullptr; });
}

// --- what is sent ---

bool Worker::send_packet(const void* packet, size_t size, int descriptor) noexcept {
  iovec part = {const_cast<void*>(packet), size};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (descriptor >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  }
  return ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT) == static_cast<ssize_t>(size);
}

bool Worker::send_slab(const SlabPacket& packet, int descriptor) noexcept {
  return send_packet(&packet, sizeof packet, descriptor);
}

bool Worker::send_work(const RingMessage& message) noexcept {
  std::lock_guard lock(send_mutex_);
  return work_->put(message);
}

void Worker::send_side(const RingMessage& message, const Block* sent_block) noexcept {
  std::lock_guard lock(send_mutex_);
  if (!pending_.empty() || !side_->put(message)) {
    pending_.emplace_back(message, sent_block);
  } else if (sent_block != nullptr) {
    memory_->blocks.give_back(sent_block, true);
  }
}

void Worker::send_pending() noexcept {
  std::lock_guard lock(send_mutex_);
  while (!pending_.empty() && side_->put(pending_.front().first)) {
    if (const Block* block = pending_.front().second; block != nullptr)
      memory_->blocks.give_back(block, true);
    pending_.pop_front();
  }
}

// --- the process, on the loop's thread ---

void Worker::read_reply() {
  HelloReply reply;
  const ssize_t size = ::recv(socket_.get(), &reply, sizeof reply, MSG_DONTWAIT);
  if (size < 0 && errno == EAGAIN) return;
  if (size <= 0) {
    // It ends, as a rule; one that has only closed its socket gets nothing more.
    context_.loop.unwatch(socket_.get());
    return;
  }
  const bool is_reply =
      size == sizeof reply && reply.magic == kProtocolMagic && reply.version == kProtocolVersion;
  if (is_reply && !std::exchange(replied_, true)) return;
  context_.loop.unwatch(socket_.get());
  kill("does not keep to the protocol: its reply is none");
}

void Worker::read_output(const FileDescriptor& from, LineReader& to) {
  char bytes[16 << 10];
  for (int i = 0; i < kReadsAtATime; ++i) {
    const ssize_t size = ::read(from.get(), bytes, sizeof bytes);
    if (size < 0 && errno == EAGAIN) return;
    if (size <= 0) return context_.loop.unwatch(from.get());
    to.add({bytes, static_cast<size_t>(size)}, context_.clock.now_ns());
  }
}

void Worker::on_exit() {
  WorkerLoop& loop = context_.loop;
  loop.cancel(processes_timer_);
  const int handle = process_.handle();
  read_output(output_, output_lines_);
  read_output(errors_, error_lines_);
  const int64_t now_ns = context_.clock.now_ns();
  output_lines_.finish(now_ns);
  error_lines_.finish(now_ns);
  for (int descriptor : {handle, output_.get(), errors_.get(), socket_.get()}) loop.unwatch(descriptor);
  const std::optional<ProcessEnd> end = process_.reap();
  {
    std::lock_guard lock(end_mutex_);
    end_ = cat("worker '", spec_.name, "' (process ", pid_.load(), ") ",
               reason_.empty() ? end_text(end.value_or(ProcessEnd{})) : reason_);
  }
  out_->close();
}

/// Where the system does not bound them.
void Worker::check_processes() {
  constexpr int64_t kPauseNs = 100 * kNsPerMs;
  const uint64_t tasks = tasks_of_group(process_.pid()), most = spec_.process.limits.processes;
  if (tasks > most) {
    // At once: every moment there are more.
    process_.signal_group(SIGKILL);
    return kill(cat("is killed because it has ", tasks, " processes and threads, more than ", most));
  }
  processes_timer_ = context_.loop.at(context_.clock.now_ns() + kPauseNs, [this] { check_processes(); });
}

/// With the last line of what it had to say, which is that of the traceback if it has ended by an exception.
std::string Worker::end_text(const ProcessEnd& end) const {
  const auto& lines = error_lines_.last_lines();
  if (end.signal != 0 || end.status == 0 || lines.empty()) return end.text();
  return cat(end.text(), ": ", lines.back());
}

void Worker::kill(std::string reason) noexcept {
  {
    std::lock_guard lock(end_mutex_);
    if (reason_.empty()) reason_ = std::move(reason);
  }
  context_.loop.post([self = self_] {
    if (*self != nullptr) (*self)->process_.signal_group(SIGKILL);
  });
}

bool Worker::has_left() const noexcept {
  pollfd socket = {.fd = socket_.get(), .events = 0, .revents = 0};
  return ::poll(&socket, 1, 0) == 1 && (socket.revents & (POLLHUP | POLLERR)) != 0;
}

// --- what comes, on the reader's thread ---

bool Worker::look() noexcept {
  RingHeader& header = reinterpret_cast<ControlRegion*>(control_.data())->out.header;
  const bool is_empty = std::atomic_ref(header.tail).load() == std::atomic_ref(header.head).load();
  if (!is_empty) wake_futex(&header.tail);
  return is_empty;
}

bool payload_of(const WorkerMemory& memory, const RingMessage& message, PayloadView& payload) noexcept {
  if (message.size_bytes == 0 || message.offset % kBlockAlignment != 0 ||
      message.offset < sizeof(BlockHeader))
    return false;
  const std::byte* data = memory.slabs.find(message.slab, message.offset, message.size_bytes);
  if (data == nullptr) return false;
  payload = PayloadView(data, message.size_bytes);
  return true;
}

void release_payload(const WorkerMemory& memory, const RingMessage& message) noexcept {
  PayloadView payload;
  if (!payload_of(memory, message, payload)) return;
  auto* header = reinterpret_cast<BlockHeader*>(
      memory.slabs.find(message.slab, message.offset - sizeof(BlockHeader), sizeof(BlockHeader)));
  std::atomic_ref(header->held).store(0, std::memory_order_seq_cst);
  if (std::atomic_ref(header->waiting).load(std::memory_order_seq_cst) != 0) wake_futex(&header->held);
}

bool Worker::is_reading() noexcept { return reading_depth != 0; }

/// Everything that is there. \returns kEmpty, or kBroken
RingConsumer::State Worker::take_all() noexcept {
  std::lock_guard lock(read_mutex_);
  ++reading_depth;
  RingMessage message;
  RingConsumer::State state = out_->take(message);
  for (; state == RingConsumer::State::kMessage; state = out_->take(message)) {
    if (is_broken_) continue;
    Status status = handle(message);
    if (status.ok()) continue;
    is_broken_ = true;
    kill(cat("does not keep to the protocol: ", status.message()));
  }
  if (state == RingConsumer::State::kBroken && !std::exchange(is_broken_, true)) {
    kill("does not keep to the protocol: its ring is broken");
  }
  --reading_depth;
  return state;
}

void Worker::read() noexcept {
  while (true) {
    const RingConsumer::State state = take_all();
    if (out_->is_closed()) break;
    if (state == RingConsumer::State::kEmpty) {
      out_->wait();
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));  // wait() would not
    }
  }
  (void)take_all();  // what came before it was closed
  std::string end;
  {
    std::lock_guard lock(end_mutex_);
    end = end_;
  }
  std::lock_guard lock(read_mutex_);
  ++reading_depth;
  listener_.on_end(end);
  --reading_depth;
}

Status Worker::handle(const RingMessage& message) noexcept {
  switch (message.type) {
    case MessageType::kSlabWanted:
      give_slab(message.value);
      return {};
    case MessageType::kNudge:
      send_pending();
      return {};
    default:
      return listener_.on_message(message);
  }
}

void Worker::give_slab(uint64_t size_bytes) noexcept {
  constexpr uint64_t kPage = 4096;
  if (size_bytes != 0 && size_bytes < UINT64_MAX / 2) {
    const Result<SlabTable::Slab> slab =
        memory_->slabs.add(SlabOwner::kWorker, (size_bytes + kPage - 1) / kPage * kPage);
    if (slab.ok()) return;
    context_.log.warning(spec_.name, ": ", slab.status().text());
  }
  SlabPacket none;
  none.owner = SlabOwner::kWorker;
  (void)send_slab(none, -1);
}

}  // namespace atl::python
