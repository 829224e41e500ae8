# SPDX-License-Identifier: LGPL-2.1-or-later
# `carvectl help`, carvectl(1) and the completions of three shells say the same; and the completions know this host.
# $1: the source tree. On host a2, with a vGPU on it.
. "$(dirname "$0")/expect.sh"
source=$1
page=$source/man/carvectl.1.scd
bash_file=$source/ctl/completions/carvectl
zsh_file=$source/ctl/completions/_carvectl
fish_file=$source/ctl/completions/carvectl.fish
uuid=dd6772a8-7db8-4e96-9a73-f94c389d9bc3

same() { # WHAT-ONE ONE WHAT-OTHER OTHER: lists, a line each
        diff <(sort -u <<<"$2") <(sort -u <<<"$4") >"$scratch/difference" || { echo "$1 and $3:"; cat "$scratch/difference"; }
        [ -n "$2" ] || echo "$1: nothing could be read"
}

# Asked once.
carvectl help >"$scratch/help"
for verb in $(sed -n '/^Options/q; s/^  \([a-z][a-z-]*\).*/\1/p' "$scratch/help"); do
        carvectl help "$verb" >"$scratch/help-$verb"
done

help_verbs() {
        sed -n '/^Options/q; s/^  \([a-z][a-z-]*\).*/\1/p' "$scratch/help"
}

# Of a verb, its own; without one, those of all.
help_options() { # [VERB]
        if [ -n "${1-}" ]; then
                cat "$scratch/help-$1"
        else
                sed '1,/^Options$/d' "$scratch/help"
        fi | sed -n '/^Options of every/d; s/^  \(-.\), \(--[a-z-]*\).*/\1\n\2/p; s/^      \(--[a-z-]*\).*/\1/p; s/^  \(-[a-z]\) .*/\1/p'
}

the_manual_has_every_verb_and_no_other() {
        same help "$(help_verbs)" manual "$(sed -n '/^# VERBS/,/^# OPTIONS/s/^\*\([a-z]*\)\*.*/\1/p' "$page")"
}

the_manual_has_every_option_and_no_other() {
        local all

        all=$(help_options; for verb in $(help_verbs); do help_options "$verb"; done)
        same help "$all" manual "$(sed -n '/^# OPTIONS/,/^# LONG/p' "$page" | grep '^\*-' | grep -oE '^\*-[^_]*' | grep -oE -- '--?[A-Za-z-]+')"
}

the_manual_has_every_exit_code() {
        local n

        for n in 0 1 2 3 4; do
                sed -n '/^# EXIT STATUS/,/^# ENV/p' "$page" | grep -q "^$n$" || echo "$n is not in the manual"
        done
}

