# SPDX-License-Identifier: LGPL-2.1-or-later
# Sourced by lab: Debian 12 for the guest, as a tar file.

ROOTFS_SUITE=bookworm

# systemd as PID 1, what carved needs and is packaged with, witnesses for tests, and libvirt for a domain in the guest.
ROOTFS_PACKAGES='systemd-sysv dbus udev polkitd kmod mdevctl pciutils libsystemd0 libglib2.0-0 libglib2.0-bin
libjson-glib-1.0-0 libpci3 libudev1 libfuse3-3 fuse3 iproute2 procps psmisc uuid-runtime jq strace gdbserver dmsetup less
libvirt-daemon-system libvirt-clients qemu-system-x86 qemu-utils'

# Nothing that would write, ask the network or start by itself while a test measures.
ROOTFS_MASKED='apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer e2scrub_reap.service
fstrim.timer logrotate.timer getty@tty1.service getty.target serial-getty@ttyS0.service systemd-timesyncd.service
systemd-resolved.service systemd-networkd.service systemd-network-generator.service systemd-firstboot.service
systemd-binfmt.service systemd-pcrphase.service systemd-pcrphase-sysinit.service systemd-hwdb-update.service
libvirt-guests.service dev-hugepages.mount sys-kernel-tracing.mount'

# Started by the test that wants them.
ROOTFS_DISABLED='libvirtd.service libvirtd.socket libvirtd-ro.socket libvirtd-admin.socket virtlogd.service
virtlogd.socket virtlogd-admin.socket virtlockd.socket virtlockd-admin.socket'

# The host's own sources of Debian, so that its mirror, or the lack of others, holds here too.
rootfs_sources() {
        apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT) $(ORIGIN)' 'Created-By: Packages' |
                awk -v suite="$ROOTFS_SUITE" '$5 == "Debian" && index($3, suite) == 1 && $4 == "main" { print $1, $2, $3, $4 }'
}

# How the host's apt gets at them: proxies and the like.
rootfs_apt_options() {
        apt-config dump | grep -E '^Acquire::(https?::|Check-Valid-Until)' | grep -v ' "";$'
}

rootfs_stage() {
        stage_path rootfs "$(hash_of "$ROOTFS_SUITE $ROOTFS_PACKAGES $ROOTFS_MASKED $ROOTFS_DISABLED $(declare -f rootfs_build)")"
}

rootfs_build() { # DIRECTORY
        local options=() sources=()

        mapfile -t sources < <(rootfs_sources)
        [ ${#sources[@]} -gt 0 ] || echo "apt here has no $ROOTFS_SUITE; taking Debian's own mirror"
        rootfs_apt_options >"$1/apt.conf" || true
        [ ! -s "$1/apt.conf" ] || options+=(--aptopt="$1/apt.conf")

        mmdebstrap --variant=minbase --include="$(echo $ROOTFS_PACKAGES | tr ' ' ',')" "${options[@]}" \
                --aptopt='APT::Install-Recommends "false"' \
                --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
                --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/info/*' \
                --customize-hook='rm -rf "$1"/etc/apt/sources.list* "$1"/etc/resolv.conf "$1"/etc/hostname' \
                --customize-hook='rm -rf "$1"/var/lib/apt/lists/* "$1"/var/cache/* "$1"/var/log/*.log' \
                --customize-hook='rm -f "$1"/etc/libvirt/qemu/networks/autostart/*' \
                --customize-hook="chroot \"\$1\" systemctl --quiet mask $(echo $ROOTFS_MASKED)" \
                --customize-hook="chroot \"\$1\" systemctl --quiet disable $(echo $ROOTFS_DISABLED)" \
                "$ROOTFS_SUITE" "$1/rootfs.tar" "${sources[@]}"
        rm "$1/apt.conf"
}
