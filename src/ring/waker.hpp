#pragma once
#include <atomic>
#include <cstdint>
#include <thread>

namespace nearfield::ring {

/// Wakes all readers that sleep on a futex word, from a thread of its own: FUTEX_WAKE takes longer with each of them,
/// and the kernel may run them before it returns. The writer wakes this thread alone, however many readers there are.
class Waker {
 public:
  /// `word` must outlive this.
  explicit Waker(std::uint32_t* word);
  ~Waker();
  Waker(const Waker&) = delete;
  Waker& operator=(const Waker&) = delete;
  /// Called after a change of the word. Several calls may result in one FUTEX_WAKE.
  void notify();

 private:
  void run();
  std::uint32_t* word_;
  std::atomic<std::uint32_t> calls_ = 0;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

/// FUTEX_WAKE for all that sleep on the word.
void wake_all(std::uint32_t* word);

}  // namespace nearfield::ring
