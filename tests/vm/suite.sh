# SPDX-License-Identifier: LGPL-2.1-or-later
# Sourced by ./check: carved on a real kernel. Each promise has a guest of its own, from a snapshot with carved installed.

export VM_LABEL=carved-check
export VM_CUTS=${VM_CUTS:-4}

lab() {
        tests/vm/lab "$@"
}

# The shipped files, where `meson install` puts them, and the programs that promises use.
vm_install() { # GUEST
        local root program

        root=$(mktemp -d)
        DESTDIR=$root/installed meson install -C build-plain --no-rebuild --quiet
        mkdir "$root/vm"
        cp -r tests/vm/guest/promise tests/vm/guest/carved.sh tests/vm/promises "$root/vm"
        for program in hold cycle load; do
                cp "build-plain/tests/vm/vm-$program" "$root/vm/$program"
        done
        # What NVIDIA's package brings, of the boards that the test modules can be.
        mkdir -p "$root/installed/usr/share/nvidia/vgpu"
        build-plain/sim/carved-sim --no-daemon --host mixed -- cat /usr/share/nvidia/vgpu/vgpuConfig.xml \
                >"$root/installed/usr/share/nvidia/vgpu/vgpuConfig.xml"
        tar -C "$root/installed" -cf "$root/installed.tar" .
        lab put --name "$1" "$root/installed.tar" /root/installed.tar
        lab put --name "$1" "$root/vm" /root/vm
        rm -rf "$root"
        lab run --name "$1" 'tar -C / --keep-directory-symlink -xf installed.tar && rm installed.tar &&
                systemctl daemon-reload && systemctl reload dbus && systemctl enable --now carved &&
                echo gpu-card >/etc/modules-load.d/gpu-card.conf && modprobe gpu-card && udevadm settle'
}

vm_prepare() {
        local name=check-base

        lab boot --name $name --iommu &&
                vm_install $name &&
                lab snap --name $name $VM_LABEL &&
                lab remove --name $name
}

# What the guest left behind, for whoever has to find out why.
vm_keep() { # GUEST NAME
        local dir=vm-logs/$2

        mkdir -p "$dir"
        cp "$(lab path --name "$1")/console.log" "$dir/" 2>/dev/null || true
        lab run --name "$1" --timeout 30 'journalctl -b -o short-monotonic; dmesg' >"$dir/journal" 2>&1 || true
        echo "#   the guest's console and journal are in $dir"
}

# One promise of a file in tests/vm/promises, in a fresh guest with so many cards.
vm_promise() { # FILE NAME CARDS
        local guest=check status=0

        lab boot --name $guest --from $VM_LABEL --gpus "$3" >/dev/null 2>&1 || { echo "not ok - $1: no guest for ${2//_/ }" && return; }
        lab run --name $guest --timeout 300 /root/vm/promise "$1" "$2" || status=$?
        [ $status -eq 0 ] || vm_keep $guest "$1-$2"
        lab remove --name $guest >/dev/null 2>&1
}

vm_promises() { # FILE
        local name cards

        sed -n 's/^\([a-z][a-z0-9_]*\)() { # promise\( with \([0-9]\) cards\)\?$/\1 \3/p' "tests/vm/promises/$1.sh" |
                while read -r name cards; do
                        vm_promise "$1" "$name" "${cards:-1}"
                done
}

run_vm() {
        local file

        say "Preparing the virtual machine"
        build build-plain
        step "the shipped files are installed in a guest" vm_prepare
        say "carved on Linux 6.1"
        for file in tests/vm/promises/*.sh; do
                tap vm_promises "$(basename "$file" .sh)"
        done
        say "The simulator's tables, judged by Linux 6.1"
        tap tests/vm/judge
        say "From outside: cards plugged and pulled, resets, power cuts"
        for file in tests/vm/outside/plug.sh tests/vm/outside/power.sh; do
                tap "$file"
        done
}
