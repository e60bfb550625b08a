#include "ring/ring_writer.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>

#include "core/error.hpp"
#include "core/system/host.hpp"
#include "core/system/threads.hpp"

namespace nearfield::ring {
namespace {

/// Returns the number of woken threads.
long wake(std::uint32_t* word, int most) { return syscall(SYS_futex, word, FUTEX_WAKE, most, nullptr, nullptr, 0); }

}  // namespace

void wake_all(std::uint32_t* word) { wake(word, INT_MAX); }

Waker::Waker(std::uint32_t* word) : word_(word) {
  thread_ = std::thread([this] {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);  // signals are handled by other threads
    give_signal_stack();
    run();
  });
}

Waker::~Waker() {
  stop_ = true;
  call_thread();
  thread_.join();
}

void Waker::notify() {
  if (has_many()) {
    call_thread();
    return;
  }
  const long woken = wake(word_, kAtOnce + 1);
  if (woken > kAtOnce) {
    woken_.store(woken, std::memory_order_relaxed);
    call_thread();
  }
}

void Waker::call_thread() {
  calls_.fetch_add(1, std::memory_order_release);
  calls_.notify_one();
}

void Waker::run() {
  std::uint32_t seen = 0;
  while (!stop_) {
    calls_.wait(seen, std::memory_order_acquire);
    seen = calls_.load(std::memory_order_acquire);
    const long sleepers = woken_.exchange(0, std::memory_order_relaxed) + wake(word_, INT_MAX);
    many_.store(sleepers > kAtOnce, std::memory_order_relaxed);
  }
}

namespace {

constexpr std::uint32_t kFewestSlots = 4;
static_assert(std::atomic_ref<std::uint64_t>::is_always_lock_free);

[[noreturn]] void fail(const char* what) { throw IoError(fmt::format("ring: {}: {}", what, std::strerror(errno))); }

std::uint32_t slots_within(const RingOptions& options, std::size_t slot_bytes) {
  if (options.slots < kFewestSlots) {
    throw ConfigError(fmt::format("ring: expected at least {} slots, found {}", kFewestSlots, options.slots));
  }
  const std::size_t room = options.most_bytes / slot_bytes;
  return static_cast<std::uint32_t>(std::clamp<std::size_t>(room, kFewestSlots, options.slots));
}

/// Stores every shared word atomically, so that a reader that copies concurrently is no data race.
void store_words(std::uint64_t* to, const void* from, std::size_t bytes) {
  const auto* source = static_cast<const std::byte*>(from);
  for (std::size_t i = 0; i < bytes / sizeof(std::uint64_t); ++i) {
    std::uint64_t word = 0;
    std::memcpy(&word, source + i * sizeof word, sizeof word);
    std::atomic_ref(to[i]).store(word, std::memory_order_relaxed);
  }
}

}  // namespace

RingWriter::RingWriter(const ResultHeader& header, std::uint64_t epoch, const RingOptions& options)
    : encoder_(header, epoch, options.phase_reference, options.bit_rate_hz),
      slots_(slots_within(options, encoder_.slot_bytes())) {
  make_memory(encoder_.header_block(slots_, random_id()));
  waker_.emplace(&shared_header()->wake);
}

RingWriter::~RingWriter() {
  end();
  waker_.reset();
  munmap(map_, bytes_);
}

void RingWriter::make_memory(const std::vector<std::byte>& header_block) {
  header_bytes_ = header_block.size();
  bytes_ = header_bytes_ + slots_ * encoder_.slot_bytes();
  const FileDescriptor writable(memfd_create("nearfield-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!writable.valid() || ftruncate(writable.get(), static_cast<off_t>(bytes_)) != 0) {
    fail("can't make shared memory");
  }
  void* map = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, writable.get(), 0);
  if (map == MAP_FAILED) {
    fail("can't map shared memory");
  }
  std::memcpy(map, header_block.data(), header_block.size());
  // Prevents any process from mapping it for writing from now on; kernels before 5.1 lack that seal.
  const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  const bool sealed = fcntl(writable.get(), F_ADD_SEALS, seals | F_SEAL_FUTURE_WRITE) == 0 ||
                      fcntl(writable.get(), F_ADD_SEALS, seals) == 0;
  if (sealed) {
    memory_ = FileDescriptor(open(fmt::format("/proc/self/fd/{}", writable.get()).c_str(), O_RDONLY | O_CLOEXEC));
  }
  if (!memory_.valid() || fchmod(writable.get(), S_IRUSR) != 0) {
    munmap(map, bytes_);
    fail(sealed ? "can't open shared memory for reading alone" : "can't seal shared memory");
  }
  map_ = map;
}

void RingWriter::write(const Frame& frame) {
  store(frame);
  wake();
}

// Writer of the sequence lock (Boehm, MSPC 2012): an odd lock before any word changes, an even one after the last.
void RingWriter::store(const Frame& frame) {
  encoder_.take(frame);
  const std::uint64_t number = number_ + 1;
  auto* start = static_cast<std::byte*>(map_) + header_bytes_ + (number - 1) % slots_ * encoder_.slot_bytes();
  auto* slot = reinterpret_cast<std::uint64_t*>(start);
  const std::atomic_ref lock(slot[0]);
  lock.store(2 * number - 1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  const std::size_t crcs_bytes = encoder_.crcs().size_bytes();
  std::uint64_t* const crcs = slot + sizeof(nf_ring_slot) / sizeof *slot;
  store_words(crcs + crcs_bytes / sizeof *slot, encoder_.payload().data(), encoder_.payload().size());
  encoder_.stamp();
  store_words(crcs, encoder_.crcs().data(), crcs_bytes);
  const auto* head = reinterpret_cast<const std::byte*>(&encoder_.head());
  store_words(slot + 1, head + sizeof *slot, sizeof(nf_ring_slot) - sizeof *slot);
  lock.store(2 * number, std::memory_order_release);
  std::atomic_ref(shared_header()->published).store(number, std::memory_order_release);
  number_ = number;
  bump_wake();
}

void RingWriter::bump_wake() const { std::atomic_ref(shared_header()->wake).fetch_add(1, std::memory_order_release); }

void RingWriter::end() {
  std::atomic_ref(shared_header()->state).store(NF_RING_ENDED, std::memory_order_release);
  bump_wake();
  wake_all(&shared_header()->wake);
}

}  // namespace nearfield::ring
