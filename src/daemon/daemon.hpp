#pragma once
#include <atomic>
#include <csignal>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>

#include "cl/memory.hpp"
#include "control/metrics/memory_use.hpp"
#include "control/metrics/metrics.hpp"
#include "control/service/log.hpp"
#include "control/service/service_manager.hpp"
#include "control/socket/server.hpp"
#include "daemon/background/health_task.hpp"
#include "daemon/background/recording_controller.hpp"
#include "daemon/background/search_task.hpp"
#include "daemon/configurator.hpp"
#include "daemon/live/accounts.hpp"
#include "daemon/live/frame_watch.hpp"
#include "daemon/live/input_watch.hpp"
#include "daemon/live/live_engine.hpp"
#include "daemon/signals.hpp"
#include "daemon/summary.hpp"
#include "daemon/web.hpp"
#include "limits/limit_watch.hpp"
#include "ring/ring_output.hpp"
#include "ring/zmq/zmq_output.hpp"

namespace nearfield::daemon {

struct DaemonOptions {
  ConfigurationSource configuration;
  std::string version;
  std::string commit;                                 ///< commit of the sources it was built from
  std::uint64_t frames = 0;                           ///< stops after so many frames; 0: never
  double duration_s = 0.0;                            ///< stops after so long; 0: never
  std::function<void(std::uint64_t sequence)> fault;  ///< for tests: runs when a frame is computed
  std::function<void()> web_fault;                    ///< for tests: runs once on the thread that serves HTTP
  std::function<void()> source_fault;                 ///< for tests: runs once on the source's thread
  std::function<void()> control_fault;                ///< for tests: runs on the control thread, with `config`
  std::function<void()> mask_fault;                   ///< for tests: runs when masks take effect
  std::int64_t turn_limit_ns = 0;  ///< for tests: longest turn of these two threads; 0: the usual one
};

/// All of nearfieldd: a source, an engine on its own thread, outputs, control, metrics. The thread that calls run()
/// does housekeeping: signals, watchdog, "no input", counters.
class Daemon {
 public:
  /// Opens all parts; the control socket answers when this returns. SIGTERM, SIGINT and SIGHUP must be blocked in all
  /// threads. Throws what the parts throw.
  explicit Daemon(DaemonOptions options);
  ~Daemon();
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  /// Runs until a signal, `ctl stop`, the source's end, or a limit of the options. Throws the error that ended the
  /// engine or the source. A device error or a hung frame ends the process at once, with its exit code.
  void run();
  /// To be called after run().
  [[nodiscard]] nlohmann::json summary() const;

 private:
  void make_socket_folders() const;
  void open_outputs();
  [[nodiscard]] std::uint32_t bit_rate_hz() const;
  /// Allocates the outputs' memory for a new epoch, so that the engine's thread does not. Throws what the outputs
  /// throw.
  void prepare_outputs(const Epoch& epoch);
  void free_unused_outputs();
  void update_endpoints(const Epoch& epoch);
  /// Opens the control socket, then the HTTP services.
  void open_control();
  void serve_control();
  [[nodiscard]] HealthTask::Hooks health_hooks(const ArrayGeometry& geometry);
  [[nodiscard]] LiveHooks hooks();
  [[nodiscard]] Configurator::Hooks configurator_hooks();
  /// Longest time this process may take to plan a configuration and compute its first frame.
  [[nodiscard]] std::int64_t planning_limit_ns() const;
  [[nodiscard]] bool meet_hung_frame(std::int64_t age_ns);
  std::unique_ptr<Epoch> install(std::unique_ptr<Epoch> next);
  void install_recorder(Recorder* recorder);
  void begin_epoch(Recorder& recorder) const;
  void log_run(const Epoch& epoch);
  nlohmann::json status();
  [[nodiscard]] control::MemoryFigures memory_figures() const;
  void start_threads();
  void run_engine();
  [[nodiscard]] bool is_over(std::int64_t begun_ns, std::int64_t now_ns) const;
  void look_for_descriptors();
  void do_housekeeping(std::int64_t now_ns);
  void judge_input(std::int64_t now_ns);
  void watch_input(std::int64_t now_ns);
  void log_news();
  void log_limits();
  void measure_recordings();
  void measure_limits();
  void watch_web(std::int64_t now_ns);
  /// True if the threads of the source and of control complete their turns in time; logs the one that does not.
  bool do_threads_turn(std::int64_t now_ns);
  void log_turn(control::TurnWatch::Change change, const control::TurnWatch& watch, const char* thread);
  /// Longest time the control thread's current turn may take.
  [[nodiscard]] std::int64_t control_limit_ns() const;
  void handle_signals();
  void reload_aside();
  void stop();

