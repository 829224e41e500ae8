#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Makes the pictures of the README anew, from what carvectl shows on a simulated host: tools/pictures.sh BUILD-DIRECTORY
set -eu -o pipefail
cd "$(dirname "$0")/.."

if [ "${1-}" != --inside ]; then
        build=$(realpath "${1:-build-demo}")
        export PATH="$build/sim:$build/ctl:$PATH" LC_ALL=C.UTF-8 TERM=xterm
        exec carved-sim --host mixed -- bash tools/pictures.sh --inside
fi

# What stands on a terminal of 104 columns after these commands, as SVG: NAME COMMAND…
picture() {
        local name=$1 command

        shift
        for command in "$@"; do
                printf '\033[90m$\033[0m %s\n' "$command"
                # Of a line that moved, what it was in the end.
                script -qec "stty cols 104 rows 60; $command" /dev/null </dev/null | sed -e 's/\r$//' -e 's/.*\r\x1b\[K//' -e '/^$/d' || true
        done | LC_ALL=C awk -f tools/picture.awk >"pictures/$name.svg"
}

carvectl enable L40S -q
carvectl create L40S-8Q --uuid 5b5b7326-6bb8-4c0f-9d6e-2f2f1c0b7a11 -q >/dev/null
carvectl create T4-4Q --uuid 8f1a7a52-3c5d-4d0e-9c8f-6f2f1c0b7a11 -q >/dev/null
picture create 'carvectl enable 08:00.0' 'carvectl create A2-4Q -n 2'
uuid=$(carvectl list --no-legend | awk '/0000:08:00.4/ { print $1 }')
carved-simctl hold "$uuid" >/dev/null
carvectl users "$uuid" >/dev/null # has it looked at
picture tree carvectl
picture explain 'carvectl explain 08:00.0 A2-8Q' "carvectl destroy ${uuid%%-*}" 'carvectl explain 0001:c8:00.0 A2-8Q'
