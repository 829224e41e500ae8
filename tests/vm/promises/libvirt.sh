# SPDX-License-Identifier: LGPL-2.1-or-later
# libvirt beside carved: they see the same, and a guest that libvirt starts keeps its vGPU.

xml() {
        cat <<END
<domain type='qemu'>
  <name>nested</name>
  <memory unit='MiB'>64</memory>
  <os><type arch='x86_64' machine='q35'>hvm</type></os>
  <devices>
    <emulator>/usr/bin/qemu-system-x86_64</emulator>
    $(busctl --json=short call org.carved1 "$(vgpu $UUID)" org.carved1.Vgpu GetLibvirtXml 'a{sv}' 0 | jq -r '.data[0]')
  </devices>
</domain>
END
}

libvirt_and_carved_see_the_same() { # promise
        local name

        enable
        create nvidia-746 $UUID
        name=$(get "$(vgpu $UUID)" Vgpu LibvirtName)
        systemctl start libvirtd
        virsh nodedev-list --cap mdev | grep -x "$name" >/dev/null
        virsh nodedev-dumpxml "$name" | grep "<type id='nvidia-746'/>"
        is parents "$(virsh nodedev-list --cap mdev_types | grep -c '^pci_')" 16
        destroy $UUID
        eventually 20 is_gone "$name"
}

is_gone() { # NAME
        ! virsh nodedev-list --cap mdev | grep -x "$1" >/dev/null
}

a_guest_starts_with_it_keeps_it_and_lets_it_go() { # promise
        local said pid

        enable
        create nvidia-746 $UUID
        systemctl start libvirtd
        xml >/tmp/nested.xml
        virsh create /tmp/nested.xml
        pid=$(pgrep -f 'guest=nested')
        is users "$(call "$(vgpu $UUID)" Vgpu.GetUsers '{}')" "([(uint32 $pid, '$(cat "/proc/$pid/comm")')],)"
        said=$(refused InUse destroy $UUID)
        [[ $said == *"$pid"* ]] || die "it does not say who: $said"
        is mdevs "$(mdevs)" "$UUID "
        virsh destroy nested
        destroy $UUID
        is mdevs "$(mdevs)" ""
}
