#pragma once
#include <atomic>
#include <cstdint>
#include <thread>

namespace nearfield::ring {

/// Wakes all readers that sleep on a futex word. FUTEX_WAKE takes longer with each of them, and the kernel may run them
/// before it returns. So the writer wakes them itself while at most kAtOnce sleep; otherwise a thread does.
class Waker {
 public:
  static constexpr int kAtOnce = 2;
  /// `word` must outlive this object.
  explicit Waker(std::uint32_t* word);
  ~Waker();
  Waker(const Waker&) = delete;
  Waker& operator=(const Waker&) = delete;
  /// Called after a change of the word. Several calls may result in one FUTEX_WAKE of the thread.
  void notify();
  /// True if the next call leaves it to the thread: more than kAtOnce slept the last time.
  [[nodiscard]] bool has_many() const { return many_.load(std::memory_order_relaxed); }

 private:
  void call_thread();
  void run();
  std::uint32_t* word_;
  std::atomic<std::uint32_t> calls_ = 0;
  std::atomic<long> woken_ = 0;     ///< readers woken by the writer when more may sleep: the thread counts on from here
  std::atomic<bool> many_ = false;  ///< more than kAtOnce slept the last time
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

/// FUTEX_WAKE for all threads that sleep on the word.
void wake_all(std::uint32_t* word);

}  // namespace nearfield::ring
