# SPDX-License-Identifier: LGPL-2.1-or-later
# Sourced by ./check: what takes too long for every day.

FUZZ_SECONDS=${FUZZ_SECONDS:-30}
FUZZERS='config driver entry frame host ident ini intent mdevctl output rule snapshot'

# On each host with one card. On the one with all of them a crash takes three times as long, and only what happens between
# cards is new.
CRASHES=${CRASHES:-250}
CRASHES_MIXED=${CRASHES_MIXED:-100}

fuzz() { # TARGET
        local corpus=tests/fuzz/corpus/$1 scratch

        scratch=$(mktemp -d)
        "build-fuzz/tests/fuzz/fuzz-$1" -max_total_time="$FUZZ_SECONDS" -timeout=10 -rss_limit_mb=2048 \
                -artifact_prefix="$scratch/" "$scratch" "$corpus"
}

# The unit tests again, where every byte is watched. Programs only: a simulated host is one many-threaded process
# that ends by _exit(), which tells valgrind nothing.
memcheck() {
        meson test -C build-plain --suite unit --suite lib --timeout-multiplier 10 \
                --wrap "valgrind --quiet --suppressions=$PWD/tools/valgrind.supp --error-exitcode=99 --leak-check=full --trace-children=no --errors-for-leak-kinds=definite"
}

# The daemon on a host that changes below it. Its log stays empty, or tells.
memcheck_daemon() {
        local log

        log=$(mktemp -d)
        CARVED_VALGRIND_LOG=$log/log CARVED_PROGRAM=$PWD/build-plain/daemon/carved PATH=$PWD/build-plain/sim:$PATH \
                carved-sim --daemon "$PWD/tools/valgrind-carved" --host mixed -- bash -ec '
                        /usr/lib/nvidia/sriov-manage -e ALL && carved-simctl settle
                        mdevctl start -u dd6772a8-7db8-4e96-9a73-f94c389d9bc3 -p 0000:08:00.4 --type nvidia-746
                        busctl --timeout=60 call org.carved1 /org/carved1/gpu/0000_08_00_0 org.carved1.Gpu Refresh "a{sv}" 0
                        busctl --timeout=60 tree org.carved1 | grep -q vgpu/dd6772a8
                        carved-simctl unplug 0000:08:00.0 && carved-simctl plug 0000:08:00.0 && carved-simctl reload-driver
                        busctl --timeout=60 call org.carved1 /org/carved1 org.carved1.Manager GetInventory >/dev/null
                        carved-simctl daemon stop' || return 1
        # Lines that begin with dashes are about valgrind itself: system calls it does not know.
        ! grep -hv '^--' "$log"/*
}

# A test of the daemon, in its long form, on a simulated host: HOST PROGRAM ARGUMENT…
on_host() {
        local host=$1 program=$2

        shift 2
        PATH=$PWD/build-check/sim:$PATH G_DEBUG=fatal-criticals ASAN_OPTIONS=detect_leaks=1:abort_on_error=1 \
                carved-sim --host "$host" -- "build-check/tests/daemon/$program" "$@" </dev/null
}

# The daemon is ended at any call that changes something, and started again; or nothing can be written: HOST NUMBER|store.
# Without sanitizers, which ./check has for fewer of them: a start costs twice as much with them, and there are thousands.
crash() {
        PATH=$PWD/build-plain/sim:$PATH G_DEBUG=fatal-criticals CARVED_PROGRAM=$PWD/build-plain/daemon/carved \
                carved-sim --daemon "$PWD/build-plain/tests/daemon/carved-killer" --host "$1" -- \
                build-plain/tests/daemon/daemon-crash "$@" </dev/null
}

# A thousand connections of four users, 52 of them flooding. Without sanitizers: it measures.
hostile() {
        PATH=$PWD/build-plain/sim:$PATH G_DEBUG=fatal-criticals carved-sim --host a2 -- \
                build-plain/tests/daemon/daemon-hostile 30 1000 52 </dev/null
}

# What ./check does for four seconds; the seed is printed.
storm() {
        PATH=$PWD/build-check/sim:$PATH carved-sim --no-daemon --host mixed -- build-check/tests/host/host-storm 60 </dev/null
}

# Several at a time. Each line of standard input: what it is, a tab, and a command of this file; the longest first, so that
# none is left alone in the end. They are counted when all are through, and then those that failed show what they said.
together() { # AT-A-TIME
        local dir name command n=0 i

        dir=$(mktemp -d)
        while IFS=$'\t' read -r name command; do
                while [ "$(jobs -rp | wc -l)" -ge "$1" ]; do
                        wait -n || true
                done
                n=$((n + 1))
                echo "$name" >"$dir/$n.name"
                { $command >"$dir/$n.log" 2>&1 </dev/null && touch "$dir/$n.ok"; } &
        done
        wait || true
        for i in $(seq "$n"); do
                step "$(cat "$dir/$i.name")" result "$dir/$i"
        done
        rm -rf "$dir"
}

result() {
        cat "$1.log"
        [ -e "$1.ok" ]
}

# These wait for drivers and deadlines more than they work, and none measures how long it takes. Of the faults, ./check has
# all of the mode `kill`, and the others here take a part by a seed, which is printed.
list_waiting() {
        local each

        # What ends it knows the registers of one machine.
        for each in "mixed $CRASHES_MIXED" "l40s $CRASHES" "a2 $CRASHES" "plain $CRASHES" "t4 $CRASHES" "plain store" "t4 store"; do
                [ "$(uname -m)" != x86_64 ] || printf 'crashes, %s\tcrash %s\n' "$each" "$each"
        done
        printf 'a crowd for two minutes\ton_host scale:8x16x4 daemon-crowd 120\n'
        printf 'every code of every call of the library\ton_host h100 daemon-mig-fault long\n'
        printf 'cards that are cut, all of it\ton_host a100 daemon-mig a100 long\n'
        for each in l40s/late a2/late l40s/fail a2/fail plain/late plain/fail t4/late t4/fail l40s/always a2/always plain/always \
                t4/always; do
                printf 'every write goes wrong, %s\ton_host %s daemon-fault %s %s some\n' "$each" "${each%/*}" "${each%/*}" "${each#*/}"
        done
        printf "a minute's storm\tstorm\n"
}

