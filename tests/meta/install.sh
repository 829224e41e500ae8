# SPDX-License-Identifier: LGPL-2.1-or-later
# meson install without options: everything where Debian reads it. $2: the build directory.
. "$(dirname "$0")/tap.sh"
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

install_it() {
        DESTDIR=$root meson install -C "$1" --no-rebuild --quiet >/dev/null
}

there() {
        local f

        for f in "$@"; do
                [ -e "$root$f" ] || echo "$f is missing"
        done
}

# Names of things, and no more: what decides and what writes is the daemon's.
only_a_client() { # CARVECTL
        nm "$1" | grep -E ' T (carved_(plan|model|policy|snapshot|sysfs|store|intent|step)_|manager_|jobs_|worker_)'
        readelf -d "$1" | grep -E 'NEEDED.*lib(udev|pci|fuse3)'
        nm "$1" | grep -q ' T carved_pci_address_parse$' || echo "symbols can't be read from $1"
}

promise "it installs into an empty root" install_it "$2"
promise "carvectl has nothing of the daemon, and of lib only addresses and UUIDs" only_a_client "$2/ctl/carvectl"
promise "programs, data, policy and manual are in Debian's places" there \
        /usr/bin/carvectl /usr/bin/carved-sim /usr/bin/carved-simctl /usr/include/carved-sim/simctl.h \
        /usr/share/carved-sim/hosts/mixed.json /usr/share/carved-sim/boards/a2.json /usr/share/carved-sim/sriov-manage \
        /usr/sbin/carved /lib/systemd/system/carved.service /usr/share/dbus-1/system-services/org.carved1.service \
        /usr/share/dbus-1/interfaces/org.carved1.xml /usr/share/dbus-1/system.d/org.carved1.conf \
        /usr/share/polkit-1/actions/org.carved1.policy /usr/lib/systemd/catalog/carved.catalog \
        /usr/share/man/man8/carved.8 /usr/share/man/man5/carved.conf.5 /usr/share/man/man5/org.carved1.5 \
        /usr/share/man/man1/carvectl.1 /usr/share/bash-completion/completions/carvectl \
        /usr/share/zsh/vendor-completions/_carvectl /usr/share/fish/vendor_completions.d/carvectl.fish \
        /usr/share/man/man1/carved-sim.1 /usr/share/man/man1/carved-simctl.1
promise "sriov-manage is a program" test -x "$root/usr/share/carved-sim/sriov-manage"
promise "the simulated library is where no program looks for a real one" bash -c "ls '$root'/usr/lib/*/carved-sim/libnvidia-ml.so.1 >/dev/null"
promise "the bus policy is well-formed" bash -c "! command -v xmllint >/dev/null || xmllint --noout --nonet '$root/usr/share/dbus-1/system.d/org.carved1.conf'"
promise "polkit's actions are well-formed" bash -c "! command -v xmllint >/dev/null || xmllint --noout --nonet '$root/usr/share/polkit-1/actions/org.carved1.policy'"
# What journalctl -x will say: one entry for each id that the daemon writes.
catalogued() {
        local id

        mkdir -p "$root/var/lib/systemd/catalog"
        journalctl --root="$root" --update-catalog || return 1
        for id in $(sed -n 's/^#define MESSAGE_[A-Z]* *"\([0-9a-f]*\)"$/\1/p' "$1/daemon/audit.c"); do
                journalctl --root="$root" --list-catalog | grep -q "^$id" || echo "$id is not in the catalog"
        done
        [ -n "${id-}" ] || echo "no id can be read from audit.c"
}

promise "the journal's catalog has an entry for each id" catalogued "$1"
# What systemd finds still open is in a comment of the unit, with the reason.
reasoned() {
        local unit=$root/lib/systemd/system/carved.service open

        open=$(systemd-analyze security --offline=yes --no-pager "$unit" |
                sed -n 's/^✗ \([A-Za-z]*\)=\/\?\([^ ]*\) .*/\1 \2/p')
        [ -n "$open" ] || echo "nothing can be read from systemd-analyze"
        echo "$open" | while read -r option value; do
                case "$option" in
                CapabilityBoundingSet | RestrictAddressFamilies | SystemCallFilter)
                        grep -B9 "^$option=" "$unit" | grep -q '^#' || echo "$option=$value has no reason" ;;
                *)
                        grep -q "^#.*\<$option=" "$unit" || echo "$option= is left out without a reason" ;;
                esac
        done
}

promise "systemd finds the unit exposed by at most 4.0 of 10" \
        bash -c "systemd-analyze security --offline=yes --threshold=40 --no-pager '$root/lib/systemd/system/carved.service' >/dev/null"
promise "each option that is left out has a reason" reasoned
promise "the header for tests compiles alone, in plain C" bash -c "
        echo '#include <carved-sim/simctl.h>
        int main(void) { return simctl_do(\"rules\") > 5; }' > $root/t.c && cc -Wall -Wextra -Werror -I$root/usr/include -o $root/t $root/t.c"
end
