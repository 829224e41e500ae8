# SPDX-License-Identifier: LGPL-2.1-or-later
# Sourced by ./check: what takes too long for every day.

FUZZ_SECONDS=${FUZZ_SECONDS:-30}

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
                --wrap 'valgrind --quiet --error-exitcode=99 --leak-check=full --trace-children=no --errors-for-leak-kinds=definite'
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

# What ./check does for four seconds; the seed is printed.
storm() {
        PATH=$PWD/build-check/sim:$PATH carved-sim --no-daemon --host mixed -- build-check/tests/host/host-storm 60
}

coverage() {
        rm -rf build-coverage && meson setup build-coverage -Db_coverage=true >/dev/null &&
                ninja -C build-coverage --quiet && meson test -C build-coverage >/dev/null &&
                gcovr --root . --filter lib/ --filter daemon/ --filter sim/ --print-summary build-coverage
}

analyse_cppcheck() {
        cppcheck --quiet --error-exitcode=1 --enable=warning,portability --inline-suppr \
                --suppress=missingIncludeSystem --library=gtk --std=c11 \
                '-DG_DEFINE_QUARK(a,b)=' '-DG_GNUC_PRINTF(a,b)=' '-DG_DEFINE_AUTOPTR_CLEANUP_FUNC(a,b)=' -I lib -I sim -I daemon \
                lib daemon sim tests/host
}

analyse_tidy() {
        git ls-files 'lib/*.c' 'daemon/*.c' 'sim/*.c' | xargs clang-tidy --quiet -p build-plain --warnings-as-errors='*'
}

run_long() {
        say "Fuzzing, $FUZZ_SECONDS seconds each"
        [ -e build-fuzz/build.ninja ] || CC=clang meson setup build-fuzz -Dfuzzers=true -Db_lundef=false >/dev/null
        ninja -C build-fuzz --quiet tests/fuzz/fuzz-{driver,host,rule,snapshot}
        for target in driver host rule snapshot; do
                step "fuzz $target" fuzz "$target"
        done

        step "a minute's storm" storm

        say "Memory and analysis"
        build build-plain
        step "valgrind on the unit tests" memcheck
        step "valgrind on the daemon" memcheck_daemon
        step "cppcheck" analyse_cppcheck
        step "clang-tidy" analyse_tidy
        step "coverage" coverage
        if [ -e build-coverage/meson-logs ]; then
                gcovr --root . --filter lib/ --filter daemon/ build-coverage 2>/dev/null | cut -c1-100 || true
        fi
}
