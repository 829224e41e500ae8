# SPDX-License-Identifier: LGPL-2.1-or-later
# Sourced: a promise is kept when its command prints nothing and succeeds.

promises=0
broken=0

promise() { # TEXT COMMAND…
        local text=$1 out status=0

        shift
        promises=$((promises + 1))
        out=$("$@" 2>&1) || status=$?
        if [ -z "$out" ] && [ $status -eq 0 ]; then
                echo "ok $promises - $text"
        else
                broken=$((broken + 1))
                echo "not ok $promises - $text"
                printf '%s\n' "$out" | head -40 >&2
        fi
}

end() {
        echo "1..$promises"
        [ "$broken" -eq 0 ]
}