# What bash would offer for each line of standard input: "LINE<tab>OFFER".
bash_offers() {
        bash -c '
                . /usr/share/bash-completion/bash_completion
                . "$1"
                while IFS= read -r line; do
                        COMP_LINE=$line COMP_POINT=${#line}
                        # As readline breaks it: a colon and an equals sign are words.
                        read -ra COMP_WORDS < <(sed "s/\([:=]\)/ \1 /g" <<<"$line")
                        [[ $line == *" " ]] && COMP_WORDS+=("")
                        COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
                        COMP_KEY=9 COMP_TYPE=9 COMPREPLY=()
                        _carvectl
                        printf "$line\t%s\n" "${COMPREPLY[@]}"
                done' offers "$bash_file"
}

fish_offers() {
        HOME=$scratch fish --no-config -c "source $fish_file
                while read -l line
                        printf \"\$line\t%s\n\" (complete -C \"\$line\" | string replace -r '=?(\t.*)?\$' '')
                end"
}

# Those that have options of their own, and one that has none.
verbs_with_options() {
        echo tree
        grep -l '^Options$' "$scratch"/help-* | sed 's/.*help-//'
}

# Verbs, and options of each, as a shell offers them.
knows_verbs_and_options() { # OFFERS
        local verb

        { echo 'carvectl '; for verb in $(verbs_with_options); do echo "carvectl $verb -"; done; } | "$1" >"$scratch/offered"
        same help "$(help_verbs)" "$1" "$(offered 'carvectl ')"
        for verb in $(verbs_with_options); do
                same "help $verb" "$(help_options; help_options "$verb")" "$1, $verb" "$(offered "carvectl $verb -")"
        done
}

offered() { # LINE
        sed -n "s/^$1\t//p" "$scratch/offered"
}

knows_this_host() { # OFFERS; standard input: LINE<tab>WANTED
        local line want

        cat >"$scratch/wanted"
        cut -f1 "$scratch/wanted" | "$1" >"$scratch/offered" 2>&1
        while IFS=$'\t' read -r line want; do
                offered "$line" | grep -q -- "^$want" || { echo "'$line': $want is not among:"; offered "$line"; }
        done <"$scratch/wanted"
}

# Lines, and what must be among the offers.
questions() {
        printf '%s\t%s\n' 'carvectl enable ' 0000:08:00.0 'carvectl destroy d' $uuid 'carvectl create A2-4' A2-4Q \
                'carvectl explain 08:00.0 ' A2-16C 'carvectl create A2-4Q --on ' 0000:08:00.4 'carvectl cancel ' job/1 \
                'carvectl list v' vgpus
}

bash_knows_verbs_and_options() {
        knows_verbs_and_options bash_offers
}

# What follows a colon is a word of its own to readline.
bash_knows_this_host() {
        { questions; printf '%s\t%s\n' 'carvectl --json=p' pretty 'carvectl show 0000:08:01' 01.0; } | knows_this_host bash_offers
}

fish_knows_verbs_and_options() {
        knows_verbs_and_options fish_offers
}

fish_knows_this_host() {
        questions | knows_this_host fish_offers
}

# zsh shows what it would offer only at a prompt: so there is one, and a tab is typed.
zsh_offers() { # LINE
        zsh -f -c '
                zmodload zsh/zpty
                zpty z zsh -f -i
                zpty -w z "PROMPT=READY; fpath=($1 \$fpath); autoload -Uz compinit; compinit -u -d $2/dump; zstyle \":completion:*\" list-rows-first no; LISTMAX=1000; COLUMNS=200; LINES=200; stty cols 200 rows 200; bindkey \"^I\" list-choices; echo go"
                zpty -r -m z out "*go*READY*"
                zpty -w -n z "$3"$'"'\t'"'
                zpty -r -m z out "*$4*" && print -r -- "$4"
                zpty -d z' offers "${zsh_file%/*}" "$scratch" "$1" "$2" </dev/null 2>/dev/null
}

zsh_knows_verbs_and_options() {
        local verb option

        same help "$(help_verbs)" zsh "$(sed -n "/verbs=(/,/)$/s/^ *'\([a-z]*\):.*/\1/p" "$zsh_file")"
        same help "$(help_options)" zsh "$(sed -n '/options=(/,/^        )/p' "$zsh_file" | zsh_options)"
        for verb in $(help_verbs); do
                same "help $verb" "$(help_options "$verb"; echo .)" "zsh, $verb" "$(
                        awk -v begin="        $verb)" 'index($0, begin) == 1 && !done { on = 1 } on { print } on && /;;$/ { exit }' "$zsh_file" |
                                sed 's/_arguments -C.*//' | zsh_options
                        echo .
                )"
        done
}

# Options as _arguments has them.
zsh_options() {
        grep -oE -- "'?(\(-[^)]*\)|\*)?'?\{?-[^]['\" ]*" | sed -E "s/\([^)]*\)//; s/[*'{}]//g; s/[+=]//g; s/\[.*//" | tr ',' '\n' | grep -E -- '^--?[A-Za-z-]+$'
}

zsh_knows_this_host() {
        local want

        for want in 'enable |0000:08:00.0' "destroy |$uuid" 'explain 08:00.0 |A2-16C'; do
                [ "$(timeout 20 bash -c "$(declare -f zsh_offers); zsh_file=$zsh_file scratch=$scratch; zsh_offers 'carvectl ${want%|*}' '${want#*|}'")" = "${want#*|}" ] ||
                        echo "carvectl ${want%|*}: ${want#*|} is not offered"
        done
}

carvectl enable A2 -q
carvectl create A2-4Q --uuid $uuid -q >/dev/null
for each in the_manual_has_every_verb_and_no_other the_manual_has_every_option_and_no_other the_manual_has_every_exit_code \
        bash_knows_verbs_and_options bash_knows_this_host fish_knows_verbs_and_options fish_knows_this_host \
        zsh_knows_verbs_and_options zsh_knows_this_host; do
        promise "${each//_/ }" "$each"
done
end
