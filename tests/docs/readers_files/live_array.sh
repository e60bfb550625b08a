# A running nearfieldd with the quick start's configuration, and a simulated array that it hears, at a tenth of real time.
before_commands() {
  nearfieldd -c config/nearfieldd.yaml --set daemon.recording.directory="$PWD" &
  nearfield send config/scenes/monopoles.yaml --loop --rate 0.1 --to 127.0.0.1:7230 &
  local try
  for try in {1..300}; do
    if nearfield tap --count 1 >/dev/null 2>&1; then
      return 0
    fi
    sleep 0.2
  done
  return 1
}
