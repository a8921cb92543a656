'use strict'
// What the system tells about the file system that a file lies on: whether only one kernel can have it mounted, and
// which mount of it this is.

const fs = require('node:fs')
const path = require('node:path')
const { promisify } = require('node:util')

const statfs = promisify(fs.statfs)
const readlink = promisify(fs.readlink)
const readFile = promisify(fs.readFile)

// The magic numbers of statfs(2), on Linux and on macOS. Not here: whatever other machines may have mounted too, or is
// served by a program (NFS, CIFS, 9p, virtiofs and all else by FUSE, cluster file systems).
const LOCAL = new Map([
  [0xef53, 'ext4'], [0x58465342, 'xfs'], [0x9123683e, 'btrfs'], [0xf2f52010, 'f2fs'], [0x2fc12fc1, 'zfs'],
  [0xca451a4e, 'bcachefs'], [0x01021994, 'tmpfs'], [0x858458f6, 'ramfs'], [0x794c7630, 'overlay'], [0x3153464a, 'jfs'],
  [0x3434, 'nilfs2'], [0x4d44, 'vfat'], [0x2011bab0, 'exfat'], [0x7366746e, 'ntfs3'], [0x1a, 'apfs'],
  [0x11, 'hfs']
])
const IN_MEMORY = ['tmpfs', 'ramfs']
// Those of which sysfs has a folder for each mount, by the name of the device.
const IN_SYSFS = ['ext4', 'xfs', 'f2fs']

/**
 * @param {string} filePath  of something that is there
 * @returns {Promise<string | null>}  the name of the file system, if no other machine can have it mounted; else null
 */
async function nameOfLocal (filePath) {
  try {
    const { type } = await statfs(filePath)
    return LOCAL.get(type) ?? null
  } catch {
    return null
  }
}

/**
 * Two equal answers under one boot prove that the file system was mounted all the time between, and that the kernel
 * has failed to write none of its data: a disk that goes away and comes back, or a writeback error in the background,
 * gives another answer.
 * @param {string} filePath
 * @param {bigint} device  of the file, as `stat` says
 * @returns {Promise<string | null>}  null if it cannot be told
 */
async function identifyMount (filePath, device) {
  const name = await nameOfLocal(filePath)
  if (name === null) return null
  // A file in memory would not be there any more.
  if (IN_MEMORY.includes(name)) return name
  if (!IN_SYSFS.includes(name)) return null
  try {
    const disk = path.basename(await readlink(`/sys/dev/block/${majorOf(device)}:${minorOf(device)}`))
    const folder = `/sys/fs/${name}/${disk}`
    // The kernel gives every folder of sysfs a number of its own, and makes this one when the file system is mounted.
    const { ino } = fs.statSync(folder, { bigint: true })
    return [name, disk, ino, await countWarnings(folder)].join(' ')
  } catch {
    return null
  }
}

/**
 * ext4 counts a warning for each failure to write data. The others count nothing.
 * @param {string} folder
 */
async function countWarnings (folder) {
  try {
    return (await readFile(path.join(folder, 'warning_count'), 'latin1')).trim()
  } catch {
    return '-'
  }
}

/**
 * As gnu_dev_major(3) takes it from the number.
 * @param {bigint} device
 */
function majorOf (device) {
  return ((device >> 8n) & 0xfffn) | ((device >> 32n) & ~0xfffn)
}

/** @param {bigint} device */
function minorOf (device) {
  return (device & 0xffn) | ((device >> 12n) & ~0xffn)
}

exports.identifyMount = identifyMount
exports.nameOfLocal = nameOfLocal
