#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The Debian packages install, run as a service and purge cleanly on a fresh Debian 12: in a folder that
# mmdebstrap makes and systemd boots as a container.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
need_root
work_dir
need_built "$HALO_BPF"
command -v mmdebstrap >/dev/null || skip_all "mmdebstrap is not installed"
command -v systemd-nspawn >/dev/null || skip_all "systemd-container is not installed"
make -s -C "$SOURCE_DIR" deb BUILD="$BUILD_DIR" >"$WORK/deb.log" 2>&1 ||
	{ tap_not_ok "packages are built" "$(tail -20 "$WORK/deb.log")" && tap_done; }
tap_ok "packages are built"

ROOT=$WORK/debian
mmdebstrap --variant=apt --include=systemd,systemd-sysv,dbus bookworm "$ROOT" \
	/etc/apt/sources.list.d/debian.sources >"$WORK/debian.log" 2>&1 ||
	skip_all "no fresh Debian 12 was to be had: $(tail -1 "$WORK/debian.log")"
install -D -t "$ROOT/root/debs" "$BUILD_DIR"/deb/halo-{bpf,cc,bpf-doc}_*.deb
install -D -t "$ROOT/root" "$SOURCE_DIR"/selftests/programs/{perlin,main,program}.c \
	"$SOURCE_DIR"/selftests/programs/*.h

# Without nspawn's own system call filter: a program under a filter is left alone. It runs in a
# session of its own, so that it outlives none of us.
SYSTEMD_SECCOMP=0 systemd-nspawn -q -D "$ROOT" --register=no --keep-unit --boot --capability=all \
	--console=pipe </dev/null >"$WORK/console" 2>&1 &
NSPAWN=$!
at_exit 'kill -TERM $NSPAWN; sleep 1; kill -KILL $NSPAWN; wait $NSPAWN' # twice: halt, then end

container_init() {
	INIT=$(pgrep -P "$NSPAWN" -x systemd) && [ -n "$INIT" ]
}

inside() {
	nsenter -t "$INIT" -a env -i LC_ALL=C DEBIAN_FRONTEND=noninteractive HOME=/root \
		PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"
}

booted() {
	[ "$(inside systemctl is-system-running)" = running ]
}

unit_is() {
	[ "$(inside systemctl is-active "$1")" = "$2" ]
}

section_is() {
	inside halo-bpf -j status | jq -e --arg s "$1" '[.programs[].sections[] | select(.state == $s)] | length > 0'
}

wait_for 60 container_init
if ! wait_for 60 booted; then
	tap_not_ok "Debian boots" "$(inside systemctl --no-pager --failed)"
	tap_done
fi

tap_run "the daemon's package installs" inside sh -c \
	'apt-get -qq update && apt-get -qq install -y --no-install-recommends /root/debs/halo-bpf_*.deb'
tap_run "the service runs" wait_for 30 unit_is halo-bpf active
tap_run "doctor is content" inside halo-bpf doctor
tap_like "the journal has whole lines" ': daemon: halo-bpf .* serves$' \
	"$(inside journalctl -u halo-bpf --no-pager -o short-iso)"
tap_like "and their priorities" '"PRIORITY":"6"' \
	"$(inside journalctl -u halo-bpf --no-pager -o json | grep serves)"
tap_is "the service has no more capabilities than it names" "" \
	"$(inside sh -c 'capsh --decode=$(sed -n "s/CapBnd:\s*//p" /proc/$(systemctl show -P MainPID halo-bpf)/status)' 2>/dev/null |
		grep -oE 'cap_(net_admin|sys_module|sys_rawio|mknod|sys_boot|sys_time)' || true)"

tap_run "the compiler's package installs" inside sh -c \
	'apt-get -qq install -y --no-install-recommends /root/debs/halo-cc_*.deb /root/debs/halo-bpf-doc_*.deb libc6-dev gcc'
tap_run "it compiles" inside sh -c 'cd /root && halo-cc -O2 -D_GNU_SOURCE -o /usr/local/bin/perlin perlin.c main.c program.c -lm'
tap_run "man finds the pages" inside test -f /usr/share/man/man1/halo-bpf-enroll.1.gz
inside systemd-run -q --unit=perlin /usr/local/bin/perlin --endless
tap_run "a program is enrolled" inside halo-bpf enroll /usr/local/bin/perlin
tap_run "and made faster" wait_for 120 section_is adopted
inside halo-bpf status >"$WORK/status" 2>&1 || true

first=$(inside systemctl show -P MainPID halo-bpf)
inside systemctl kill -s KILL --kill-whom=main halo-bpf
another() {
	local now
	now=$(inside systemctl show -P MainPID halo-bpf)
	[ "$now" != "$first" ] && [ "$now" != 0 ] && unit_is halo-bpf active
}
tap_run "a service that was killed starts again" wait_for 30 another
tap_run "and takes over what runs" wait_for 30 section_is adopted

tap_run "an upgrade goes through while a program is attached" inside sh -c \
	'apt-get -qq install -y --reinstall --no-install-recommends /root/debs/halo-bpf_*.deb'
tap_run "the program runs on" unit_is perlin active
tap_run "the packages are purged" inside apt-get -qq purge -y halo-bpf halo-cc halo-bpf-doc
tap_run "the program still runs on" unit_is perlin active
inside systemctl stop perlin
tap_is "no unit has failed" "" "$(inside systemctl --no-legend --no-pager --failed)"
tap_is "nothing is left" "" "$(inside sh -c 'find / -xdev -path /proc -prune -o -name "*halo*" -print' |
	grep -vE '^/(root|var/log|var/lib/systemd|sys|usr/local)(/|$)' || true)"
tap_is "the user is left, as Debian does" "halo-bpf" "$(inside getent passwd halo-bpf | cut -d: -f1)"
tap_done
