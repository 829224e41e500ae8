# SPDX-License-Identifier: LGPL-2.1-or-later
# Sourced by ./check: adds up what passed and failed, over all ways to test.

passed=0
failed=0
skipped=0

# Counts one thing by its exit code: NAME COMMAND…
step() {
        local name=$1 log status=0

        shift
        log=$(mktemp)
        "$@" >"$log" 2>&1 || status=$?
        if [ $status -eq 0 ]; then
                passed=$((passed + 1))
                echo "ok   $name"
        else
                failed=$((failed + 1))
                echo "FAIL $name"
                cat "$log"
        fi
        rm -f "$log"
}

# Counts the lines of TAP that a command prints, as they come. One that ends badly without a broken promise is one itself.
tap() { # COMMAND…
        local line before=$failed status

        while IFS= read -r line; do
                echo "$line"
                case "$line" in
                'ok '*) passed=$((passed + 1)) ;;
                'not ok '*) failed=$((failed + 1)) ;;
                'status '*) status=${line#status } ;;
                esac
        done < <("$@" 2>&1 || echo "status $?")
        if [ -n "${status-}" ] && [ "$failed" -eq "$before" ]; then
                failed=$((failed + 1))
                echo "FAIL $*"
        fi
}

# All tests of a build directory; the rest are options of meson test. Subtests count each.
run_tests() {
        local dir=$1 status=0 sums

        shift
        rm -f "$dir"/meson-logs/testlog*.junit.xml
        # Most of them wait most of the time.
        meson test -C "$dir" --print-errorlogs --num-processes $(($(nproc) + 1)) "$@" || status=$?

        sums=$(sed -n 's/.*<testsuite name="[^"]*" tests="\([0-9]*\)" errors="\([0-9]*\)" failures="\([0-9]*\)" skipped="\([0-9]*\)".*/\1 \2 \3 \4/p' \
                "$dir"/meson-logs/testlog*.junit.xml | awk '{ t += $1; f += $2 + $3; s += $4 } END { print t + 0, f + 0, s + 0 }')
        set -- $sums
        passed=$((passed + $1 - $2 - $3))
        failed=$((failed + $2))
        skipped=$((skipped + $3))

        # A test program that dies has no subtest to fail.
        if [ $status -ne 0 ] && [ "$2" -eq 0 ]; then
                failed=$((failed + 1))
        fi
        if [ "$1" -eq 0 ]; then
                echo "No test ran"
                failed=$((failed + 1))
        fi
}

# As root on Debian 12 everything can run, so there a skip is a failure.
finish() {
        if [ "$skipped" -gt 0 ] && [ "$(id -u)" -eq 0 ]; then
                failed=$((failed + skipped))
                skipped=0
        fi
        echo
        if [ "$skipped" -gt 0 ]; then
                echo "$passed passed, $failed failed, $skipped skipped"
        else
                echo "$passed passed, $failed failed"
        fi
        [ "$failed" -eq 0 ]
}
