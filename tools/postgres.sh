#!/bin/sh
# Installs Debian's PostgreSQL for the tests of the store on it, where it is missing: as root, with apt-get.
#
#   tools/postgres.sh
#
# Only its programs: no server of the system is made or started. Each test that needs one starts a server of its own, as a
# user of its own (initdb refuses root), in a folder for temporary files, and stops it.
set -eu

has_server() {
    for found in /usr/lib/postgresql/*/bin/postgres; do
        version=${found#/usr/lib/postgresql/}
        if [ -x "$found" ] && [ "${version%%/*}" -ge 15 ]; then return 0; fi
    done
    command -v postgres >/dev/null 2>&1
}

if has_server; then exit 0; fi
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    echo "postgres: not installed. On Debian, as root: apt-get install postgresql" >&2
    exit 1
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
export DEBIAN_FRONTEND=noninteractive
# A mirror that does not answer must not hold everything else.
apt() {
    timeout 280 apt-get -q -y -o DPkg::Lock::Timeout=120 -o Acquire::Retries=1 -o Acquire::http::Timeout=30 "$@"
}
install() {
    apt update && apt install --no-install-recommends postgresql-common || return 1
    # Else the package makes a cluster of the system and starts it.
    echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.conf
    apt install --no-install-recommends postgresql
}
echo "postgres: installing it with apt-get"
if ! install >"$log" 2>&1 </dev/null || ! has_server; then
    echo "postgres: could not be installed. The end of the log:" >&2
    tail -n 5 "$log" >&2
    exit 1
fi
