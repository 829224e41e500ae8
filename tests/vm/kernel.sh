# SPDX-License-Identifier: LGPL-2.1-or-later
# Sourced by lab: a stock Debian kernel, its modules and what it takes to build others for it, from packages that are
# unpacked in the cache and never installed here.

# 6.1.192-1 oopses in ext4_mb_load_buddy_gfp() at the first write after its caches were dropped: a fix was taken back from
# a kernel where __filemap_get_folio() returns error pointers. So not simply the newest one.
KERNEL_PINNED=6.1.0-50=6.1.176-1

# In the initrd, in this order: what is needed to find the disk, talk to the agent, and tell of a panic.
KERNEL_EARLY='virtio_pci virtio_blk virtio_console virtio_rng ext4 crc32c-intel pvpanic-mmio'

# In the image. All of them would be 340 MB more, for hardware that this machine has not.
KERNEL_MODULES="$KERNEL_EARLY crc32c_generic autofs4 binfmt_misc bridge button configfs crc32-pclmul dm-flakey dm-mod \
dm-snapshot efivarfs evdev fuse ipv6 irqbypass loop mdev nvme overlay pci-pf-stub pci-stub softdog squashfs stp \
tap tun vfio vfio_iommu_type1 vfio_virqfd vfio-pci vfio-pci-core vhost vhost-net virtio_net"

# The best kernel that is not known to be bad, as ABI=VERSION: the pinned one, else the newest of the archive.
kernel_choice() {
        if kernel_usable "$KERNEL_PINNED"; then
                echo "$KERNEL_PINNED"
                return 0
        fi
        kernel_archive | while read -r candidate; do
                ! kernel_usable "$candidate" || echo "$candidate"
        done | sed -n 1p
}

kernel_archive() {
        apt-cache pkgnames linux-image-6.1.0- | grep -E '^linux-image-6\.1\.0-[0-9]+-amd64$' | xargs -r apt-cache madison |
                awk -F ' *[|] *' '{ gsub(/^ *linux-image-|-amd64$/, "", $1); print $1 "=" $2 }' | sort -u -t = -k 2,2 -rV
}

kernel_usable() { # ABI=VERSION
        local stage

        stage=$(kernel_stage "$1")
        [ ! -e "$stage.bad" ] || return 1
        [ -d "$stage" ] || { in_archive "linux-image-${1%=*}-amd64" "${1#*=}" &&
                in_archive "linux-headers-${1%=*}-amd64" "${1#*=}"; }
}

in_archive() { # PACKAGE VERSION
        apt-cache madison "$1" | grep -F " $2 " >/dev/null
}

# The tools to build modules, and the sample, may be of another 6.1; the archive does not keep all of them.
kernel_tools() { # VERSION
        local name

        for name in linux-kbuild-6.1 linux-compiler-gcc-12-x86 linux-source-6.1; do
                ! in_archive "$name" "$1" || name+="=$1"
                echo "$name"
        done
}

kernel_stage() { # ABI=VERSION
        stage_path kernel "$(hash_of "$1 $(declare -f kernel_build kernel_unpack kernel_extract)")"
}

# The uncompressed kernel: QEMU starts it directly (PVH), which saves its decompression in an emulated processor.
kernel_extract() { # BZIMAGE VMLINUX
        local offset

        for offset in $(LC_ALL=C grep -abo $'\xFD7zXZ' "$1" | cut -d : -f 1); do
                tail -c +$((offset + 1)) "$1" | xz -dc >"$2" 2>/dev/null || true
                readelf -h "$2" >/dev/null 2>&1 && return 0
        done
        echo "There is no kernel in $1"
        return 1
}

kernel_unpack() { # DEB DIRECTORY
        dpkg -x "$1" "$2"
        rm "$1"
}

kernel_build() { # ABI=VERSION DIRECTORY
        local abi=${1%=*} version=${1#*=} dir=$2 tools deb

        cd "$dir"
        mapfile -t tools < <(kernel_tools "$version")
        # As root apt wants to download as a user who may not write here.
        apt-get download -q -o APT::Sandbox::User=root "linux-image-$abi-amd64=$version" \
                "linux-headers-$abi-amd64=$version" "linux-headers-$abi-common=$version" "${tools[@]}"
        for deb in linux-*.deb; do
                kernel_unpack "$deb" tree
        done

        kernel_extract "tree/boot/vmlinuz-$abi-amd64" vmlinux
        mv "tree/boot/config-$abi-amd64" config
        mv tree/lib lib
        mkdir mtty
        tar -xOf tree/usr/src/linux-source-6.1.tar.xz linux-source-6.1/samples/vfio-mdev/mtty.c >mtty/mtty.c
        rm -rf tree/boot tree/usr/share lib/modules/*/build lib/modules/*/source tree/usr/src/linux-source-6.1.tar.xz tree/usr/src/linux-patch*

        # The headers name each other by where they would be installed; where the cache is may change.
        sed -i 's,/usr/src/,$(dir $(lastword $(MAKEFILE_LIST)))../,' "tree/usr/src/linux-headers-$abi-amd64/Makefile"
        ln -s "tree/usr/src/linux-headers-$abi-amd64" headers
        echo "$abi-amd64" >release
        depmod -b . "$abi-amd64"
}
