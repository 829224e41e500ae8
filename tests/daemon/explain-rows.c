/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <glib.h>
#include <systemd/sd-bus.h>

#include "explain.h"

#define U       "a0000000-0000-4000-8000-000000000001" /* ours */
#define F       "f0000000-0000-4000-8000-000000000002" /* somebody else's */
#define A2      "0000:08:00.0"
#define L40S    "0000:26:00.0"
#define PLAIN   "0000:05:00.0"
#define INVALID SD_BUS_ERROR_INVALID_ARGS

/* Somebody else's doings. */
#define FOREIGN_MDEV(vf, type)                                                                               \
        "echo " F " >$pci/" A2 "/virtfn" vf "/mdev_supported_types/nvidia-" type "/create"
#define FOREIGN_TYPE(vf, type) "echo " type " >$pci/" L40S "/virtfn" vf "/nvidia/current_vgpu_type"
#define REAL_PCI               "/sys/bus/pci/devices/"

/* While carved's write to create waits: in another shell, which does not know $pci. */
#define RACE_MDEV(ours, command) "meanwhile '*/0000:08:00.7/*/nvidia-" ours "/create' '" command "'"
#define FASTER_MDEV(vf, type)                                                                                \
        "echo " F " >" REAL_PCI A2 "/virtfn" vf "/mdev_supported_types/nvidia-" type "/create"
/* Likewise, where nothing tells of it afterwards. */
#define RACE_TYPE(vf, type)                                                                                  \
        "meanwhile '*/0000:26:00.4/nvidia/current_vgpu_type' 'echo " type " >" REAL_PCI L40S "/virtfn" vf    \
        "/nvidia/current_vgpu_type'"
#define FOREIGN_IS_THERE "test -e /sys/bus/mdev/devices/" F " && ! test -e /sys/bus/mdev/devices/" U
#define OURS_IS_THERE    "test -e /sys/bus/mdev/devices/" U

#define NOT_TOLD                                                                                             \
        ": size, number and place would fit, so it is the driver's own trouble; dmesg has a line "           \
        "'Failed to add vgpu create request'"
#define NO_PROCESS                                                                                           \
        " is in use: the kernel says so, though no process has it open; a VM that just ended may take some " \
        "seconds to let go"
#define WENT_WELL "The kernel said that all went well, but it did not happen: "
#define MANAGE    "/usr/lib/nvidia/sriov-manage"
#define LEFT                                                                                                 \
        "; " MANAGE ": cannot bind " A2 " to nvidia: No such device; the card was left without its driver, " \
        "and nvidia could not be bound again: Input/output error"

#define NUMVFS_ROW(errno_name, sentence, code, message)                                                      \
        {                                                                                                    \
                "plain", errno_name " of sriov_numvfs: " sentence, NULL,                                     \
                        "refuse '*/" PLAIN "/sriov_numvfs' " errno_name, "enable 4", code, message, NULL     \
        }
#define NUMVFS_REFUSED(errno_name, meaning)                                                                  \
        "The kernel refused '4' in 'sriov_numvfs' with " errno_name " (" meaning ")"

