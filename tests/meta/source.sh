# SPDX-License-Identifier: LGPL-2.1-or-later
# House rules that a machine can keep. $1: the source tree.
. "$(dirname "$0")/tap.sh"
cd "$1" || exit 1

# Files that git knows or would take; without git, all but build directories.
all() {
        git ls-files -co --exclude-standard 2>/dev/null || find . -type f -not -path './build*' -not -path './.git/*'
}

c_files() {
        all | grep '\.[ch]$'
}

licensed() {
        all | grep -vE '^LICENSES/|^debian/(control|changelog)|\.json$|^tests/fuzz/corpus/|\.dict$|^\.gitignore$|\.md$|\.svg$|\.png$' |
                while read -r f; do
                        [ ! -e "$f" ] || head -5 "$f" | grep -q 'SPDX-License-Identifier: \(LGPL-2.1-or-later\|GPL-2.0\)' || echo "$f"
                done
}

short_files() {
        c_files | while read -r f; do
                [ ! -e "$f" ] || [ "$(wc -l <"$f")" -le 600 ] || echo "$f: $(wc -l <"$f") lines"
        done
}

# From a brace that opens a function to the one that closes it.
short_functions() {
        c_files | xargs awk '
                /^[a-zA-Z].*\) \{$/ { name = $0; start = FNR }
                /^}/ && start { if (FNR - start - 1 > 60) print FILENAME ":" start ": " FNR - start - 1 " lines: " name; start = 0 }'
}

# The kernel module is written as kernel code is, with tabs.
tidy_lines() {
        c_files | grep -v '^tests/vm/module/' | xargs grep -n $'\t' /dev/null
        c_files | xargs grep -nE $'[ \t]+$' /dev/null
        c_files | xargs awk 'length($0) > 115 { print FILENAME ":" FNR ": " length($0) " columns" }'
}

no_utils() {
        all | grep -iE '(^|/|-)(utils?|helpers?|misc|common)\.[ch]$'
}

no_sleeping() {
        all | grep -E '^(lib|daemon)/.*\.c$' | xargs -r grep -nE '\b(sleep|usleep|nanosleep|g_usleep)\(' /dev/null
}

quiet() {
        "$@" || true
}

promise "every file says its licence" quiet licensed
promise "no C file is longer than 600 lines" quiet short_files
promise "no function is longer than 60 lines" quiet short_functions
promise "no tabs, no trailing blanks, no endless lines in C" quiet tidy_lines
promise "no file is called after nothing in particular" quiet no_utils
promise "nothing in lib or daemon sleeps" quiet no_sleeping
end
