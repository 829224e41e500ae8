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
        meson test -C build-plain --suite unit --timeout-multiplier 10 \
                --wrap 'valgrind --quiet --error-exitcode=99 --leak-check=full --trace-children=no --errors-for-leak-kinds=definite'
}

coverage() {
        rm -rf build-coverage && meson setup build-coverage -Db_coverage=true >/dev/null &&
                ninja -C build-coverage --quiet && meson test -C build-coverage >/dev/null &&
                gcovr --root . --filter lib/ --filter sim/ --print-summary build-coverage
}

analyse_cppcheck() {
        cppcheck --quiet --error-exitcode=1 --enable=warning,portability --inline-suppr \
                --suppress=missingIncludeSystem --library=gtk --std=c11 \
                '-DG_DEFINE_QUARK(a,b)=' '-DG_GNUC_PRINTF(a,b)=' '-DG_DEFINE_AUTOPTR_CLEANUP_FUNC(a,b)=' -I lib -I sim lib sim tests/host
}

analyse_tidy() {
        git ls-files 'lib/*.c' 'sim/*.c' | xargs clang-tidy --quiet -p build-plain --warnings-as-errors='*'
}

run_long() {
        say "Fuzzing, $FUZZ_SECONDS seconds each"
        CC=clang build build-fuzz -Dfuzzers=true -Db_lundef=false
        for target in host rule; do
                step "fuzz $target" fuzz "$target"
        done

        say "Memory and analysis"
        build build-plain
        step "valgrind on the unit tests" memcheck
        step "cppcheck" analyse_cppcheck
        step "clang-tidy" analyse_tidy
        step "coverage" coverage
        if [ -e build-coverage/meson-logs ]; then
                gcovr --root . --filter lib/ --filter sim/ build-coverage 2>/dev/null | tail -60 || true
        fi
}
