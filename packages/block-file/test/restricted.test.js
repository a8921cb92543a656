'use strict'
// A process that may only read and write files, as under Deno without further permissions: it may neither start flock
// nor look into /proc, and knows neither the name of the machine nor the environment.

const { spawnSync } = require('node:child_process')
const path = require('node:path')
const tape = require('tape')
const { newPath } = require('@millrace/testkit')

/** Run before anything of ours is loaded. */
const RESTRICT = `
  const fs = require('node:fs')
  const refuse = (what) => { throw Object.assign(new Error('Requires ' + what), { name: 'NotCapable' }) }
  require('node:child_process').spawn = () => refuse('env access')
  require('node:os').hostname = () => refuse('sys access')
  for (const name of ['statSync', 'readlinkSync', 'readFileSync', 'statfsSync', 'openSync']) {
    const original = fs[name]
    fs[name] = (file, ...others) => String(file).startsWith('/proc') ? refuse('all access') : original(file, ...others)
  }
`

/** What a process says that opens a file, restricted or not. */
function open (file, before) {
  const script = `${before}
    const { fileStorage } = require(${JSON.stringify(path.join(__dirname, '..'))})
    require('node:fs').closeSync(require('node:fs').openSync(${JSON.stringify(file)}, 'a'))
    fileStorage.lock(${JSON.stringify(file)}, { createFolder: true, mode: undefined }, (err, lock) => {
      console.log(JSON.stringify(err ? { code: err.code, message: err.message } : { kind: lock.kind }))
      process.exit()
    })`
  const { stdout, stderr } = spawnSync(process.execPath, ['-e', script], { encoding: 'utf8' })
  return stdout === '' ? stderr : JSON.parse(stdout)
}

tape('lock: for a process that may only read and write files, the lock is the record', { skip: process.platform !== 'linux' }, (t) => {
  const file = newPath('log')
  t.deepEqual(open(file, RESTRICT), { kind: 'file' })
  t.end()
})

tape('lock: whether the holder lives is not known of a machine without a name, so it keeps the lock', { skip: process.platform !== 'linux' }, (t) => {
  const file = newPath('log')
  // It ends without closing: the record stays.
  const hold = `${RESTRICT}\nprocess.on = () => process\nprocess.once = () => process\nprocess.exit = () => process.kill(process.pid, 'SIGKILL')\n`
  t.deepEqual(open(file, hold), { kind: 'file' })
  const { code, message } = open(file, RESTRICT)
  t.equal(code, 'ERR_LOG_LOCKED')
  t.match(message, /is open for writing, by process \d+, since .*if that process is surely gone, remove /)
  t.end()
})
