# SPDX-License-Identifier: LGPL-2.1-or-later
# Sourced by what happens to a guest from outside: plugging, resets, power cuts.

here=$(dirname "$(realpath "$0")")
guest=check-outside
log=$(mktemp)

lab() {
        local command=$1

        shift
        "$here/../lab" "$command" --name $guest "$@"
}

# A line for the guest, with all that promises have.
inside() { # LINE
        lab run --timeout 200 "set -eu -o pipefail; . /root/vm/carved.sh; $1"
}

# Runs a function as a promise: not as a condition, where bash would go on after what fails.
promise() { # FUNCTION
        local status start=$SECONDS

        set +e
        (set -eu -o pipefail && "$1") >"$log" 2>&1
        status=$?
        set -e
        if [ $status -eq 0 ]; then
                echo "ok - $(basename "$0" .sh): ${1//_/ } ($((SECONDS - start)) s)"
                sed -n 's/^· /#   /p' "$log"
                return
        fi
        echo "not ok - $(basename "$0" .sh): ${1//_/ }"
        sed 's/^/#   /' "$log"
        mkdir -p "vm-logs/$1"
        cp "$(lab path)/console.log" "vm-logs/$1/" 2>/dev/null || true
        lab run --timeout 30 'journalctl -o short-monotonic' >"vm-logs/$1/journal" 2>&1 || true
        echo "#   the guest's console and journal are in vm-logs/$1"
        broken=1
}

broken=0
trap 'lab remove >/dev/null 2>&1; rm -f "$log"; exit $broken' EXIT
