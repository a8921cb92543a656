'use strict'
// A file of every kind that a command may be given.

const { spawn } = require('node:child_process')
const fs = require('node:fs')
const path = require('node:path')
const { open } = require('..')

const SSB = path.join(__dirname, '..', '..', 'offset-log', 'test', 'fixtures', 'ssb-2000.offset')
const RECORD_COUNT = 300

/**
 * @param {string} folder  gets one file of each kind, under the kind's name
 * @returns {Promise<{ seq: number, seqs: number[] }>}  the first record of the checked log, and all
 */
async function makeFiles (folder) {
  const inFolder = (/** @type {string} */ name) => path.join(folder, name)
  fs.copyFileSync(SSB, inFolder('ssb'))
  const log = open(inFolder('checked'))
  const seqs = []
  for (let n = 0; n < RECORD_COUNT; n++) seqs.push(await log.append({ type: n % 3 === 0 ? 'post' : 'vote', n, text: 'x'.repeat(300) }))
  await log.close()
  const bytes = fs.readFileSync(inFolder('checked'))
  fs.writeFileSync(inFolder('truncated'), bytes.subarray(0, bytes.length - 5000))
  const flipped = Buffer.from(bytes)
  flipped[60_000] ^= 4
  fs.writeFileSync(inFolder('flipped'), flipped)
  fs.writeFileSync(inFolder('empty'), '')
  fs.mkdirSync(inFolder('folder'))
  fs.writeFileSync(inFolder('text'), 'This is no log.\n'.repeat(1000))
  fs.writeFileSync(inFolder('secret'), bytes, { mode: 0o000 })
  fs.copyFileSync(inFolder('checked'), inFolder('written'))
  return { seq: seqs[0], seqs }
}

/**
 * Another process that has a log open for writing. It ends when this process does, however that ends, and this process
 * does not wait for it: a test that fails before it ends the holder must not leave both behind.
 * @param {string} file
 * @returns {Promise<() => Promise<void>>}  ends it
 */
async function holdLog (file) {
  const script = `
    const log = require(${JSON.stringify(path.join(__dirname, '..'))}).open(${JSON.stringify(file)})
    log.append({ type: 'last' }, (err) => { console.log(err ? err.message : 'open') })
    process.stdin.on('end', () => log.close()).resume()`
  const child = /** @type {any} */ (spawn(process.execPath, ['-e', script], { stdio: ['pipe', 'pipe', 'inherit'] }))
  const closed = new Promise((resolve) => child.once('close', resolve))
  const said = await Promise.race([
    new Promise((resolve) => child.stdout.once('data', (text) => resolve(String(text).trim()))),
    closed.then((code) => `the holder ended with ${code}`)
  ])
  if (said !== 'open') {
    child.kill()
    throw new Error(said)
  }
  const parts = [child, child.stdin, child.stdout]
  for (const part of parts) part.unref()
  return async () => {
    for (const part of parts) part.ref()
    child.stdin.end()
    await closed
  }
}

exports.RECORD_COUNT = RECORD_COUNT
exports.SSB = SSB
exports.holdLog = holdLog
exports.makeFiles = makeFiles
