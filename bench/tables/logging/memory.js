'use strict'
// How much memory a process takes that logs, over one of Node.js that does nothing. Also that process: node memory.js
// PEER HOW FOLDER OPTIONS

const { spawnSync } = require('node:child_process')
const fs = require('node:fs')
const { setTimeout: wait } = require('node:timers/promises')
const { ChildError } = require('../../lib/run')

// `resourceUsage` is never below the peak of the parent process, so ask Linux.
const STATUS = '/proc/self/status'
const KIB = 1024
const SECONDS = 2
const PER_SECOND = 100_000
const TURNS_PER_SECOND = 100
const BURST_COUNT = 1_000_000
const RECORD = { level: 30, time: 1_700_000_000_000, pid: 4242, msg: 'request finished '.repeat(7) }

/** @type {(name: string, how: string, folder: string, options: any) => number} bytes */
function measureProcess (...order) {
  const args = order.map((part) => typeof part === 'string' ? part : JSON.stringify(part))
  const { status, stdout, stderr } = spawnSync(process.execPath, [__filename, ...args], { encoding: 'utf8' })
  // Its own words, and not where in this folder it failed.
  if (status !== 0) throw new Error(new ChildError(`exited with ${status}`, stderr).reason)
  return Number(stdout)
}

/** @type {(peer: string, folder: string, options: any) => Record<string, number>} */
function measureMemory (peer, folder, options) {
  const bare = measureProcess('bare', 'idle', folder, {})
  const of = (/** @type {string} */ how) => {
    fs.mkdirSync(`${folder}/${how}`)
    return Math.max(0, measureProcess(peer, how, `${folder}/${how}`, options) - bare)
  }
  return { idle: of('idle'), loaded: of('loaded'), peak: of('peak') }
}

/** @type {Record<string, (write: (record: any, level: 'info') => void) => Promise<void>>} */
const LOADS = {
  idle: () => wait(300),
  async loaded (write) {
    for (let turn = 0; turn < SECONDS * TURNS_PER_SECOND; turn++) {
      for (let n = 0; n < PER_SECOND / TURNS_PER_SECOND; n++) write({ ...RECORD, n }, 'info')
      await wait(1000 / TURNS_PER_SECOND)
    }
  },
  async peak (write) {
    for (let n = 0; n < BURST_COUNT; n++) write({ ...RECORD, n }, 'info')
  }
}

/** @type {(name: string, how: string, folder: string, options: string) => Promise<void>} */
async function run (name, how, folder, options) {
  const open = name === 'bare' ? null : require('./outlets').parts.find((peer) => peer.name === name)?.open
  const outlet = await open?.(folder, JSON.parse(options))
  await LOADS[how](outlet?.write ?? (() => {}))
  const field = how === 'peak' ? 'VmHWM' : 'VmRSS'
  const [, size] = new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(fs.readFileSync(STATUS, 'utf8')) ?? []
  await outlet?.end()
  process.stdout.write(String(Number(size) * KIB))
}

if (require.main === module) {
  const [, , name, how, folder, options] = process.argv
  run(name, how, folder, options)
}

exports.measureMemory = measureMemory