  DaemonOptions options_;
  std::optional<EndAtSignal> end_at_signal_;  ///< before the members that read the configuration
  Settings settings_;                         ///< settings at the start
  ocl::DriverMemory driver_memory_;           ///< state after the start
  std::shared_ptr<control::RateLimitedLog> log_;
  control::ServiceManager service_;
  std::unique_ptr<Source> source_;
  LiveInput input_;
  std::unique_ptr<InputWatch> input_watch_;
  std::shared_ptr<TrackIds> track_ids_ = std::make_shared<TrackIds>();  ///< shared by all epochs
  std::shared_ptr<control::Metrics> metrics_;
  std::unique_ptr<ring::RingOutput> ring_output_;
  std::unique_ptr<ring::ZmqOutput> zmq_output_;
  std::vector<std::string> logged_processors_;  ///< processors whose endpoints are in the log
  limits::LimitWatch limits_;
  Publisher publisher_;
  Summary summary_;
  HopBoundary boundary_;
  std::unique_ptr<RecordingController> recording_;
  std::unique_ptr<HealthTask> health_;
  std::unique_ptr<SearchTask> search_;
  // Threads of the two tasks, destroyed before them.
  std::unique_ptr<control::Worker> health_worker_;
  std::unique_ptr<control::Worker> search_worker_;
  std::unique_ptr<LiveEngine> engine_;
  std::unique_ptr<Configurator> configurator_;
  std::unique_ptr<control::Watchdog> watchdog_;
  std::unique_ptr<Accounts> accounts_;
  std::atomic<std::uint64_t> web_hangs_{0};         ///< hangs of the thread that serves HTTP
  std::atomic<std::int64_t> web_hung_since_ns_{0};  ///< 0: it serves
  std::mutex web_mutex_;                            ///< guards web_, since the control socket is served before
  std::unique_ptr<Web> web_;
  std::unique_ptr<FrameWatch> watch_;
  std::unique_ptr<control::Server> server_;
  StreamNews news_;                              ///< for the log, from the engine's thread to the main thread
  std::atomic<double> frame_deadline_ms_{0.0};   ///< from the settings in effect
  std::atomic<std::int64_t> late_frames_ms_{0};  ///< age of a frame beyond its deadline; 0: none since the last check
  std::atomic<double> hop_rate_hz_{0.0};
  std::atomic<std::int64_t> first_window_ns_{0};  ///< time from a stream's start to its first window and hop
  std::atomic<std::uint64_t> most_idle_elements_{
      0};  ///< below this many pending elements no complete window can be waiting
  std::atomic<std::int64_t> input_ns_{
      0};  ///< time of the last published frame for whose window at least half the bits were received

  std::atomic<bool> is_changing_{false};  ///< the control thread prepares a new configuration
  std::atomic<bool> stop_{false};         ///< asks the engine to end
  std::atomic<bool> engine_done_{false};  ///< the engine has ended
  std::exception_ptr engine_error_;       ///< read after engine_done_
  std::atomic<int> reloads_wanted_ = 0;   ///< SIGHUPs that the reloader has not yet answered
  std::string why_;                       ///< reason of the end

  std::mutex yaml_mutex_;
  std::string yaml_;              ///< the configuration in effect, as run; guarded by yaml_mutex_
  nlohmann::json microphones_m_;  ///< [channel][x, y, z]; guarded by yaml_mutex_
  nlohmann::json level_of_;  ///< quantity that the recordings' level watches, for the status; guarded by yaml_mutex_

  // For the main thread only:
  std::int64_t counted_ns_ = 0;
  std::int64_t ticked_ns_ = 0;
  std::int64_t kept_ns_ = 0;  ///< time of the last do_housekeeping()
  control::TurnWatch source_turns_{0};
  control::TurnWatch control_turns_{0};
  bool no_input_ = false;

  std::jthread reloader_;
  std::jthread engine_thread_;
};

}  // namespace nearfield::daemon
