# SPDX-License-Identifier: LGPL-2.1-or-later
# Sourced by tests that run on a simulated host: what a command must end with, and say.
. "$(dirname "$0")/../meta/tap.sh"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export LC_ALL=C.UTF-8
unset NO_COLOR SYSTEMD_COLORS SYSTEMD_PAGER PAGER

# All of what it said, if it ended otherwise, or one of the patterns is not in it.
expect() { # EXIT-CODE PATTERN… -- COMMAND…
        local code=$1 patterns=() pattern status=0

        shift
        while [ "$1" != -- ]; do
                patterns+=("$1")
                shift
        done
        shift
        timeout 30 "$@" >"$scratch/said" 2>&1 </dev/null || status=$?
        said_as "$status" "$code" "${patterns[@]}"
}

said_as() { # EXIT-CODE WANTED PATTERN…
        local status=$1 code=$2 pattern

        shift 2
        [ "$status" -eq "$code" ] || { echo "exit code $status, not $code"; cat "$scratch/said"; }
        for pattern in "$@"; do
                grep -qE -- "$pattern" "$scratch/said" || { echo "'$pattern' is not in:"; cat "$scratch/said"; }
        done
}

# Starts it, and comes back when it has said so much. Its pid is in $pid.
start() { # PATTERN COMMAND…
        local pattern=$1

        shift
        : >"$scratch/said"
        "$@" >"$scratch/said" 2>&1 </dev/null &
        pid=$!
        until_said "$pattern"
}

until_said() { # PATTERN
        timeout 60 bash -c 'until grep -qE -- "$1" "$2"; do sleep 0.02; done' until "$1" "$scratch/said" ||
                { echo "'$1' never came:"; cat "$scratch/said"; }
}

# How what was started ended.
ends() { # WANTED PATTERN…
        local status=0

        timeout 60 tail --pid="$pid" -s 0.05 -f /dev/null || echo "it never ended"
        wait "$pid" || status=$?
        said_as "$status" "$@"
}