const Row rows[] = {
        /* ---- facts/generic.md 1.3: sriov_numvfs of an ordinary card ---- */
        NUMVFS_ROW("EINVAL", "not a number", "KernelRefused", NUMVFS_REFUSED("EINVAL", "Invalid argument")),
        { "plain", "ERANGE of sriov_numvfs: the driver takes fewer now", NULL,
          "refuse '*/" PLAIN "/sriov_numvfs' ERANGE; "
          "carved-simctl text '*/" PLAIN "/sriov_totalvfs' '2\\n' always",
          "enable 4", INVALID, "4 VFs are more than the driver takes now: 2",
          "test $(cat $pci/" PLAIN "/sriov_numvfs) = 0 && test $(cat $pci/" PLAIN
          "/sriov_drivers_autoprobe) = 1" },
        { "plain", "more VFs than there are are not even asked for", NULL, "carved-simctl log clear",
          "enable 9", INVALID, "GPU " PLAIN " has 8 VFs, not 9", "! carved-simctl log | grep -q numvfs" },
        { "plain", "ENOENT of sriov_numvfs: the driver can't", NULL,
          "echo " PLAIN " >$pci/" PLAIN "/driver/unbind; echo pcieport >$pci/" PLAIN "/driver_override; "
          "echo " PLAIN " >/sys/bus/pci/drivers_probe; carved-simctl settle",
          "refresh; enable 4", "NotSupported",
          "Driver pcieport of GPU " PLAIN " can't switch SR-IOV through sysfs", NULL },
        { "plain", "ENOENT of sriov_numvfs: the driver has gone meanwhile", NULL,
          "meanwhile '*/" PLAIN "/sriov_numvfs' 'echo " PLAIN " >" REAL_PCI PLAIN "/driver/unbind'",
          "enable 4", "NotReady", "No driver is bound to GPU " PLAIN ", so nobody can switch its VFs",
          "test $(driver " PLAIN ") = none && test $(cat $pci/" PLAIN "/sriov_drivers_autoprobe) = 1" },
        { "plain", "EBUSY of sriov_numvfs: somebody else was faster, and keeps his VFs", NULL,
          "meanwhile '*/" PLAIN "/sriov_drivers_autoprobe' 'echo 3 >" REAL_PCI PLAIN "/sriov_numvfs'",
          "enable 4", "Conflict", "3 VFs are enabled already, by somebody else, or the driver is locked",
          "test $(cat $pci/" PLAIN "/sriov_numvfs) = 3 && test $(cat $pci/" PLAIN
          "/sriov_drivers_autoprobe) = 1" },
        NUMVFS_ROW("EBUSY", "no VF is there, so the driver is locked", "KernelRefused",
                   NUMVFS_REFUSED("EBUSY", "Device or resource busy") ": the driver is not ready, or locked"),
        NUMVFS_ROW("EIO", "InitialVFs", "KernelRefused",
                   NUMVFS_REFUSED("EIO",
                                  "Input/output error") ": the card's SR-IOV capability contradicts itself "
                                                        "(InitialVFs)"),
        NUMVFS_ROW("ENOMEM", "firmware gave no room", "KernelRefused",
                   NUMVFS_REFUSED("ENOMEM",
                                  "Cannot allocate memory") ": there is no room for the VFs' memory or "
                                                            "bus numbers; firmware settings 'Above 4G "
                                                            "decoding' and 'ARI' are the usual causes"),
        NUMVFS_ROW("ENODEV", "a function it depends on is missing", "KernelRefused",
                   NUMVFS_REFUSED("ENODEV",
                                  "No such device") ": a function that must be switched together with it "
                                                    "is missing, or the driver is not in PF mode"),
        NUMVFS_ROW("ENOSYS", "what it depends on is no PF", "KernelRefused",
                   NUMVFS_REFUSED("ENOSYS",
                                  "Function not implemented") ": the function that it depends on is no "
                                                              "PF"),
        NUMVFS_ROW(
                "ENOSPC", "nothing left to share", "KernelRefused",
                NUMVFS_REFUSED("ENOSPC", "No space left on device") ": the card has nothing left to share"),
        NUMVFS_ROW("ECANCELED", "a wedged GPU", "KernelRefused",
                   NUMVFS_REFUSED("ECANCELED", "Operation canceled") ": the GPU is wedged; it needs a reset"),
        NUMVFS_ROW(
                "EUCLEAN", "provisioning left over", "KernelRefused",
                NUMVFS_REFUSED("EUCLEAN", "Structure needs cleaning") ": resources given to VFs by hand are "
                                                                      "left over"),
        { "plain", "EPERM of sriov_numvfs: guests have VFs", "enable 4",
          "refuse '*/" PLAIN "/sriov_numvfs' EPERM", "disable", "InUse",
          "The driver says that VFs are assigned to guests", NULL },
        { "plain", "VFs that stay though the kernel said that they went", "enable 8",
          "refuse '*/" PLAIN "/sriov_numvfs' ignore", "disable", "KernelRefused",
          "No VFs were asked for: The write succeeded, but 8 VFs are there", NULL },
        { "limits", "a driver that makes fewer VFs than asked for, and says that all went well", NULL, NULL,
          "enable 5", "KernelRefused",
          "5 VFs were asked for: The write succeeded, but 3 VFs are there; the driver takes no more", NULL },
        { "limits", "a driver that allows no VFs: there is nothing to switch", NULL, NULL,
          "enable 0 at=" PLAIN, SD_BUS_ERROR_UNKNOWN_METHOD,
          "Unknown method EnableVfs or interface org.carved1.Sriov.", NULL },
        { "limits", "no driver, no VFs", NULL, NULL, "enable 0 at=0000:07:00.0", "NotReady",
          "The VFs of GPU 0000:07:00.0 can't be switched: No driver is bound to the card", NULL },

        /* ---- whole VFs ---- */
        { "plain", "vfio-pci does not take the VF", "enable 4",
          "refuse /driver/vfio-pci/probe/0000:05:00.2 EINVAL", "create vf on=1 uuid=" U, "KernelRefused",
          "The kernel refused 'vfio-pci' in 'bus/pci/drivers_probe' with ENODEV (No such device): the vfio "
          "driver "
          "did not take the VF; The write succeeded, but vfio-pci did not take the VF",
          NULL },
        { "plain", "the kernel does not let vfio-pci have the VF", "enable 4",
          "refuse /sys/bus/pci/drivers_probe EINVAL", "create vf on=1 uuid=" U, "KernelRefused",
          "The kernel refused '0000:05:00.2' in 'bus/pci/drivers_probe' with EINVAL (Invalid argument): the "
          "vfio "
          "driver did not take the VF",
          NULL },
        { "plain", "a probe that says that all went well, and did nothing", "enable 4",
          "refuse /sys/bus/pci/drivers_probe ignore", "create vf on=1 uuid=" U, "KernelRefused",
          "The kernel refused 'vfio-pci' in 'bus/pci/drivers_probe' with ENODEV (No such device): the vfio "
          "driver "
          "did not take the VF; The write succeeded, but vfio-pci did not take the VF",
          NULL },
        { "plain", "the host itself uses the VF", "enable 4",
          "echo 0000:05:00.2 >/sys/bus/pci/drivers_probe; carved-simctl settle",
          "refresh; create vf on=1 uuid=" U, "Conflict",
          "Virtual function can't be had on VF 0000:05:00.2: The host itself uses the VF, by driver plaingpu",
          NULL },
        { "plain", "a whole VF that a VM uses", "enable 4; create vf on=1 uuid=" U,
          "carved-simctl hold 0000:05:00.2", "destroy " U, "InUse",
          "vGPU " U " is in use by process * (qemu-sim)", NULL },
        { "plain", "VFs of which a VM uses one are not switched off", "enable 4; create vf on=1 uuid=" U,
          "carved-simctl hold 0000:05:00.2", "disable destroy-vgpus", "InUse",
          "vGPU " U " is in use by process * (qemu-sim)", NULL },
        { "plain", "VFs of which a VM uses one that is not carved's", "enable 4",
          "echo vfio-pci >$pci/0000:05:00.3/driver_override; echo 0000:05:00.3 >/sys/bus/pci/drivers_probe; "
          "carved-simctl settle; carved-simctl hold 0000:05:00.3",
          "refresh; disable", "InUse", "VFs are in use by process * (qemu-sim)", NULL },
        { "plain", "a whole VF that stays though the kernel said that it went",
          "enable 4; create vf on=1 uuid=" U, "refuse /sys/bus/pci/drivers/vfio-pci/unbind ignore",
          "destroy " U, "KernelRefused", WENT_WELL "Take VF 0000:05:00.2, vGPU " U ", from its vfio driver",
          NULL },
        { "plain", "EIO of unbind: the VF stays as it was, bespoken", "enable 4; create vf on=1 uuid=" U,
          "refuse /sys/bus/pci/drivers/vfio-pci/unbind EIO", "destroy " U, "KernelRefused",
          "The kernel refused '0000:05:00.2' in 'driver/unbind' with EIO (Input/output error): the driver "
          "could not "
          "take it away",
          NULL },
        { "plain", "another number of VFs while one is taken", "enable 4; create vf on=1 uuid=" U, NULL,
          "enable 6", "Conflict",
          "4 VFs are enabled, and VF 0000:05:00.2 is taken: another number means to disable them all first",
          NULL },
        { "no-iommu", "a whole VF without IOMMU", "enable 4 at=" PLAIN, NULL,
          "create vf on=1 uuid=" U " at=" PLAIN, "NotReady",
          "Virtual function can't be had on VF 0000:05:00.2: The VF is in no IOMMU group: the IOMMU is off "
          "or missing",
          NULL },

        /* ---- facts/nvidia.md 1.5: sriov-manage ---- */
        { "a2", "Cannot obtain unbindLock: somebody has the card open, five retries long", NULL,
          "carved-simctl hold " A2 "; carved-simctl log clear", "enable 0", "InUse",
          "A client of NVIDIA's driver has the card open, so its driver can't be unbound (unbindLock): a VM, "
          "DCGM, "
          "nvidia-smi or CUDA",
          "test $(carved-simctl log | grep -c 'unbindLock \"1') = 6 && test $(driver " A2 ") = nvidia" },
        { "a2", "sriov-manage says that all went well, and there are no VFs", NULL,
          "refuse '*/" A2 "/sriov_numvfs' ignore", "enable 0", "KernelRefused",
          "sriov-manage -e said that all went well, but 0 VFs are enabled, not 16; a driver that has just "
          "come up "
          "may need half a minute",
          NULL },
        { "a2", "sriov-manage leaves the card without driver: it is bound again", NULL,
          "refuse /driver/nvidia/probe/" A2 " EIO", "enable 0", "KernelRefused",
          "sriov-manage -e ended with status 1: Enabling VFs on " A2 "; " MANAGE ": cannot bind " A2
          " to nvidia: No such device; the card was left without its driver, which was bound again",
          NULL },
        { "a2", "sriov-manage leaves the card without driver, for good", NULL,
          "refuse /driver/nvidia/probe/" A2 " EIO always", "enable 0", "UndoFailed",
          "sriov-manage -e ended with status 1: Enabling VFs on " A2 LEFT
          ". Not undone: Run sriov-manage -d " A2 ": no VFs (Disabling VFs on " A2 LEFT ")",
          "test $(driver " A2 ") = none && test $(cat $pci/" A2 "/sriov_numvfs) = 0" },
        { "a2", "sriov-manage makes no VFs, and leaves the card without driver for good: that is not undone",
          NULL, "refuse /driver/nvidia/probe/" A2 " EIO always; refuse '*/" A2 "/sriov_numvfs' EIO",
          "enable 0", "UndoFailed",
          "sriov-manage -e ended with status 1: Enabling VFs on " A2 "; " MANAGE
          ": cannot set sriov_numvfs of " A2 " to 16" LEFT ". Not undone: *",
          "test $(driver " A2 ") = none" },
        { "a2", "a card that is to be passed through whole", NULL,
          "echo " A2 " >$pci/" A2 "/driver/unbind; echo vfio-pci >$pci/" A2 "/driver_override; "
          "echo " A2 " >/sys/bus/pci/drivers_probe; carved-simctl settle",
          "refresh; enable 0", "Conflict",
          "The VFs of GPU " A2
          " can't be switched: The card is bound to vfio-pci, to be passed through whole",
          NULL },
        { "a2", "sriov-manage can't unbind the card", NULL, "refuse /sys/bus/pci/drivers/nvidia/unbind EBUSY",
          "enable 0", "KernelRefused",
          "sriov-manage -e ended with status 1: Enabling VFs on " A2 "; " MANAGE ": cannot unbind " A2
          " from nvidia",
          NULL },
        { "a2", "sriov-manage is not there", NULL, "config SriovManage=/nonexistent", "enable 0",
          "NotSupported",
          "'/nonexistent' can't be run (No such file or directory): it comes with NVIDIA's vGPU host driver",
          NULL },
        { "a2", "one VF never gets its driver", NULL,
          "config StepTimeoutSec=3; refuse /driver/nvidia/probe/0000:08:00.6 ENODEV always", "enable 0",
          "NotReady", "1 of 16 VFs got no driver: 0000:08:00.6", NULL },
        { "a2", "one VF never gets its types", NULL,
          "config StepTimeoutSec=3; refuse /driver/nvidia/types/0000:08:00.6 EIO always", "enable 0",
          "NotReady", "The vGPU types of 1 of 16 VFs were not published in time: has nvidia-vgpud run?",
          NULL },
        { "half", "nvidia-vgpud has not run, mdev", NULL, "config StepTimeoutSec=3", "enable 0", "NotReady",
          "The vGPU types of 16 of 16 VFs were not published in time: has nvidia-vgpud run?", NULL },
        { "half", "nvidia-vgpud has not run, vendor VFIO", NULL, "config StepTimeoutSec=3",
          "enable 0 at=0000:0a:00.0", "NotReady",
          "The vGPU types of 32 of 32 VFs were not published in time: has nvidia-vgpud run?", NULL },
        { "half", "the ordinary driver", NULL, "config StepTimeoutSec=3", "enable 0 at=0000:09:00.0",
          "NotReady",
          "16 of 16 VFs got no driver: it may be the ordinary driver, not the vGPU host driver, which takes "
          "no VFs",
          NULL },
        { "no-iommu", "NVIDIA's driver takes no VFs without IOMMU", NULL, "config StepTimeoutSec=3",
          "enable 0", "NotReady", "16 of 16 VFs got no driver: the IOMMU is off or missing", NULL },
        { "a2", "some of NVIDIA's VFs", NULL, NULL, "enable 4", "NotSupported",
          "GPU " A2 " takes all of its 16 VFs or none: NVIDIA's sriov-manage knows no other number", NULL },
        { "a2", "VFs with vGPUs are not switched off", "enable 0; create A2-4Q uuid=" U, NULL, "disable",
          "Conflict", "vGPUs are on VFs of GPU " A2 ": " U "; option destroy-vgpus destroys them", NULL },
        { "a2", "VFs with somebody else's vGPUs are not switched off at all", "enable 0",
          FOREIGN_MDEV("3", "746") "; carved-simctl settle", "refresh; disable destroy-vgpus", "Conflict",
          "vGPUs that carved did not make are on VFs of GPU " A2 ": " F, NULL },
        { "a2", "sriov-manage -d fails: the vGPUs that went for it come back",
          "enable 0; create A2-4Q on=3 uuid=" U " params=frame_rate_limiter=0",
          "refuse '*/" A2 "/sriov_numvfs' EBUSY", "disable destroy-vgpus", "KernelRefused",
          "sriov-manage -d ended with status 1: Disabling VFs on " A2 "; " MANAGE
          ": cannot set sriov_numvfs of " A2 " to 0",
          "carved-simctl settle; grep -x frame_rate_limiter=0 $pci/0000:08:00.7/" U "/nvidia/vgpu_params" },

        /* ---- facts/nvidia.md 2.5: mdev ---- */
        { "a2", "VFs are off", NULL, NULL, "create A2-4Q", "NotReady",
          "NVIDIA A2-4Q can't be had on GPU " A2 ": SR-IOV is off: none of 16 VFs is enabled", NULL },
        { "a2", "no such type", "enable 0", NULL, "create A2-5Q", "NoSuchType",
          "GPU " A2 " has no type 'A2-5Q'", NULL },
        { "a2", "not a UUID", "enable 0", NULL, "create A2-4Q uuid=" U "0", INVALID, "'" U "0' is not a UUID",
          NULL },
        { "a2", "another size, known before", "enable 0; create A2-4Q uuid=" U, NULL, "create A2-8Q",
          "TypeNotAvailable",
          "NVIDIA A2-8Q can't be had on GPU " A2 ": vGPU " U
          " fixes the card to its own size, 4096 MiB; to be had "
          "are NVIDIA A2-4Q, NVIDIA A2-4A, NVIDIA A2-4C",
          NULL },
        { "a2", "another size, which somebody made just now: EIO", "enable 0",
          RACE_MDEV("747", FASTER_MDEV("5", "746")), "create A2-8Q on=3 uuid=" U, "TypeNotAvailable",
          "NVIDIA A2-8Q can't be had on VF 0000:08:00.7: vGPU " F
          " fixes the card to its own size, 4096 MiB; to be "
          "had are NVIDIA A2-4Q, NVIDIA A2-4A, NVIDIA A2-4C",
          FOREIGN_IS_THERE },
        { "a2", "no more of it, since somebody made the last one just now: EIO", "enable 0",
          RACE_MDEV("748", FASTER_MDEV("5", "748")), "create A2-16Q uuid=" U " on=3", "NoCapacity",
          "NVIDIA A2-16Q: the card takes 1 of it, and 1 vGPUs are there", FOREIGN_IS_THERE },
        { "a2", "no more of it, known before", "enable 0; create A2-16Q uuid=" U, NULL, "create A2-16Q",
          "NoCapacity",
          "NVIDIA A2-16Q can't be had on GPU " A2 ": All that the card can hold of this type is there",
          NULL },
        { "a2", "the VF was taken just now: EIO", "enable 0", RACE_MDEV("746", FASTER_MDEV("3", "754")),
          "create A2-4Q on=3 uuid=" U, "Conflict",
          "VF 0000:08:00.7 holds vGPU " F " already, of type nvidia-754", FOREIGN_IS_THERE },
        { "a2", "the VF is taken, known before", "enable 0; create A2-4Q on=3 uuid=" U, NULL,
          "create A2-4Q on=3", "Conflict",
          "NVIDIA A2-4Q can't be had on VF 0000:08:00.7: The VF holds vGPU " U, NULL },
        { "a2", "EIO with no cause to be seen", "enable 0", "refuse '*/0000:08:00.7/*/nvidia-746/create' EIO",
          "create A2-4Q on=3 uuid=" U, "KernelRefused",
          "The kernel refused '" U "' in 'mdev_supported_types/nvidia-746/create' with EIO (Input/output "
          "error)" NOT_TOLD,
          NULL },
        { "a2", "EEXIST: somebody took the name just now", "enable 0",
          RACE_MDEV("746", FASTER_MDEV("5", "746")), "create A2-4Q on=3 uuid=" F, "Exists",
          "A mediated device " F " exists already on this host, as something else", FOREIGN_IS_THERE },
        { "a2", "a vGPU of that name, known before", "enable 0; create A2-4Q on=5 uuid=" U, NULL,
          "create A2-4Q on=3 uuid=" U, "Exists",
          "vGPU " U " exists already, as nvidia-746 on GPU " A2 ", VF index 5", NULL },
        { "a2", "ENODEV: the parent goes away", "enable 0",
          "refuse '*/0000:08:00.7/*/nvidia-746/create' ENODEV", "create A2-4Q on=3 uuid=" U, "NotReady",
          "The place for the vGPU was going away when it was to be made (No such device)", NULL },
        { "a2", "the VFs went just now", "enable 0", RACE_MDEV("746", MANAGE " -d " A2),
          "create A2-4Q on=3 uuid=" U, "NotReady", "The card, or its VF, is gone",
          "test $(cat $pci/" A2 "/sriov_numvfs) = 0 && test $(driver " A2 ") = nvidia" },
        { "a2", "EINVAL: the kernel takes no such UUID", "enable 0",
          "refuse '*/0000:08:00.7/*/nvidia-746/create' EINVAL", "create A2-4Q on=3 uuid=" U, "KernelRefused",
          "The kernel refused '" U
          "' in 'mdev_supported_types/nvidia-746/create' with EINVAL (Invalid argument): "
          "it takes no such UUID",
          NULL },
        { "a2", "a create that says that all went well, and made nothing", "enable 0",
          "refuse '*/0000:08:00.7/*/nvidia-746/create' ignore", "create A2-4Q on=3 uuid=" U, "KernelRefused",
          WENT_WELL "Create vGPU " U " of type nvidia-746 on VF 0000:08:00.7", NULL },
        { "a2", "the VF was unbound by hand just now", "enable 0",
          RACE_MDEV("746", "echo 0000:08:00.7 >" REAL_PCI "0000:08:00.7/driver/unbind"),
          "create A2-4Q on=3 uuid=" U, "NotReady", "No driver is bound to VF 0000:08:00.7",
          "test $(driver 0000:08:00.7) = none" },
        { "a2", "the VF was unbound and bound by hand just now, and so lost to the driver", "enable 0",
          RACE_MDEV("746", "echo 0000:08:00.7 >" REAL_PCI "0000:08:00.7/driver/unbind; "
                           "echo 0000:08:00.7 >/sys/bus/pci/drivers_probe"),
          "create A2-4Q on=3 uuid=" U, "NotReady",
          "The driver has not published the vGPU types of VF 0000:08:00.7 yet",
          "test $(driver 0000:08:00.7) = nvidia" },
        { "a2", "a type that the driver does not offer, as a MIG type without MIG", "enable 0",
          "carved-simctl text '*/nvidia-746/available_instances' '0\\n' always",
          "refresh; create A2-4Q uuid=" U, "TypeNotAvailable",
          "NVIDIA A2-4Q can't be had on GPU " A2 ": the driver does not offer it*", NULL },
        { "a2", "parameters that can't be set take the new vGPU with them", "enable 0",
          "refuse '*/" U "/nvidia/vgpu_params' E2BIG",
          "create A2-4Q on=3 uuid=" U " params=frame_rate_limiter=0", INVALID,
          "The driver takes no parameters of 20 bytes", NULL },
        { "a2", "a vGPU that a VM uses is not removed", "enable 0; create A2-4Q on=3 uuid=" U,
          "carved-simctl hold " U, "destroy " U, "InUse", "vGPU " U " is in use by process * (qemu-sim)",
          NULL },
        { "a2", "VFs with a vGPU that a VM uses are not switched off",
          "enable 0; create A2-4Q on=2; create A2-4Q on=3 uuid=" U, "carved-simctl hold " U,
          "disable destroy-vgpus", "InUse", "vGPU " U " is in use by process * (qemu-sim)", NULL },
        { "a2", "EBUSY of remove, for ever", "enable 0; create A2-4Q on=3 uuid=" U,
          "refuse '*/" U "/remove' EBUSY always", "destroy " U, "InUse", "vGPU " U NO_PROCESS, NULL },
        { "old-kernel", "a VM starts just when its vGPU is removed: EPERM",
          "enable 0; create A2-4Q on=3 uuid=" U, "meanwhile '*/" U "/remove' 'carved-simctl hold " U "'",
          "destroy " U, "InUse", "vGPU " U " is in use by process * (qemu-sim)", OURS_IS_THERE },
        { "a2", "EIO of remove: the driver's own trouble", "enable 0; create A2-4Q on=3 uuid=" U,
          "refuse '*/" U "/remove' EIO", "destroy " U, "KernelRefused",
          "The kernel refused '1' in '" U
          "/remove' with EIO (Input/output error): the driver could not take it "
          "away",
          NULL },
        { "a2", "a remove that says that all went well, and removed nothing",
          "enable 0; create A2-4Q on=3 uuid=" U, "refuse '*/" U "/remove' ignore", "destroy " U,
          "KernelRefused", WENT_WELL "Remove vGPU " U " from VF 0000:08:00.7", NULL },
        { "a2", "somebody else's vGPU", "enable 0", FOREIGN_MDEV("3", "746") "; carved-simctl settle",
          "refresh; destroy " F, "NotOurs", "vGPU " F " was not made by carved: its maker has to do that",
          NULL },
        { "a2", "parameters of a vGPU that a VM uses", "enable 0; create A2-4Q on=3 uuid=" U,
          "carved-simctl hold " U, "params " U " frame_rate_limiter=0", "InUse",
          "vGPU " U " is in use by process * (qemu-sim)", NULL },
        { "a2", "parameters too long for the driver: E2BIG", "enable 0; create A2-4Q on=3 uuid=" U,
          "refuse '*/" U "/nvidia/vgpu_params' E2BIG", "params " U " frame_rate_limiter=0", INVALID,
          "The driver takes no parameters of 20 bytes", NULL },
        { "a2", "parameters that say that all went well, and were not set",
          "enable 0; create A2-4Q on=3 uuid=" U, "refuse '*/" U "/nvidia/vgpu_params' ignore",
          "params " U " frame_rate_limiter=0", "KernelRefused",
          WENT_WELL "Set the parameters of vGPU " U " to 'frame_rate_limiter=0'", NULL },
        { "t4", "another size, which somebody made just now, on a card without VFs: EIO", NULL,
          "meanwhile '*/nvidia-233/create' 'echo " F
          " >/sys/class/mdev_bus/0000:3b:00.0/mdev_supported_types/nvidia-232/create'",
          "create T4-8Q uuid=" U, "TypeNotAvailable",
          "GRID T4-8Q can't be had on GPU 0000:3b:00.0: vGPU " F
          " fixes the card to its own size, 4096 MiB; to be "
          "had are GRID T4-4A, GRID T4-4Q, GRID T4-4C",
          FOREIGN_IS_THERE },
        { "t4", "the card's driver went just now", NULL,
          "meanwhile '*/nvidia-233/create' 'echo 0000:3b:00.0 >" REAL_PCI "0000:3b:00.0/driver/unbind'",
          "create T4-8Q uuid=" U, "NotReady", "No driver is bound to GPU 0000:3b:00.0",
          "test $(driver 0000:3b:00.0) = none" },
        /* The last one: a card that is pulled stays away over a reboot. */
        { "t4", "the card was pulled just now", NULL,
          "meanwhile '*/nvidia-233/create' 'carved-simctl unplug 0000:3b:00.0'", "create T4-8Q uuid=" U,
          "NoSuchGpu", "GPU 0000:3b:00.0 was taken away", "carved-simctl plug 0000:3b:00.0" },

        /* ---- facts/nvidia.md 3.2: vendor VFIO. It tells of nothing by an event. ---- */
        { "l40s", "EPERM: the VF has a type already", "enable 0", FOREIGN_TYPE("0", "1150"),
          "create L40S-4Q on=0 uuid=" U, "Conflict", "*VF 0000:26:00.4*holds vGPU *-*-5*-*-*",
          "grep -x 1150 $pci/0000:26:00.4/nvidia/current_vgpu_type" },
        { "l40s", "EIO: somebody made another size", "enable 0", RACE_TYPE("5", "1148"),
          "create L40S-4Q on=0 uuid=" U, "TypeNotAvailable",
          "NVIDIA L40S-4Q can't be had on VF 0000:26:00.4: vGPU * fixes the card to its own size, 2048 MiB; "
          "to be "
          "had are NVIDIA L40S-2B, NVIDIA L40S-2Q, NVIDIA L40S-2A",
          "grep -x 0 $pci/0000:26:00.4/nvidia/current_vgpu_type" },
        { "l40s", "EIO: somebody made the last one", "enable 0", RACE_TYPE("5", "1156"),
          "create L40S-48Q on=0 uuid=" U, "NoCapacity",
          "NVIDIA L40S-48Q: the card takes 1 of it, and 1 vGPUs are there",
          "grep -x 0 $pci/0000:26:00.4/nvidia/current_vgpu_type" },
        { "l40s", "EIO with no cause to be seen, vendor VFIO", "enable 0",
          "refuse '*/0000:26:00.4/nvidia/current_vgpu_type' EIO", "create L40S-4Q on=0 uuid=" U,
          "KernelRefused",
          "The kernel refused '1150' in 'nvidia/current_vgpu_type' with EIO (Input/output error)" NOT_TOLD,
          NULL },
        { "l40s", "ENODEV: the GPU goes away", "enable 0",
          "refuse '*/0000:26:00.4/nvidia/current_vgpu_type' ENODEV", "create L40S-4Q on=0 uuid=" U,
          "NotReady", "The place for the vGPU was going away when it was to be made (No such device)", NULL },
        { "l40s", "a type that says that all went well, and was not set", "enable 0",
          "refuse '*/0000:26:00.4/nvidia/current_vgpu_type' ignore", "create L40S-4Q on=0 uuid=" U,
          "KernelRefused", WENT_WELL "Create vGPU " U " of type nvidia-1150 on VF 0000:26:00.4", NULL },
        { "l40s", "a VF that a VM uses keeps its type", "enable 0; create L40S-4Q on=0 uuid=" U,
          "carved-simctl hold 0000:26:00.4", "destroy " U, "InUse",
          "vGPU " U " is in use by process * (qemu-sim)", NULL },
        { "l40s", "EIO of taking the type off", "enable 0; create L40S-4Q on=0 uuid=" U,
          "refuse '*/0000:26:00.4/nvidia/current_vgpu_type' EIO", "destroy " U, "KernelRefused",
          "The kernel refused '0' in 'nvidia/current_vgpu_type' with EIO (Input/output error): the driver "
          "could not "
          "take it away",
          NULL },
        { "l40s", "a type that stays though the kernel said that it went",
          "enable 0; create L40S-4Q on=0 uuid=" U, "refuse '*/0000:26:00.4/nvidia/current_vgpu_type' ignore",
          "destroy " U, "KernelRefused", WENT_WELL "Remove vGPU " U " from VF 0000:26:00.4", NULL },
        { "l40s", "EPERM: parameters of a VF that a VM uses", "enable 0; create L40S-4Q on=0 uuid=" U,
          "carved-simctl hold 0000:26:00.4", "params " U " frame_rate_limiter=0", "InUse",
          "vGPU " U " is in use by process * (qemu-sim)", NULL },
        { "l40s", "VFs with a vGPU that somebody made unseen are not switched off", "enable 0",
          FOREIGN_TYPE("5", "1148"), "disable", "Conflict",
          "vGPUs that carved did not make are on VFs of GPU " L40S ": *-*-5*-*-*",
          "grep -x 1148 $pci/" L40S "/virtfn5/nvidia/current_vgpu_type" },
        { "strict", "upstream's EINVAL: another size", "enable 0", RACE_TYPE("5", "1148"),
          "create L40S-4Q on=0 uuid=" U, "TypeNotAvailable",
          "NVIDIA L40S-4Q can't be had on VF 0000:26:00.4: vGPU * fixes the card to its own size, 2048 MiB; "
          "to be "
          "had are NVIDIA L40S-2B, NVIDIA L40S-2Q, NVIDIA L40S-2A",
          "grep -x 0 $pci/0000:26:00.4/nvidia/current_vgpu_type" },
        { "strict", "upstream's ENOSPC: no more of it", "enable 0", RACE_TYPE("5", "1156"),
          "create L40S-48Q on=0 uuid=" U, "NoCapacity",
          "NVIDIA L40S-48Q: the card takes 1 of it, and 1 vGPUs are there",
          "grep -x 0 $pci/0000:26:00.4/nvidia/current_vgpu_type" },
        { "strict", "upstream's ENODEV: the driver has lost the type", "enable 0",
          "refuse '*/0000:26:00.4/nvidia/current_vgpu_type' ENODEV; "
          "carved-simctl text '*/nvidia/creatable_vgpu_types' 'ID    : vGPU Name\\n1148  : NVIDIA "
          "L40S-2Q\\n' always",
          "create L40S-4Q on=0 uuid=" U, "TypeNotAvailable",
          "NVIDIA L40S-4Q can't be had on VF 0000:26:00.4: the driver does not offer it*",
          "grep -x 0 $pci/0000:26:00.4/nvidia/current_vgpu_type" },
        { "strict", "upstream's EPERM: the VF has a type already", "enable 0", FOREIGN_TYPE("0", "1150"),
          "create L40S-4Q on=0 uuid=" U, "Conflict", "*VF 0000:26:00.4*holds vGPU *-*-5*-*-*",
          "grep -x 1150 $pci/0000:26:00.4/nvidia/current_vgpu_type" },
        { "strict", "upstream's EBUSY: a VM starts just when the type is taken off",
          "enable 0; create L40S-4Q on=0 uuid=" U,
          "meanwhile '*/0000:26:00.4/nvidia/current_vgpu_type' 'carved-simctl hold 0000:26:00.4'",
          "destroy " U, "InUse", "vGPU " U " is in use by process * (qemu-sim)",
          "grep -x 1150 $pci/0000:26:00.4/nvidia/current_vgpu_type" },
};

const unsigned n_rows = G_N_ELEMENTS(rows);
