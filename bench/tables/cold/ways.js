'use strict'
// How a file is taken out of the page cache, without native code, and how that is proved: by the bytes that the kernel
// says it has read from the disk for this process.

const { spawnSync } = require('node:child_process')
const fs = require('node:fs')
const { warm } = require('../../lib/logs')

const NO_WAY = 'no way was found to take a file out of the page cache: dd, vmtouch and drop_caches were tried'
// What was read before, such as the first pages by who opens the file, may be missing.
const LEAST_SHARE = 0.95

/** @typedef {{ name: string, run: (file: string) => unknown }} Way */

/** The gentlest first: the last one is of all files of the machine. @type {Way[]} */
const WAYS = [
  {
    // posix_fadvise, for the whole file, after a sync.
    name: 'dd with oflag=nocache',
    run: (file) => spawnSync('dd', [`of=${file}`, 'oflag=nocache', 'conv=notrunc,fdatasync', 'count=0'])
  },
  { name: 'vmtouch -e', run: (file) => spawnSync('vmtouch', ['-e', file]) },
  { name: '/proc/sys/vm/drop_caches', run: () => fs.writeFileSync('/proc/sys/vm/drop_caches', '1') }
]

/** @returns {number}  of this process, since it began; of Linux only */
function countDiskBytes () {
  return Number(/^read_bytes: (\d+)$/m.exec(fs.readFileSync('/proc/self/io', 'utf8'))?.[1])
}

/** @type {(file: string, ways?: Way[]) => number} the index of the first that works here, or -1 */
function findWay (file, ways = WAYS) {
  return ways.findIndex(({ run }) => {
    try {
      run(file)
      const before = countDiskBytes()
      warm(file)
      return isCold(countDiskBytes() - before, fs.statSync(file).size)
    } catch {
      return false
    }
  })
}

/** @type {(fromDisk: number, least: number) => boolean} */
function isCold (fromDisk, least) {
  return fromDisk >= LEAST_SHARE * least
}

exports.WAYS = WAYS
exports.NO_WAY = NO_WAY
exports.countDiskBytes = countDiskBytes
exports.findWay = findWay
exports.isCold = isCold