# One core each.
list_working() {
        local each

        printf 'valgrind on the unit tests\tmemcheck\n'
        for each in lib daemon sim ctl; do
                printf 'clang-tidy on %s\tanalyse_tidy %s\n' "$each" "$each"
        done
        printf 'cppcheck\tanalyse_cppcheck\n'
        for each in $FUZZERS; do
                printf 'fuzz %s\tfuzz %s\n' "$each" "$each"
        done
        printf 'valgrind on the daemon\tmemcheck_daemon\n'
}

# Of the daemon's tests, those that ask for everything once: faults and crowds find few other lines.
COVERED='access polkit audit tricks hostile config interface life explain_a2 explain_l40s explain_plain explain_t4 carve_a2 carve_l40s carve_plain carve_t4
        events_a2 events_l40s tree_mixed stall broken keep_a2 drift_l40s reboot_pair'

# Of lines. No marks that leave some out.
COVERED_LIB=90
COVERED_DAEMON=82

coverage() {
        local names=() each

        for each in $COVERED; do
                names+=("daemon ${each/_/ }")
        done
        rm -rf build-coverage && meson setup build-coverage -Db_coverage=true >/dev/null &&
                ninja -C build-coverage --quiet && meson test -C build-coverage --suite unit --suite lib >/dev/null &&
                meson test -C build-coverage --no-rebuild "${names[@]}" >/dev/null &&
                gcovr --root . --filter lib/ --filter daemon/ --filter sim/ --json --output build-coverage/covered.json build-coverage &&
                is_covered lib $COVERED_LIB && is_covered daemon $COVERED_DAEMON
}

is_covered() { # DIRECTORY PERCENT
        # Not --output /dev/null: gcovr tries its output file, and removes it.
        gcovr --root . --filter "$1/" --add-tracefile build-coverage/covered.json --print-summary --fail-under-line "$2" \
                --output build-coverage/covered.txt
}

analyse_cppcheck() {
        cppcheck --quiet --error-exitcode=1 --enable=warning,portability --inline-suppr \
                --suppress=missingIncludeSystem --library=gtk --std=c11 \
                '-DG_DEFINE_QUARK(a,b)=' '-DG_GNUC_PRINTF(a,b)=' '-DG_DEFINE_AUTOPTR_CLEANUP_FUNC(a,b)=' -I lib -I sim -I daemon -I ctl \
                lib daemon sim ctl tests/host
}

analyse_tidy() { # DIRECTORY
        git ls-files "$1/*.c" | xargs clang-tidy --quiet -p build-plain --warnings-as-errors='*'
}

run_long() {
        local target targets=()

        for target in $FUZZERS; do
                targets+=("tests/fuzz/fuzz-$target")
        done
        [ -e build-fuzz/build.ninja ] || CC=clang meson setup build-fuzz -Dfuzzers=true -Db_lundef=false >/dev/null
        say "Building build-fuzz"
        ninja -C build-fuzz --quiet "${targets[@]}"
        build build-plain

        say "The daemon, for long: crashes, faults, crowds"
        together 4 < <(list_waiting)
        step "cards that hang for a minute" on_host mixed daemon-hang 60 measure # alone: it measures
        step "a thousand connections that mean harm" hostile                     # likewise

        say "Analysis, and fuzzing for $FUZZ_SECONDS seconds each"
        together 2 < <(list_working)
        step "coverage" coverage
        if [ -e build-coverage/covered.json ]; then
                gcovr --root . --filter lib/ --filter daemon/ --add-tracefile build-coverage/covered.json | cut -c1-100 || true
        fi
}
