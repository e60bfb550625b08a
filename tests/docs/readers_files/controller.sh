. tests/docs/readers_files/live_array.sh
# The server's secret key, where systemd would put it.
mkdir -p credentials
export CREDENTIALS_DIRECTORY=$PWD/credentials
echo 'JTKVSB%%)wK0E.X)V>+}o?pNmC{O&4W4b!Ni{Lh6' >credentials/curve.key
chmod 600 credentials/curve.key
