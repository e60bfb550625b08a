# A daemon that hears what the page sends, and a capture to send.
nearfield simulate config/scenes/piston.yaml -o capture.h5
before_commands() {
  nearfieldd -c config/nearfieldd.yaml &
  until nearfield ctl status >/dev/null 2>&1; do
    sleep 0.2
  done
}
