# SPDX-License-Identifier: LGPL-2.1-or-later
# The manual: it renders, and its examples run. $1: the source tree, $2: the build directory.
. "$(dirname "$0")/tap.sh"
export PATH=$2/sim:$2/ctl:$2/daemon:$PATH
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

# "INTERFACE MEMBER" of each property, method and signal.
members() { # XML
        sed -n 's/.*<interface name="\([^"]*\)".*/i \1/p; s/.*<\(property\|method\|signal\) name="\([^"]*\)".*/m \2/p' "$1" |
                awk '$1 == "i" { interface = $2; next } { print interface, $2 }'
}

section() { # PAGE HEADING
        awk -v heading="## $2" '/^#/ { on = $0 == heading; next } on' "$1"
}

# Each is where its interface is: a SetLabels on one object says nothing of another.
names_members() { # PAGE XML
        members "$2" | while read -r interface member; do
                section "$1" "$interface" | grep -qE "^\*$member\*" || echo "$interface.$member is not in the manual"
        done
        [ "$(members "$2" | wc -l)" -ge 50 ] || echo "members can't be read from $2"
}

# What a client may get, it may look up.
names_errors() { # PAGE SOURCE
        sed -n 's/.*CARVED_BUS_NAME "\.Error\.\([A-Za-z]*\)".*/\1/p' "$2" | sort -u | while read -r name; do
                grep -qF "*$name*" "$1" || echo "$name is not in the manual"
        done
        grep -q CARVED_BUS_NAME "$2" || echo "errors can't be read from $2"
}

names_settings() { # PAGE SOURCE
        sed -n 's/^  *{ "\([A-Z][A-Za-z]*\)".*},$/\1/p' "$2" | while read -r name; do
                grep -qF "*$name=*" "$1" || echo "$name= is not in the manual"
        done
        [ "$(grep -cE '^  *{ "[A-Z][A-Za-z]*".*},$' "$2")" -ge 5 ] || echo "settings can't be read from $2"
}

# They go on from each other, so they are one script, on one host.
runs_together() { # FILE
        local n

        for n in $(seq "$(example_count "$1")"); do
                example "$1" "$n"
        done >"$scratch/examples"
        cd "$scratch" && carved-sim --host mixed -- sh -ex "$scratch/examples" >"$scratch/out" 2>&1 </dev/null || cat "$scratch/out"
}

page=$1/man/carved-sim.1.scd
for name in carvectl.1 carved-sim.1 carved.8 carved.conf.5 org.carved1.5; do
        promise "${name%.*}(${name##*.}) renders without a warning" renders "$1/man/$name.scd" "$2/man/$name"
done
promise "org.carved1(5) has every member of every interface" names_members "$1/man/org.carved1.5.scd" "$1/dbus/org.carved1.xml"
promise "org.carved1(5) has every error" names_errors "$1/man/org.carved1.5.scd" "$1/daemon/bus-error.c"
promise "carved(8) has every error" names_errors "$1/man/carved.8.scd" "$1/daemon/bus-error.c"
promise "carved.conf(5) has every setting" names_settings "$1/man/carved.conf.5.scd" "$1/daemon/config.c"
promise "org.carved1(5) has examples" test "$(example_count "$1/man/org.carved1.5.scd")" -ge 5
promise "the examples of org.carved1(5) run" runs_together "$1/man/org.carved1.5.scd"
for name in carvectl.1 carved.8 carved.conf.5; do
        promise "${name%.*}(${name##*.}) has examples" test "$(example_count "$1/man/$name.scd")" -ge 1
        promise "the examples of ${name%.*}(${name##*.}) run" runs_together "$1/man/$name.scd"
done
promise "carved-sim(1) has every option and every verb" complete "$page"
count=$(example_count "$page")
promise "it has examples" test "$count" -ge 5
for n in $(seq "$count"); do
        promise "example $n of carved-sim(1) runs" runs "$page" "$n"
done
end
