# Debian's Python with the package of this tree, as it is installed.
export PYTHONPATH="$(dirname "$(readlink -f tests)")/python/src"
python3() { /usr/bin/python3 "$@"; }
