# SPDX-License-Identifier: LGPL-2.1-or-later
# Sourced by lab: our own programs and modules, and the disk and initrd that they go into.

CFLAGS_LAB='-std=gnu17 -O2 -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Werror'

programs_stage() {
        stage_path programs "$(hash_of "$CFLAGS_LAB $(declare -f programs_build)" "$here"/*.[ch])"
}

programs_build() { # DIRECTORY
        local name

        cd "$here"
        # In the guest there may be another libc, or none yet.
        for name in agent init; do
                cc $CFLAGS_LAB -static -o "$1/$name" "$name.c" frame.c
        done
        for name in agent-client qmp end-process; do
                cc $CFLAGS_LAB -o "$1/$name" "$name.c" frame.c
        done
}

# Another directory, or none when empty, is for whoever works on the module.
module_dir=${CARVED_VM_MODULE-$here/module}

module_sources() {
        [ ! -d "$module_dir" ] || find "$module_dir" -type f \( -name '*.[chS]' -o -name Makefile -o -name Kbuild \) | sort
}

modules_stage() { # KERNEL
        local sources

        mapfile -t sources < <(module_sources)
        stage_path modules "$(hash_of "$1 ${sources[*]#"$module_dir"} $(declare -f modules_build)" "${sources[@]}")"
}

# The kernel's own mdev sample, which nobody here wrote, and our GPUs. Built in copies: the source tree stays clean.
modules_build() { # KERNEL DIRECTORY
        local kernel=$1 dir=$2 name

        cp -r "$kernel/mtty" "$dir/mtty"
        echo 'obj-m := mtty.o' >"$dir/mtty/Makefile"
        module_sources | while read -r name; do
                install -D -m 644 "$name" "$dir/module/${name#"$module_dir/"}"
        done
        for name in "$dir"/*/; do
                make -C "$kernel/headers" M="$name" modules
                strip --strip-debug "$name"/*.ko
                mv "$name"/*.ko "$dir"
        done
}

# Files of modules, each after those it needs: KERNEL RELEASE NAME…
module_files() {
        local kernel=$1 release=$2 name

        shift 2
        for name in "$@"; do
                modprobe -d "$kernel" -S "$release" --show-depends "$name" || echo "no module $name" >&2
        done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }'
}

guest_files() {
        find -L "$here/guest" -type f | sort
}

image_stage() { # KERNEL ROOTFS PROGRAMS MODULES
        local files

        mapfile -t files < <(guest_files)
        stage_path image "$(hash_of "$* ${files[*]#"$here"} $KERNEL_EARLY $KERNEL_MODULES $(declare -f image_build image_fill \
                image_modules initrd_build)" "${files[@]}")"
}

image_modules() { # KERNEL MODULES TREE
        local release dir

        release=$(cat "$1/release")
        dir=$3/lib/modules/$release
        module_files "$1" "$release" $KERNEL_MODULES | while read -r file; do
                install -D -m 644 "$file" "$dir/${file#*"/modules/$release/"}"
        done
        install -D -m 644 -t "$dir/updates" "$2"/*.ko
        cp "$1/lib/modules/$release"/modules.{order,builtin,builtin.modinfo} "$dir"
        depmod -b "$3" "$release"
}

image_fill() { # KERNEL PROGRAMS MODULES TREE
        local tree=$4 system=$4/etc/systemd

        image_modules "$1" "$3" "$tree"
        install -D -m 755 "$2/agent" "$tree/usr/local/sbin/lab-agent"
        install -D -m 644 "$here/guest/lab-agent.service" "$system/system/lab-agent.service"
        mkdir -p "$system/system/sysinit.target.wants" "$tree/var/log/journal"
        ln -s ../lab-agent.service "$system/system/sysinit.target.wants/"
        install -D -m 644 "$here/guest/journald.conf" "$system/journald.conf.d/lab.conf"
        install -D -m 644 "$here/guest/lab.conf" "$tree/etc/modprobe.d/lab.conf"
        [ ! -e "$here/guest/sriov-manage" ] ||
                install -D -m 755 "$here/guest/sriov-manage" "$tree/usr/lib/nvidia/sriov-manage"
        echo lab >"$tree/etc/hostname"
        echo '127.0.0.1 localhost lab' >"$tree/etc/hosts"
        # Without one systemd takes every boot for the first.
        echo 6c61620000004000a000000000000001 >"$tree/etc/machine-id"
}

# Uncompressed: the emulated processor would take longer to unpack it than QEMU to copy it.
initrd_build() { # KERNEL PROGRAMS INITRD
        local release scratch

        scratch=$(mktemp -d)
        release=$(cat "$1/release")
        mkdir -p "$scratch"/{dev,root}
        cp "$2/init" "$scratch/init"
        module_files "$1" "$release" $KERNEL_EARLY | while read -r file; do
                cp "$file" "$scratch"
                echo "/${file##*/}"
        done >"$scratch/modules"
        mknod "$scratch/dev/console" c 5 1
        (cd "$scratch" && find . | cpio --quiet -o -H newc) >"$3"
        rm -rf "$scratch"
}

# Runs one of the functions here as root, or as what looks like it.
as_owner() { # FUNCTION ARGUMENT…
        if [ "$(id -u)" -eq 0 ]; then
                "$@"
        else
                fakeroot bash -eu -o pipefail -c "$(declare -p here KERNEL_EARLY KERNEL_MODULES); $(declare -f); \"\$@\"" - "$@"
        fi
}

# Owners and modes of the files come from the tree.
image_build() { # KERNEL ROOTFS PROGRAMS MODULES DIRECTORY
        local dir=$5

        mkdir "$dir/tree"
        tar -xf "$2/rootfs.tar" -C "$dir/tree"
        image_fill "$1" "$3" "$4" "$dir/tree"
        initrd_build "$1" "$3" "$dir/initrd"
        truncate -s 3G "$dir/disk.raw"
        mke2fs -q -t ext4 -L lab -E root_owner=0:0,lazy_itable_init=1,lazy_journal_init=1,nodiscard \
                -d "$dir/tree" "$dir/disk.raw"
        rm -rf "$dir/tree"
        ln -s "$1" "$dir/kernel"
}
