# SPDX-License-Identifier: LGPL-2.1-or-later
# The watchdog: an idle daemon says that it lives, and nothing else wakes it. $1: carved-sim.
. "$(dirname "$0")/../meta/tap.sh"

# Every second it must have said so; sd-event does it two to four times as often.
lives() {
        local n

        n=$(WATCHDOG_USEC=1000000 "$1" --host t4 -- sh -c 'sleep 4; carved-simctl daemon watchdogs') || return 1
        [ "$n" -ge 4 ] && [ "$n" -le 20 ] || echo "it said so $n times in four seconds"
}

silent() {
        local n

        n=$(env -u WATCHDOG_USEC "$1" --host t4 -- sh -c 'sleep 2; carved-simctl daemon watchdogs') || return 1
        [ "$n" -eq 0 ] || echo "it said so $n times, and nobody had asked"
}

promise "it serves the watchdog" lives "$1"
promise "where nobody keeps watch it is silent" silent "$1"
end
