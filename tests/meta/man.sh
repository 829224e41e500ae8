# SPDX-License-Identifier: LGPL-2.1-or-later
# The manual: it renders, and its examples run. $1: the source tree, $2: the build directory.
. "$(dirname "$0")/tap.sh"
export PATH=$2/sim:$PATH
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

renders() {
        MANROFFSEQ= LC_ALL=C.UTF-8 man --warnings -l "$2" 2>&1 >/dev/null
}

# Every block that begins with "$ ", as one script.
example_count() {
        awk '/^```/ { on = !on; first = on; next } on && first && /^\$ / { n++ } { first = 0 } END { print n + 0 }' "$1"
}

example() { # FILE N
        awk -v want="$2" '
                /^```/ { on = !on; if (on) first = 1; else mine = 0; next }
                on && first { first = 0; if (/^\$ /) { n++; if (n == want) { mine = 1; sub(/^\$ /, "") } } }
                on && mine { print }' "$1"
}

runs() { # FILE N
        example "$1" "$2" >"$scratch/example"
        (cd "$scratch" && sh -e "$scratch/example") >"$scratch/out" 2>&1 || {
                cat "$scratch/example" "$scratch/out"
                return 1
        }
}

# Each option of --help is in the manual, and each verb.
complete() {
        carved-sim --help | grep -oE -- '--[a-z-]+' | sort -u | while read -r option; do
                grep -qF -- "$option" "$1" || echo "$option is not in the manual"
        done
        carved-simctl --help | sed -n 's/^  \([a-z-]*\) .*/\1/p' | sort -u | while read -r verb; do
                grep -qF -- "$verb" "$1" || echo "$verb is not in the manual"
        done
}

page=$1/man/carved-sim.1.scd
promise "carved-sim(1) renders without a warning" renders "$page" "$2/man/carved-sim.1"
promise "carved(8) renders without a warning" renders "$1/man/carved.8.scd" "$2/man/carved.8"
promise "it has every option and every verb" complete "$page"
count=$(example_count "$page")
promise "it has examples" test "$count" -ge 5
for n in $(seq "$count"); do
        promise "example $n of carved-sim(1) runs" runs "$page" "$n"
done
end
