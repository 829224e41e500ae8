# SPDX-License-Identifier: LGPL-2.1-or-later
# Sourced by lab: the cache. Each stage is a directory named after the hash of what went in, so a change of one thing
# builds that stage again and those after it, and no other.

default_cache() {
        if [ "$(id -u)" -eq 0 ]; then
                echo /var/cache/carved-vm
        else
                echo "${XDG_CACHE_HOME:-$HOME/.cache}/carved-vm"
        fi
}

cache=${CARVED_VM_CACHE:-$(default_cache)}

die() {
        echo "lab: $*" >&2
        exit 125
}

# What is done, to stderr: stdout belongs to the commands in the guest.
progress() {
        printf 'lab: %s\n' "$*" >&2
}

seconds_since() { # A value of EPOCHREALTIME
        awk -v a="$1" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.1f s", b - a }'
}

open_cache() {
        # Commas part QEMU's options, and socket names have at most 107 bytes.
        case "$cache" in
        *[!A-Za-z0-9/._-]*) die "the cache's path may have letters, digits and /._- only: $cache" ;;
        /*) ;;
        *) die "the cache's path is not absolute: $cache" ;;
        esac
        [ ${#cache} -le 60 ] || die "the cache's path is too long for socket names: $cache"
        mkdir -p "$cache/guests" "$cache/snaps"
}

# One at a time builds; a second one waits, and then finds what it needs.
lock_cache() {
        exec {cache_lock}>"$cache/lock"
        flock -n "$cache_lock" && return 0
        progress "waiting for another lab that is building"
        flock "$cache_lock"
}

unlock_cache() {
        exec {cache_lock}>&-
}

hash_of() { # TEXT and FILE…: contents, not paths
        local text=$1

        shift
        { printf '%s\n' "$text" && { [ $# -eq 0 ] || cat "$@"; }; } | sha256sum | cut -c 1-16
}

# Where a stage is, or will be: NAME HASH
stage_path() {
        echo "$cache/$1-$2"
}

# Builds a stage that is not there: PATH COMMAND…, which gets a new directory as its last argument. That one gets its
# name when all is done, so a half-built stage never counts.
stage_build() {
        stage_try "$@"
        [ "$stage_status" -eq 0 ] || die "could not build ${1##*/}: see ${1%-*}.log"
}

# The same, with what became of it in $stage_status. Not for conditions: there bash forgets -e, for all that is called.
stage_try() {
        local path=$1 name scratch begin=$EPOCHREALTIME

        stage_status=0
        if [ -d "$path" ]; then
                touch "$path"
                return 0
        fi
        name=${path##*/}
        name=${name%-*}
        scratch=$(mktemp -d "$cache/.build-$name.XXXXXX")
        shift
        progress "building $name"
        set +e
        (
                trap 'stage_abandon "$scratch"' EXIT
                set -e
                "$@" "$scratch" >"$cache/$name.log" 2>&1 </dev/null
                chmod 755 "$scratch"
                mv -T "$scratch" "$path"
        )
        stage_status=$?
        set -e
        if [ "$stage_status" -eq 0 ]; then
                progress "built $name in $(seconds_since "$begin")"
        else
                tail -n 30 "$cache/$name.log" >&2
        fi
}

stage_abandon() { # DIRECTORY, in which a guest may run
        [ ! -e "$1" ] || guest_cut "$1"
        rm -rf "$1"
}

# Of each stage the last few that were used stay, and those that a guest or a snapshot still stands on.
prune_cache() {
        local kind path

        for kind in kernel rootfs programs modules image snapshot; do
                find "$cache" -mindepth 1 -maxdepth 1 -type d -name "$kind-*" -printf '%T@ %p\n' | sort -rn | tail -n +5 |
                        while read -r _ path; do
                                grep -qsF "$path" "$cache"/{guests,snaps}/*/machine || rm -rf "$path"
                        done
        done
        find "$cache" -mindepth 1 -maxdepth 1 -name '.build-*' -mtime +0 -exec rm -rf {} +
}
