# SPDX-License-Identifier: LGPL-2.1-or-later
# Sourced by ./demo and ./check: gets this machine ready, and says what it does. Quiet where nothing is to do.

say() {
        printf '\n\033[1m%s\033[0m\n' "$*"
}

# Names of Build-Depends, without versions. $1: `long` or `vm` adds what only that check needs.
packages() {
        awk '/^[A-Za-z-]+:/ { on = /^Build-Depends:/ } on && !/^#/ { sub(/^Build-Depends:/, ""); print }' debian/control |
                tr ',' '\n' |
                sed "s/<pkg\.carved\.$1>//" | grep -v '<pkg\.carved\.' |
                sed 's/[(<[].*//; s/|.*//; s/[[:space:]]//g' | grep .
}

as_root() {
        if [ "$(id -u)" -eq 0 ]; then
                "$@"
        elif command -v sudo >/dev/null; then
                sudo "$@"
        else
                echo "This needs root, and there is no sudo: $*" >&2
                exit 1
        fi
}

install_packages() {
        local missing=()

        while read -r name; do
                dpkg-query -W -f '${Status}' "$name" 2>/dev/null | grep -q 'ok installed' || missing+=("$name")
        done < <(packages "${1-}")
        [ ${#missing[@]} -gt 0 ] || return 0

        say "Installing ${missing[*]}"
        as_root apt-get update -q
        as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}"
}

# $1: directory; the rest: options of meson setup.
build() {
        local dir=$1

        shift
        if [ ! -e "$dir/build.ninja" ]; then
                say "Configuring $dir"
                meson setup "$dir" "$@" >"$dir.log" 2>&1 || { cat "$dir.log"; return 1; }
                rm -f "$dir.log"
        fi
        if ! ninja -C "$dir" -n | grep -q 'no work to do'; then
                say "Building $dir"
                ninja -C "$dir" --quiet
        fi
}
