#!/bin/sh
# Installs Chromium for the tests of the web chat, where it is missing and can be installed: as root, with apt-get.
#
#   tools/chromium.sh
#
# Never fails: without a browser these tests are skipped, and their ids say why.
set -u

for name in chromium chromium-browser google-chrome; do
    if command -v "$name" >/dev/null 2>&1; then exit 0; fi
done
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    echo "chromium: not installed; the tests that need a browser are skipped. On Debian: apt-get install chromium"
    exit 0
fi

log=$(mktemp)
export DEBIAN_FRONTEND=noninteractive
# A mirror that does not answer must not hold everything else.
apt() {
    timeout 600 apt-get -q -y -o DPkg::Lock::Timeout=120 -o Acquire::Retries=1 -o Acquire::http::Timeout=30 "$@"
}
install() {
    apt update && apt install --no-install-recommends chromium
}
echo "chromium: installing it with apt-get"
if ! install >"$log" 2>&1 </dev/null || ! command -v chromium >/dev/null 2>&1; then
    echo "chromium: could not be installed; the tests that need a browser are skipped. The end of the log:"
    tail -n 5 "$log"
fi
rm -f "$log"
exit 0
