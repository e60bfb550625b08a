. tests/docs/readers_files/live_array.sh
